//===- ScopeProgramsTest.cpp - Random scopes against the memory model -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs of two to four threads in different blocks and clusters that
// access a few words with random orders and scopes. Every write sets its own
// bit, so the results identify the write that each read returned, and
// MemoryModel.h decides whether this execution has a data race. The emulator must agree.
//
//===----------------------------------------------------------------------===//
#include "../../tools/penstock-fuzz/Random.h"
#include "MemoryModel.h"
#include "TestKernel.h"

#include <map>

using namespace penstock;
using emu::LaunchConfig;
using emu::LaunchOptions;
using emu::Report;
using emu::TestKernel;
using emu::Timing;
using fuzz::Random;
using memory_model::Event;
using memory_model::Order;
using memory_model::Position;
using memory_model::Races;
using memory_model::Scope;

namespace {

constexpr unsigned numLocations = 3, maxTries = 30;

struct Operation {
  Event event; ///< as it is executed once; the results of a run complete it
  bool isVolatile = false;
  bool reduction = false; ///< `red` instead of `atom`
  bool exchange = false;  ///< replaces the word; other atomics add a bit
  bool spin = false;      ///< repeats a load while it returns 0
  unsigned line = 0;      ///< in the PTX text
};

struct ScopeProgram {
  std::vector<Position> positions;
  std::vector<unsigned> warps; ///< of each thread, in its block
  std::vector<Operation> operations;
  std::string text;
};

class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed) {}

  ScopeProgram generate() {
    std::vector<unsigned> slots = {0, 1, 2, 3, 4, 5, 6, 7}; // two warps of four blocks
    unsigned threads = unsigned(random.between(2, 4));
    for (unsigned t = 0; t < threads; ++t) {
      size_t pick = size_t(random.below(int64_t(slots.size())));
      unsigned slot = slots[pick];
      slots.erase(slots.begin() + long(pick));
      program.positions.push_back({slot / 4, slot / 2});
      program.warps.push_back(slot % 2);
    }
    narrow = random.chance(40);
    bool handOver = random.chance(60);
    for (unsigned t = 0; t < threads; ++t)
      if (handOver)
        addHandOver(t, threads);
      else
        for (int64_t i = random.between(1, 5); i > 0; --i)
          addAny(t);
    emit();
    return std::move(program);
  }

