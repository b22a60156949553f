//===- AtomicSequences.cpp - Mixed atomic updates, in order ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random sequences of atomic updates of all kinds, exchanges, returned values, loads, stores and
// copies of the same tensors and shared tiles, before, in and after pipelined loops. Statements
// that update an element several times use one commuting kind and ignore the old values; all
// others update each element once. So each statement has one result, and a sequence depends only
// on the order of its statements. Blocks have rows of their own. The reference is plain C++.
//
//===----------------------------------------------------------------------===//
#include "Modes.h"
#include "OnTargets.h"

#include <algorithm>
#include <numeric>
#include <type_traits>

using namespace penstock;
using namespace penstock::fuzz;

namespace {

enum Counter : int { Mixed = OwnCounters, Specialized };

/// Pieces of memory: tensors first, then shared tiles.
constexpr int numTensors = 2, numTiles = 2, numMemories = numTensors + numTiles;
constexpr const char *roleNames[] = {"", "first", "second"};

struct Step {
  enum Kind {
    Crowd,    ///< memory[i % few] = update(.., X[i] + number), by all i
    Each,     ///< memory[(i + shift) % size] = update(.., X[i] + number)
    Fetch,    ///< the same; results[i] = 3 results[i] + old value
    Single,   ///< memory[at] = update(.., number), by one thread
    FetchOne, ///< the same; results[at] = old value
    Load,     ///< results[i] = 3 results[i] + memory[(i + shift) % size]
    Store,    ///< memory[i] = results[i] + number
    Copy,     ///< from = memory, as a tile
    LoadX     ///< memory, a tile, = X
  };
  Kind kind = Crowd;
  Atomic update = Add;
  int memory = 0, from = 0;
  int64_t few = 1, shift = 0, at = 0;
  int number = 0;
  int role = 0;

  bool isAtomic() const { return kind <= FetchOne; }
};

struct Section {
  enum Loop { None, Range, Pipelined } loop = None;
  int stages = 1;
  std::vector<int> stage = {}; ///< of each statement, if they are stated
  std::vector<Step> steps = {};

