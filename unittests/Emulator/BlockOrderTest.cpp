//===- BlockOrderTest.cpp - The order in which blocks and warps run -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Releases and acquires order accesses by the order of a run. A thread that acquires without
// testing the value is ordered after a release only if it happens to run later, so that such a
// race is visible in one order alone.
//
//===----------------------------------------------------------------------===//
#include "../../tools/penstock-fuzz/Random.h"
#include "TestKernel.h"

#include <array>
#include <map>

using namespace penstock;
using namespace penstock::emu;

namespace {

LaunchOptions timing(const std::string &name) {
  LaunchOptions options;
  EXPECT_TRUE(parseTiming(name, options)) << name;
  return options;
}

LaunchConfig blocks(uint32_t count, uint32_t threads = 32, uint32_t cluster = 1) {
  LaunchConfig config;
  config.grid = {count, 1, 1};
  config.block = {threads, 1, 1};
  config.cluster = {cluster, 1, 1};
  return config;
}

const char *head = R"(
.reg .b32 %t, %n, %b, %r<20>; .reg .b64 %x<9>; .reg .pred %p<9>;
mov.u32 %t, %tid.x; mov.u32 %n, %nctaid.x; mov.u32 %b, %ctaid.x;
ld.param.u64 %x0, [p0]; ld.param.u64 %x1, [p1];
setp.ne.u32 %p0, %t, 0; @%p0 ret;
)";

/// Every block takes a number and stores it at its index.
const char *takesNumbers = R"(
atom.global.relaxed.gpu.add.u32 %r0, [%x0], 1;
mad.wide.u32 %x2, %b, 4, %x1; st.global.u32 [%x2], %r0; ret;)";

/// Numbers of the blocks in one timing.
std::vector<uint32_t> numbersOf(uint32_t count, const std::string &name, uint32_t cluster = 1) {
  TestKernel kernel(TestKernel::wrap(head + std::string(takesNumbers)));
  kernel.buffer(std::vector<uint32_t>{0});
  uint64_t out = kernel.emptyBuffer(4 * count);
  EXPECT_CLEAN(kernel.run(blocks(count, 32, cluster), timing(name)));
  return kernel.read<uint32_t>(out, count);
}

TEST(BlockOrder, EachPairRunsInBothOrdersInTheFirstTwoTimings) {
  // 400 blocks are more than are resident.
  for (uint32_t count : {2u, 7u, 400u}) {
    std::vector<uint32_t> eager = numbersOf(count, "eager"), lazy = numbersOf(count, "lazy");
    for (uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(eager[i], i);
      EXPECT_EQ(lazy[i], count - 1 - i);
    }
  }
  // Blocks of one cluster.
  std::vector<uint32_t> eager = numbersOf(8, "eager", 4), lazy = numbersOf(8, "lazy", 4);
  for (uint32_t i = 0; i < 8; ++i)
    EXPECT_EQ(eager[i] + lazy[i], 7u) << "block " << i;
}

TEST(BlockOrder, RandomTimingsAreReproducibleAndDiffer) {
  std::set<std::vector<uint32_t>> orders;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::string name = "random:" + std::to_string(seed);
    std::vector<uint32_t> numbers = numbersOf(300, name);
    EXPECT_EQ(numbers, numbersOf(300, name));
    std::vector<uint32_t> sorted = numbers;
    std::sort(sorted.begin(), sorted.end());
    for (uint32_t i = 0; i < 300; ++i)
      EXPECT_EQ(sorted[i], i);
    orders.insert(std::move(numbers));
  }
  EXPECT_EQ(orders.size(), 20u);
}

/// Returns in how many of the first timings a kernel has a race. Its buffers are zero.
unsigned racesIn(const std::string &body, const LaunchConfig &config, uint64_t timings) {
  unsigned found = 0;
  TimingSequence tried{timings, 0, 1};
  for (uint64_t i = 0; i < timings; ++i) {
    TestKernel kernel(TestKernel::wrap(head + body));
    kernel.buffer(std::vector<uint32_t>(8));
    kernel.buffer(std::vector<uint32_t>(512));
    Report report = kernel.run(config, tried[i]);
    for (const Diagnostic &finding : report.findings)
      EXPECT_EQ(finding.code, unsigned(EmuDataRace)) << text(report);
    EXPECT_TRUE(report.completed);
    found += !report.ok();
  }
  return found;
}

/// Block %r9 stores a word that the others read. All pass a counter, whose value is not tested.
std::string untestedCounter(const std::string &writer) {
  return "mov.u32 %r9, " + writer + R"(;
setp.eq.u32 %p1, %b, %r9;
@%p1 st.global.u32 [%x1], %b;
atom.global.acq_rel.gpu.add.u32 %r0, [%x0], 1;
@!%p1 ld.global.u32 %r1, [%x1];
mad.wide.u32 %x2, %b, 4, %x1; st.global.u32 [%x2+4], %r1; ret;)";
}