private:
  Scope scope() {
    return narrow ? random.of({Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys})
                  : random.of({Scope::Cluster, Scope::Gpu, Scope::Gpu, Scope::Sys});
  }
  Operation &add(unsigned thread, Event::Kind kind, Order order, unsigned location = 0) {
    Operation operation;
    operation.event.kind = kind;
    operation.event.thread = thread;
    operation.event.location = location;
    operation.event.order = order;
    operation.event.scope = scope();
    program.operations.push_back(operation);
    return program.operations.back();
  }
  Operation &addLoad(unsigned thread, unsigned location, int weakPercent) {
    if (random.chance(weakPercent))
      return add(thread, Event::Load, Order::Weak, location);
    if (random.chance(10)) {
      Operation &load = add(thread, Event::Load, Order::Relaxed, location);
      load.event.scope = Scope::Sys;
      load.isVolatile = true;
      return load;
    }
    return add(thread, Event::Load, random.of({Order::Relaxed, Order::Acquire}), location);
  }
  void addStore(unsigned thread, unsigned location, int weakPercent) {
    if (random.chance(weakPercent)) {
      add(thread, Event::Store, Order::Weak, location);
    } else if (random.chance(10)) {
      Operation &store = add(thread, Event::Store, Order::Relaxed, location);
      store.event.scope = Scope::Sys;
      store.isVolatile = true;
    } else {
      add(thread, Event::Store, random.of({Order::Relaxed, Order::Release}), location);
    }
  }
  void addAtomic(unsigned thread, unsigned location) {
    // The results of two `red` of one word would not tell their order.
    bool reduction = !hasReduction[location] && random.chance(30);
    Operation &atomic =
        add(thread, Event::Atomic,
            reduction ? random.of({Order::Relaxed, Order::Release})
                      : random.of({Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel}),
            location);
    atomic.reduction = reduction;
    atomic.exchange = !reduction && random.chance(50);
    hasReduction[location] |= reduction;
  }
  void addFence(unsigned thread) {
    add(thread, Event::Fence,
        random.of({Order::AcqRel, Order::AcqRel, Order::Acquire, Order::Release}));
  }
  void addAny(unsigned thread) {
    unsigned location = unsigned(random.below(numLocations));
    switch (random.below(5)) {
    case 0:
      addStore(thread, location, 30);
      break;
    case 1:
    case 2:
      addLoad(thread, location, 30).spin = random.chance(30);
      break;
    case 3:
      addAtomic(thread, location);
      break;
    default:
      addFence(thread);
    }
  }
  /// Passes word 0 from thread to thread, by flags in the other words.
  void addHandOver(unsigned thread, unsigned threads) {
    if (thread) {
      unsigned flag = 1 + unsigned(random.below(2));
      addLoad(thread, flag, 5).spin = true;
      if (random.chance(50))
        addFence(thread);
    }
    if (random.chance(20))
      addAny(thread);
    if (random.chance(50))
      addLoad(thread, 0, 90);
    else
      addStore(thread, 0, 90);
    if (random.chance(10))
      addAny(thread);
    if (thread + 1 < threads) {
      unsigned flag = 1 + unsigned(random.below(2));
      if (random.chance(50))
        addFence(thread);
      if (random.chance(60))
        addStore(thread, flag, 5);
      else
        addAtomic(thread, flag);
    }
  }

  static std::string scopeName(Scope scope) {
    switch (scope) {
    case Scope::Cta:
      return ".cta";
    case Scope::Cluster:
      return ".cluster";
    case Scope::Gpu:
      return ".gpu";
    case Scope::Sys:
      return ".sys";
    }
    return "";
  }
  static std::string orderName(const Operation &operation) {
    if (operation.isVolatile)
      return ".volatile";
    std::string scope = scopeName(operation.event.scope);
    switch (operation.event.order) {
    case Order::Weak:
      return "";
    case Order::Relaxed:
      return ".relaxed" + scope;
    case Order::Acquire:
      return ".acquire" + scope;
    case Order::Release:
      return ".release" + scope;
    case Order::AcqRel:
      return ".acq_rel" + scope;
    }
    return "";
  }
  void line(const std::string &text) {
    program.text += text + "\n";
    ++lines;
  }
  void emit() {
    for (const char *head :
         {".version 9.0", ".target sm_100a", ".address_size 64",
          ".visible .entry k(.param .u64 p0, .param .u64 p1)", "{",
          ".reg .b32 %r<9>; .reg .b64 %x<3>; .reg .pred %p<3>;", "ld.param.u64 %x0, [p0];",
          "ld.param.u64 %x1, [p1];", "mov.u32 %r0, %tid.x;", "and.b32 %r1, %r0, 31;",
          "setp.ne.u32 %p0, %r1, 0;", "@%p0 ret;", "shr.u32 %r1, %r0, 5;", "mov.u32 %r0, %ctaid.x;",
          "mad.lo.u32 %r0, %r0, 2, %r1;"})
      line(head);
    for (size_t t = 0; t < program.positions.size(); ++t) {
      unsigned slot = program.positions[t].block * 2 + program.warps[t];
      line("setp.eq.u32 %p0, %r0, " + std::to_string(slot) + ";");
      line("@%p0 bra THREAD" + std::to_string(t) + ";");
    }
    line("ret;");
    for (size_t t = 0; t < program.positions.size(); ++t) {
      line("THREAD" + std::to_string(t) + ":");
      for (size_t i = 0; i < program.operations.size(); ++i)
        if (program.operations[i].event.thread == t)
          emitOperation(program.operations[i], i);
      line("ret;");
    }
    line("}");
  }
  void emitOperation(Operation &operation, size_t number) {
    std::string order = orderName(operation),
                word = "[%x0+" + std::to_string(4 * operation.event.location) + "]",
                bit = std::to_string(uint64_t(1) << number), n = std::to_string(number);
    if (operation.spin)
      line("mov.u32 %r2, 0;");
    if (operation.spin)
      line("AGAIN" + n + ": add.u32 %r2, %r2, 1;");
    operation.line = lines + 1;
    switch (operation.event.kind) {
    case Event::Load:
      line("ld" + order + ".global.u32 %r1, " + word + ";");
      break;
    case Event::Store:
      line("st" + order + ".global.u32 " + word + ", " + bit + ";");
      break;
    case Event::Atomic:
      if (operation.reduction)
        line("red" + order + ".global.or.b32 " + word + ", " + bit + ";");
      else
        line("atom" + order + ".global" + (operation.exchange ? ".exch" : ".or") + ".b32 %r1, " +
             word + ", " + bit + ";");
      break;
    case Event::Fence:
      line("fence" + order + ";");
      break;
    }
    std::string result = "[%x1+" + std::to_string(8 * number);
    if (operation.event.reads() && !operation.reduction) {
      if (operation.spin) {
        line("setp.ne.u32 %p0, %r1, 0;");
        line("setp.ge.u32 %p1, %r2, " + std::to_string(maxTries) + ";");
        line("or.pred %p0, %p0, %p1;");
        line("@!%p0 bra AGAIN" + n + ";");
        line("st.global.u32 " + result + "+4], %r2;");
      }
      line("st.global.u32 " + result + "], %r1;");
    }
  }

  Random random;
  ScopeProgram program;
  bool narrow = false;
  bool hasReduction[numLocations] = {};
  unsigned lines = 0;
};

/// The events of a run, and the operation of each.
struct Observed {
  std::vector<Event> events;
  std::vector<unsigned> operations;
};