  PipelineOptions options() const {
    PipelineOptions options{.num_stages = stage.empty() ? stages : 0, .stage = stage};
    options.order.resize(stage.size());
    std::iota(options.order.begin(), options.order.end(), 0);
    return options;
  }
};

struct Program {
  int64_t size = 128, blocks = 1;
  std::vector<Section> sections;
};

Program makeProgram(Random &random) {
  Program program;
  program.size = random.of({32, 64, 128, 128, 256});
  program.blocks = random.between(1, 2);
  int64_t sections = random.between(1, 3);
  for (int64_t s = 0; s < sections; ++s) {
    Section section;
    section.loop = random.of({Section::None, Section::None, Section::Range, Section::Pipelined});
    section.stages = int(random.between(1, 3));
    bool roles = random.chance(40);
    int64_t count = random.between(2, 6);
    for (int64_t i = 0; i < count; ++i) {
      Step step;
      step.kind =
          random.of({Step::Crowd, Step::Crowd, Step::Crowd, Step::Each, Step::Fetch, Step::Single,
                     Step::FetchOne, Step::Load, Step::Store, Step::Copy, Step::LoadX});
      step.memory = int(random.below(numMemories));
      step.from = int(random.below(numMemories));
      // Updates of many elements that are the same, and of few that are not.
      step.update = random.of({Add, AtomicMax, AtomicMin});
      if (step.kind != Step::Crowd && random.chance(25))
        step.update = Exchange;
      step.few = random.of<int64_t>({1, 2, 8, program.size});
      step.shift = random.below(program.size);
      step.at = random.chance(50) ? 0 : random.below(program.size);
      step.number = int(random.between(-40, 40));
      step.role = section.loop == Section::Pipelined && roles ? int(random.below(3)) : 0;
      // Copies are between a tensor and a tile.
      if (step.kind == Step::Copy && (step.memory < numTensors) == (step.from < numTensors))
        continue;
      if (step.kind == Step::LoadX)
        step.memory = int(random.between(numTensors, numMemories - 1));
      section.steps.push_back(step);
    }
    if (section.loop == Section::Pipelined && random.chance(50)) {
      for (size_t i = 0; i < section.steps.size(); ++i)
        section.stage.push_back(random.chance(30) ? 1 : 0);
      std::partial_sum(section.stage.begin(), section.stage.end(), section.stage.begin());
    }
    program.sections.push_back(section);
  }
  return program;
}

/// Results of integers are 3 times the result before, plus the value: they depend on all values.
template <class T> constexpr bool keepsHistory = std::is_integral_v<T>;

template <class T> struct AtomicSequences {
  static constexpr size_t gridRank = 1;
  Program program;

  using Tensor = InOut<T, 2>;
  void operator()(Block &b, In<T, 2> X, Tensor F, Tensor G, Tensor R, Index trips) const {
    int64_t size = program.size;
    Index z = b.grid(X.size(0));
    const Tensor *tensors[numTensors] = {&F, &G};
    std::vector<Tile<T, 1>> tiles;
    for (int i = 0; i < numTiles; ++i) {
      tiles.push_back(b.template shared<T>(size));
      b.fill(tiles.back(), T(i));
    }
    auto update = [&](const Step &step, const Index &at, auto value) {
      return step.memory < numTensors
                 ? b.atomic(step.update, tensors[step.memory]->at(z, at), value)
                 : b.atomic(step.update, tiles[size_t(step.memory - numTensors)], at, value);
    };
    auto load = [&](int memory, const Index &at) {
      return memory < numTensors ? tensors[memory]->load(z, at)
                                 : b.load(tiles[size_t(memory - numTensors)], at);
    };
    auto keep = [&](const Index &i, Scalar<T> value) {
      b.store(R.at(z, i), keepsHistory<T> ? R.load(z, i) * T(3) + value : value);
    };
    auto execute = [&](const Step &step, const Index &k) {
      auto number = cast<T>(cast<i32>(k) + step.number);
      auto value = [&](const Index &i) { return X.load(z, i) + number; };
      switch (step.kind) {
      case Step::Crowd:
        return b.parallel(size, [&](Index i) { update(step, i % step.few, value(i)); });
      case Step::Each:
        return b.parallel(size, [&](Index i) { update(step, (i + step.shift) % size, value(i)); });
      case Step::Fetch:
        return b.parallel(
            size, [&](Index i) { keep(i, update(step, (i + step.shift) % size, value(i))); });
      case Step::Single:
        return void(update(step, Index(step.at), number));
      case Step::FetchOne:
        return b.store(R.at(z, step.at), update(step, Index(step.at), number));
      case Step::Load:
        return b.parallel(size,
                          [&](Index i) { keep(i, load(step.memory, (i + step.shift) % size)); });
      case Step::Store:
        return b.parallel(size, [&](Index i) {
          auto stored = R.load(z, i) + number;
          if (step.memory < numTensors)
            b.store(tensors[step.memory]->at(z, i), stored);
          else
            b.store(tiles[size_t(step.memory - numTensors)], i, stored);
        });
      case Step::LoadX:
        return b.copy(X.at(z, 0), tiles[size_t(step.memory - numTensors)]);
      case Step::Copy:
        return step.memory < numTensors
                   ? b.copy(tensors[step.memory]->at(z, 0), tiles[size_t(step.from - numTensors)])
                   : b.copy(tiles[size_t(step.memory - numTensors)], tensors[step.from]->at(z, 0));
      }
    };
    for (const Section &section : program.sections) {
      auto body = [&](const Index &k) {
        for (const Step &step : section.steps)
          if (section.loop == Section::Pipelined)
            b.statement("step", [&] { execute(step, k); }, {.role = roleNames[step.role]});
          else
            execute(step, k);
      };
      if (section.steps.empty())
        continue;
      if (section.loop == Section::None)
        body(0);
      else if (section.loop == Section::Range)
        for (Index k : b.range(trips))
          body(k);
      else
        for (Index k : b.pipelined(trips, section.options()))
          body(k);
    }
    for (int i = 0; i < numTiles; ++i)
      b.parallel(size, [&](Index at) { keep(at, b.load(tiles[size_t(i)], at)); });
  }
};

/// Integers wrap around. Floats hold integers, which sums keep below 2^24: they are exact.
template <class T> T add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
  else
    return a + b;
}

/// One block in the order of the program.
template <class T> struct Evaluation {
  const Program &program;
  const T *x;
  std::array<T *, numMemories> memory;
  T *results;

  void run(int64_t trips) {
    for (const Section &section : program.sections)
      for (int64_t k = 0; k < (section.loop == Section::None ? 1 : trips); ++k)
        for (const Step &step : section.steps)
          execute(step, k);
    for (int i = numTensors; i < numMemories; ++i)
      for (int64_t at = 0; at < program.size; ++at)
        keep(at, memory[size_t(i)][at]);
  }

  void keep(int64_t i, T value) {
    T before = results[i];
    results[i] = keepsHistory<T> ? add(add(before, add(before, before)), value) : value;
  }

  T update(const Step &step, int64_t at, T value) {
    T &element = memory[size_t(step.memory)][at];
    T old = element;
    element = step.update == Add         ? add(old, value)
              : step.update == AtomicMax ? std::max(old, value)
              : step.update == AtomicMin ? std::min(old, value)
                                         : value;
    return old;
  }

  void execute(const Step &step, int64_t k) {
    int64_t size = program.size;
    T number = T(k + step.number);
    if (step.kind == Step::Single)
      update(step, step.at, number);
    if (step.kind == Step::FetchOne)
      results[step.at] = update(step, step.at, number);
    if (step.kind == Step::Single || step.kind == Step::FetchOne)
      return;
    for (int64_t i = 0; i < size; ++i) {
      int64_t other = (i + step.shift) % size;
      switch (step.kind) {
      case Step::Crowd:
        update(step, i % step.few, add(x[i], number));
        break;
      case Step::Each:
        update(step, other, add(x[i], number));
        break;
      case Step::Fetch:
        keep(i, update(step, other, add(x[i], number)));
        break;
      case Step::Load:
        keep(i, memory[size_t(step.memory)][other]);
        break;
      case Step::Store:
        memory[size_t(step.memory)][i] = add(results[i], number);
        break;
      case Step::LoadX:
        memory[size_t(step.memory)][i] = x[i];
        break;
      case Step::Copy:
        memory[size_t(step.from)][i] = memory[size_t(step.memory)][i];
        break;
      default:
        break;
      }
    }
  }
};