TEST(BlockOrder, FindsACounterThatNobodyTests) {
  for (const char *writer : {"0", "1"})
    for (uint32_t count : {2u, 4u, 400u})
      EXPECT_GE(racesIn(untestedCounter(writer), blocks(count), 2), 1u)
          << count << " blocks, block " << writer << " writes";
  // In one cluster.
  EXPECT_GE(racesIn(untestedCounter("0"), blocks(2, 32, 2), 2), 1u);
}

TEST(BlockOrder, AcceptsACounterThatIsTested) {
  std::string body = R"(
setp.eq.u32 %p1, %b, 0; @!%p1 bra WAIT;
st.global.u32 [%x1], 5; st.release.gpu.global.u32 [%x0], 1; ret;
WAIT: ld.acquire.gpu.global.u32 %r0, [%x0]; setp.eq.u32 %p2, %r0, 0; @%p2 bra WAIT;
ld.global.u32 %r1, [%x1];
mad.wide.u32 %x2, %b, 4, %x1; st.global.u32 [%x2], %r1; ret;)";
  for (uint32_t count : {2u, 4u, 200u})
    EXPECT_EQ(racesIn(body, blocks(count), 8), 0u) << count << " blocks";
}

TEST(BlockOrder, FindsAStoreBesideAtomics) {
  // One block sets a sum to zero; nothing makes the others add to it later.
  std::string body = R"(
setp.eq.u32 %p1, %b, 0; @%p1 st.global.u32 [%x1], 0;
atom.global.acq_rel.gpu.add.u32 %r0, [%x1], 1; ret;)";
  EXPECT_GE(racesIn(body, blocks(4), 2), 1u);
}

TEST(BlockOrder, FindsAReadOfTheNeighborOnEitherSide) {
  // Each block stores its word and reads that of the block before or after it.
  for (const char *step : {"-1", "1"}) {
    std::string body = std::string(R"(
mad.wide.u32 %x2, %b, 4, %x1; st.global.u32 [%x2], %b;
atom.global.acq_rel.gpu.add.u32 %r0, [%x0], 1;
add.s32 %r2, %b, )") + step +
                       R"(; setp.ge.u32 %p1, %r2, %n; @%p1 ret;
mad.wide.u32 %x3, %r2, 4, %x1; ld.global.u32 %r3, [%x3];
st.global.u32 [%x2+1024], %r3; ret;)";
    EXPECT_GE(racesIn(body, blocks(4), 2), 1u) << step;
  }
}

TEST(BlockOrder, FindsWarpsThatPassACounterUntested) {
  // The same in one block, by shared memory.
  std::string body = R"(
.shared .align 4 .b32 count; .shared .align 4 .b32 word;
.reg .b32 %t, %w, %r<9>; .reg .pred %p<9>;
mov.u32 %t, %tid.x; and.b32 %r0, %t, 31; shr.u32 %w, %t, 5;
setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u32 [count], 0; bar.sync 0;
setp.ne.u32 %p0, %r0, 0; @%p0 ret;
setp.eq.u32 %p1, %w, WRITER;
@%p1 st.shared.u32 [word], 5;
atom.acq_rel.cta.shared.add.u32 %r1, [count], 1;
@!%p1 ld.shared.u32 %r2, [word]; setp.eq.u32 %p2, %r2, 77; @%p2 trap; ret;)";
  for (const char *writer : {"0", "3"}) {
    std::string changed = body;
    changed.replace(changed.find("WRITER"), 6, writer);
    unsigned found = 0;
    for (const char *name : {"eager", "lazy"}) {
      TestKernel kernel(TestKernel::wrap(changed, 0));
      found += kernel.run(blocks(1, 128), timing(name)).has(EmuDataRace);
    }
    EXPECT_GE(found, 1u) << "warp " << writer << " writes";
  }
}

TEST(BlockOrder, RandomTimingsRunOthersBetweenTwoAtomics) {
  // Each block passes the counter before and after its access: either block as a whole may come
  // first without a race, so that eager and lazy timing show none.
  std::string body = R"(
atom.global.acq_rel.gpu.add.u32 %r0, [%x0], 1;
setp.eq.u32 %p1, %b, 0; @%p1 st.global.u32 [%x1], 7; @!%p1 ld.global.u32 %r1, [%x1];
atom.global.acq_rel.gpu.add.u32 %r0, [%x0], 1;
setp.eq.u32 %p2, %r1, 77; @%p2 trap; ret;)";
  EXPECT_EQ(racesIn(body, blocks(2), 2), 0u);
  EXPECT_GE(racesIn(body, blocks(2), 10), 1u);
  EXPECT_GE(racesIn(body, blocks(8), 10), 4u);
}