/// Completes the operations of \p program by \p results: a value and a number of tries each.
Observed observe(const ScopeProgram &program, const std::vector<uint32_t> &results) {
  Observed observed;
  std::vector<unsigned> finalEvent;
  for (unsigned i = 0; i < program.operations.size(); ++i) {
    // Failed tries of a loop returned the initial value.
    if (program.operations[i].spin && results[2 * i + 1] > 1) {
      observed.events.push_back(program.operations[i].event);
      observed.operations.push_back(i);
    }
    finalEvent.push_back(unsigned(observed.events.size()));
    observed.events.push_back(program.operations[i].event);
    observed.operations.push_back(i);
  }
  auto lastWrite = [&](unsigned location, uint32_t value) -> std::optional<unsigned> {
    std::optional<unsigned> reduction;
    for (unsigned i = 0; i < program.operations.size(); ++i) {
      const Operation &operation = program.operations[i];
      if (!operation.event.writes() || operation.event.location != location)
        continue;
      uint32_t bit = uint32_t(1) << i;
      if (operation.reduction)
        reduction = value & bit ? std::optional(i) : std::nullopt;
      bool adds = operation.event.kind == Event::Atomic && !operation.exchange;
      if (!operation.reduction && value == (adds ? results[2 * i] | bit : bit))
        return i;
    }
    return reduction;
  };
  auto resolve = [&](unsigned reader, uint32_t value) {
    std::optional<unsigned> write = lastWrite(program.operations[reader].event.location, value);
    EXPECT_EQ(value == 0, !write) << "operation " << reader << " read " << value;
    if (!write)
      return;
    observed.events[finalEvent[reader]].readsFrom = finalEvent[*write];
    const Operation &source = program.operations[*write];
    uint32_t before = value & ~(uint32_t(1) << *write);
    if (source.reduction && before)
      if (auto previous = lastWrite(source.event.location, before))
        observed.events[finalEvent[*write]].readsFrom = finalEvent[*previous];
  };
  for (unsigned i = 0; i < program.operations.size(); ++i)
    if (program.operations[i].event.reads() && !program.operations[i].reduction)
      resolve(i, results[2 * i]);
  return observed;
}

std::string listLines(const Races &lines) {
  std::string text;
  for (auto [a, b] : lines)
    text += " " + std::to_string(a) + "/" + std::to_string(b);
  return text.empty() ? " none" : text;
}

/// Runs a program and compares findings with the model; returns whether it has a race.
bool compare(uint64_t seed, uint64_t timing) {
  ScopeProgram program = Generator(seed).generate();
  TestKernel kernel(program.text);
  kernel.buffer(std::vector<uint32_t>(numLocations, 0));
  size_t words = 2 * program.operations.size();
  uint64_t results = kernel.buffer(std::vector<uint32_t>(words, 0));
  LaunchConfig config;
  config.grid = {4, 1, 1};
  config.cluster = {2, 1, 1};
  config.block = {64, 1, 1};
  LaunchOptions options;
  options.threads = 1;
  options.timing = timing ? Timing::Random : Timing::Eager;
  options.seed = timing;
  Report report = kernel.run(config, options);
  EXPECT_TRUE(report.completed) << emu::text(report);

  Observed observed = observe(program, kernel.read<uint32_t>(results, words));
  auto addLines = [](Races &races, unsigned a, unsigned b) {
    races.insert({std::min(a, b), std::max(a, b)});
  };
  auto expect = [&](bool all) {
    Races lines;
    for (auto [a, b] : memory_model::findRaces(program.positions, observed.events, all))
      addLines(lines, program.operations[observed.operations[a]].line,
               program.operations[observed.operations[b]].line);
    return lines;
  };
  Races expected = expect(true), allowed = expect(false), found;
  for (const emu::FindingSite &site : report.sites) {
    EXPECT_EQ(site.code, unsigned(EmuDataRace)) << emu::text(report);
    addLines(found, site.line, site.otherLine);
  }
  // The record of an access that races replaces earlier ones, so one of several races is enough.
  bool agree = expected.empty() || !found.empty();
  for (auto race : found)
    agree &= allowed.count(race) > 0;
  EXPECT_TRUE(agree) << "seed " << seed << ", timing " << timing
                     << "\nmodel:" << listLines(expected) << "\nemulator:" << listLines(found)
                     << "\n"
                     << program.text << emu::text(report);
  return !expected.empty();
}

TEST(ScopePrograms, EmulatorAgreesWithTheMemoryModel) {
  unsigned racy = 0, programs = 600;
  for (uint64_t seed = 1; seed <= programs && !HasFailure(); ++seed)
    for (uint64_t timing = 0; timing < 3; ++timing)
      racy += compare(seed, timing);
  EXPECT_GT(racy, programs / 2);
  EXPECT_LT(racy, programs * 5 / 2);
}

} // namespace