template <class T> struct Data {
  std::vector<T> x, f, g, r;
};

/// One launch against sequential execution; what is wrong, or nothing.
template <class T, class Compiled>
std::string launch(const Program &program, const Compiled &compiled, int64_t trips,
                   const LaunchOptions &options, Random random) {
  int64_t Z = program.blocks, size = program.size;
  Data<T> data;
  for (auto *all : {&data.x, &data.f, &data.g, &data.r}) {
    all->resize(size_t(Z * size));
    for (T &value : *all)
      value = T(random.between(-50, 50));
  }
  Data<T> want = data;
  auto found = compiled.try_launch(options, view(data.x, {Z, size}), view(data.f, {Z, size}),
                                   view(data.g, {Z, size}), view(data.r, {Z, size}), trips);
  if (!found.empty())
    return to_text(found);
  for (int64_t block = 0; block < Z; ++block) {
    std::vector<T> tiles[numTiles];
    for (int i = 0; i < numTiles; ++i)
      tiles[i].assign(size_t(size), T(i));
    size_t at = size_t(block * size);
    Evaluation<T>{program,
                  &want.x[at],
                  {&want.f[at], &want.g[at], tiles[0].data(), tiles[1].data()},
                  &want.r[at]}
        .run(trips);
  }
  auto compare = [&](const char *name, const std::vector<T> &got, const std::vector<T> &expected) {
    for (size_t i = 0; i < got.size(); ++i)
      if (got[i] != expected[i])
        return std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(got[i]) +
               " and should be " + std::to_string(expected[i]);
    return std::string();
  };
  std::string wrong = compare("F", data.f, want.f);
  if (wrong.empty())
    wrong = compare("G", data.g, want.g);
  return wrong.empty() ? compare("R", data.r, want.r) : wrong;
}

template <class T>
CaseResult runProgram(Program program, uint64_t seed, Random &random, Counters &counters,
                      const Preferences *imposed) {
  // Schedules that are not legal, or have nothing to prefetch, become schedules of one stage.
  if (!try_compile(AtomicSequences<T>{program}, Target::interpreter(),
                   {.cache = &KernelCache::none()}))
    for (Section &section : program.sections)
      if (section.loop == Section::Pipelined)
        section.stage.assign(section.steps.size(), 0);
  std::vector<std::string> gpus = gpu_names();
  Target gpu = *find_gpu(random.of(gpus));
  return runOnTargets(
      AtomicSequences<T>{program}, gpu, /*interprets=*/random.chance(10), random, counters,
      [&](const auto &compiled, LaunchOptions timing, bool emulated) {
        counters[Specialized] += emulated && compiled.ptx().find("mbarrier") != std::string::npos;
        for (int64_t trips : {int64_t(0), int64_t(1), random.between(2, 4)}) {
          std::string wrong = launch<T>(program, compiled, trips, timing, Random(derive(seed, 3)));
          if (!wrong.empty())
            return std::to_string(trips) + " trips: " + wrong;
          timing.seed += 1;
          if (emulated)
            timing.starved_warp = int(random.between(-1, 3));
        }
        return std::string();
      },
      imposed);
}

} // namespace

CaseResult penstock::fuzz::atomicsOne(uint64_t seed, Counters &counters,
                                      const Preferences *imposed) {
  Random random(derive(seed, 1));
  Program program = makeProgram(random);
  std::array<unsigned, numMemories> kinds = {};
  for (const Section &section : program.sections)
    for (const Step &step : section.steps)
      if (step.isAtomic())
        kinds[size_t(step.memory)] |= 1U << step.update;
  counters[Mixed] +=
      std::ranges::any_of(kinds, [](unsigned bits) { return (bits & (bits - 1)) != 0; });
  switch (random.below(6)) {
  case 0:
    return runProgram<f32>(program, seed, random, counters, imposed);
  case 1:
    return runProgram<f64>(program, seed, random, counters, imposed);
  case 2:
    return runProgram<i64>(program, seed, random, counters, imposed);
  default:
    return runProgram<i32>(program, seed, random, counters, imposed);
  }
}

int penstock::fuzz::runAtomics(const BatchOptions &options) {
  BatchResult result = runFamily(options, atomicsOne);
  Counters &c = result.counters;
  return report(result, "--atomics", "programs",
                {{"refused", c[Refused]},
                 {"compiled", c[Built]},
                 {"mixed_kinds", c[Mixed]},
                 {"warp_specialized", c[Specialized]},
                 {"launches", c[Launched]}});
}