TEST(BlockOrder, BlocksThatWaitForLowerOnesAreNoDeadlock) {
  // A chain through all blocks. GPUs start blocks of low numbers first, and kernels rely on it.
  std::string body = R"(
mad.wide.u32 %x2, %b, 4, %x1; setp.eq.u32 %p1, %b, 0; @%p1 bra GO;
WAIT: ld.acquire.gpu.global.u32 %r0, [%x2+-4]; setp.eq.u32 %p2, %r0, 0; @%p2 bra WAIT;
GO: st.release.gpu.global.u32 [%x2], 1; ret;)";
  EXPECT_EQ(racesIn(body, blocks(300), 4), 0u);
}

/// A step of a block: an access of a word, or an acq_rel or relaxed atomic of a counter.
struct Step {
  enum Kind { Load, Store, AcqRel, Relaxed } kind;
  unsigned index; ///< of the word or counter
};
using Program = std::vector<std::vector<Step>>; // by block

/// Vector clocks of one interleaving; returns whether it has a race.
class Interleaving {
public:
  explicit Interleaving(const Program &program) : program(program), next(program.size()) {
    for (size_t b = 0; b < program.size(); ++b)
      clocks[b][b] = 1;
  }
  /// Returns whether a race is in any interleaving that continues this one.
  bool canRace() const {
    for (size_t b = 0; b < program.size(); ++b)
      if (next[b] < program[b].size()) {
        Interleaving after = *this;
        if (after.step(b) || after.canRace())
          return true;
      }
    return false;
  }

private:
  using Clock = std::array<unsigned, 3>;
  static void join(Clock &into, const Clock &from) {
    for (size_t i = 0; i < into.size(); ++i)
      into[i] = std::max(into[i], from[i]);
  }
  /// Returns whether the next step of a block races with one before it.
  bool step(size_t block) {
    const Step &step = program[block][next[block]++];
    Clock &clock = clocks[block];
    if (step.kind == Step::AcqRel) {
      join(clock, counters[step.index]);
      counters[step.index] = clock;
      ++clock[block];
    } else if (step.kind != Step::Relaxed) {
      bool writes = step.kind == Step::Store;
      for (const Access &other : accesses[step.index])
        if (other.block != block && (writes || other.writes) && clock[other.block] < other.count)
          return true;
      accesses[step.index].push_back({block, clock[block], writes});
    }
    return false;
  }
  struct Access {
    size_t block;
    unsigned count;
    bool writes;
  };
  const Program &program;
  std::vector<size_t> next;
  std::array<Clock, 3> clocks = {};
  std::array<Clock, 2> counters = {};
  std::map<unsigned, std::vector<Access>> accesses;
};

Program randomProgram(fuzz::Random &random) {
  Program program(size_t(random.between(2, 3)));
  for (auto &block : program)
    for (int64_t i = random.between(1, program.size() == 2 ? 4 : 3); i > 0; --i)
      block.push_back(
          {random.of({Step::Load, Step::Store, Step::AcqRel, Step::AcqRel, Step::Relaxed}),
           unsigned(random.below(2))});
  return program;
}

std::string textOf(const Program &program) {
  std::string text;
  for (size_t b = 0; b < program.size(); ++b) {
    std::string label = "NEXT" + std::to_string(b);
    text += "setp.ne.u32 %p1, %b, " + std::to_string(b) + "; @%p1 bra " + label + ";\n";
    for (const Step &step : program[b]) {
      std::string at = std::to_string(128 * step.index);
      text += step.kind == Step::Load ? "ld.global.u32 %r1, [%x1+" + at + "];\n"
              : step.kind == Step::Store
                  ? "st.global.u32 [%x1+" + at + "], %b;\n"
                  : "atom.global." +
                        std::string(step.kind == Step::AcqRel ? "acq_rel" : "relaxed") +
                        ".gpu.add.u32 %r0, [%x0+" + std::to_string(4 * step.index) + "], 1;\n";
    }
    text += "ret;\n" + label + ":\n";
  }
  return text + "ret;";
}

TEST(BlockOrder, FindsRacesOfRandomProgramsThatSomeOrderHas) {
  // Exactly the programs with a race in some interleaving have one in a few timings.
  unsigned racing = 0, found = 0, inTwo = 0;
  fuzz::Random random(1);
  for (unsigned i = 0; i < 200; ++i) {
    Program program = randomProgram(random);
    bool races = Interleaving(program).canRace();
    LaunchConfig config = blocks(uint32_t(program.size()));
    unsigned timings = racesIn(textOf(program), config, 20);
    if (!races) {
      EXPECT_EQ(timings, 0u) << textOf(program);
      continue;
    }
    ++racing;
    found += timings != 0;
    inTwo += racesIn(textOf(program), config, 2) != 0;
  }
  EXPECT_GT(racing, 50u);
  EXPECT_GE(found, racing - racing / 50) << "of " << racing;
  EXPECT_GE(inTwo, racing - racing / 10) << "of " << racing;
}

} // namespace
