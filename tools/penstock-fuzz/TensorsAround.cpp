//===- TensorsAround.cpp - Tensors in front of, in and after loops --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs whose tensors are read and written in front of pipelined loops, by several
// roles and engines in them, between them and after them. A plan orders what is inside of its
// loop; here, what is around it counts. Blocks have rows of their own. All numbers are integers
// that wrap around, and updates depend on their order: sequential execution is exact.
//
//===----------------------------------------------------------------------===//
#include "Modes.h"
#include "OnTargets.h"

#include <algorithm>
#include <numeric>

using namespace penstock;
using namespace penstock::fuzz;

namespace {

enum Counter : int { Specialized = OwnCounters };

constexpr int numTensors = 4; ///< the first is only read
constexpr int numShared = 4;  ///< tiles; those after them are in registers
constexpr int numTiles = 7;
constexpr int64_t mostTrips = 6; ///< of a loop
constexpr int64_t productSize = 64;
constexpr const char *roleNames[] = {"", "first", "second", "load", "compute"};

/// Rows of a tensor, from base + step * k on in iteration k of a loop.
struct Rows {
  int tensor = 0;
  int64_t base = 0, step = 0;

  int64_t at(int64_t k) const { return base + step * k; }
  int64_t highest() const { return std::max(at(0), at(mostTrips - 1)); }
};

struct Step {
  enum Kind {
    Load,     ///< tile = rows
    Store,    ///< rows = tile
    Compute,  ///< tile = 3 * tile + other + constant + k
    Elements, ///< rows = 5 * source rows + constant + k, by single elements
    ToSingle, ///< the first element of rows = constant + k
    AddTo,    ///< the first element of rows += constant + k, by an atomic
    Spread    ///< all of tile = the first element of rows
  };
  Kind kind = Load;
  int tile = 0, other = 0;
  Rows rows, source;
  int constant = 0;
  int role = 0;
};

struct Section {
  bool loop = false;
  int stages = 1;
  std::vector<int> stage = {}; ///< of each statement, if they are stated
  int more = 0;                ///< iterations beyond those that the launch states
  bool product = false;        ///< of tiles of A and B, added to `acc`
  std::vector<Step> steps = {};

  int64_t statements() const { return int64_t(steps.size()) + (product ? 3 : 0); }
  PipelineOptions options() const {
    PipelineOptions options{.num_stages = stage.empty() ? stages : 0, .stage = stage};
    options.order.resize(stage.size());
    std::iota(options.order.begin(), options.order.end(), 0);
    return options;
  }
};

struct Program {
  int64_t rows = 0, cols = 0, columns = 0, blocks = 0;
  std::vector<Section> sections;
  int repeated = 0;       ///< all sections run so often, in a loop; 0: once, without one
  bool loadsSums = false; ///< sums of products start with those in P
  bool writesA = false;   ///< A is changed in front of all

  int64_t height() const {
    int64_t highest = 0;
    for (const Section &section : sections)
      for (const Step &step : section.steps)
        highest = std::max({highest, step.rows.highest(), step.source.highest()});
    return highest + rows;
  }
  bool hasProduct() const {
    return std::ranges::any_of(sections, [](const Section &each) { return each.product; });
  }
};

/// Makes a program, section by section: tiles are read only if they have been written.
class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed) {}

  Program run() {
    program.rows = random.of({4, 8, 8, 16});
    program.cols = random.of({16, 32, 32, 64});
    program.columns = program.cols + random.of({0, 0, 0, 4, 1});
    program.blocks = random.between(1, 2);
    program.repeated = random.chance(15) ? int(random.between(1, 2)) : 0;
    bool two = random.chance(30);
    for (bool loop : {false, true, false, true, false})
      if (program.sections.size() < 3 || two)
        program.sections.push_back({.loop = loop});
    for (int &home : homes)
      home = random.chance(20) ? -1 : int(random.below(int64_t(program.sections.size())));
    for (number = 0; number < int(program.sections.size()); ++number)
      fillSection(program.sections[size_t(number)]);
    program.loadsSums = random.chance(50);
    program.writesA = random.chance(30);
    return std::move(program);
  }

private:
  void fillSection(Section &section) {
    if (section.loop) {
      section.stages = int(random.between(1, 4));
      section.more = random.chance(20) ? 1 : 0;
      section.product = random.chance(25);
    }
    for (int &role : roles)
      role = section.loop && random.chance(75) ? int(random.below(std::size(roleNames))) : 0;
    // Registers that other sections use belong to those that compute.
    for (int tile = numShared; tile < numTiles; ++tile)
      if (homes[size_t(tile)] < 0)
        roles[size_t(tile)] = 0;
    std::array<bool, numTiles> before = written;
    int64_t count = section.loop ? random.between(2, 6) : random.between(0, 4);
    while (int64_t(section.steps.size()) < count)
      if (Step step; makeStep(section.loop, step))
        section.steps.push_back(step);
    if (!section.loop)
      return;
    // The loop may have no iterations.
    written = before;
    if (random.chance(50))
      return;
    for (int64_t i = 0; i < section.statements(); ++i)
      section.stage.push_back(random.chance(30) ? 1 : 0);
    std::partial_sum(section.stage.begin(), section.stage.end(), section.stage.begin());
  }

  Rows someRows(bool loop, bool writes) {
    Rows rows;
    rows.tensor = int(random.between(writes ? 1 : 0, numTensors - 1));
    if (loop)
      rows.step = random.of<int64_t>({0, 1, program.rows / 2, program.rows, -program.rows});
    rows.base = random.between(0, 3) * (program.rows / 2);
    if (rows.step < 0)
      rows.base -= rows.step * (mostTrips - 1);
    return rows;
  }

  /// A tile of this section, -1: none.
  int someTile(bool holding) {
    std::vector<int> found;
    for (int tile = 0; tile < numTiles; ++tile)
      if ((homes[size_t(tile)] < 0 || homes[size_t(tile)] == number) &&
          (!holding || written[size_t(tile)]))
        found.push_back(tile);
    return found.empty() ? -1 : random.of(found);
  }

  bool makeStep(bool loop, Step &step) {
    static constexpr std::array kinds = {
        Step::Load,     Step::Load,     Step::Store,    Step::Store, Step::Compute,
        Step::Elements, Step::Elements, Step::ToSingle, Step::AddTo, Step::Spread};
    step.kind = kinds[size_t(random.below(int64_t(kinds.size())))];
    step.constant = int(random.between(1, 99));
    bool reads = step.kind == Step::Load || step.kind == Step::Spread;
    step.rows = someRows(loop, !reads);
    step.role = loop && random.chance(60) ? int(random.below(std::size(roleNames))) : 0;
    switch (step.kind) {
    case Step::Elements:
      // Bodies run side by side: no one reads what another writes.
      step.source = random.chance(20) ? step.rows : someRows(loop, false);
      return step.source.tensor != step.rows.tensor ||
             (step.source.base == step.rows.base && step.source.step == step.rows.step);
    case Step::ToSingle:
    case Step::AddTo:
      return true;
    case Step::Store:
      step.tile = someTile(/*holding=*/true);
      break;
    case Step::Load:
    case Step::Spread:
      step.tile = someTile(/*holding=*/false);
      break;
    case Step::Compute:
      step.tile = someTile(/*holding=*/true);
      step.other = someTile(/*holding=*/true);
      // Registers of two roles do not meet.
      if (std::min(step.tile, step.other) >= numShared &&
          roles[size_t(step.tile)] != roles[size_t(step.other)])
        return false;
      break;
    }
    if (step.tile < 0)
      return false;
    for (int tile : {step.other, step.tile})
      if (tile >= numShared)
        step.role = roles[size_t(tile)];
    written[size_t(step.tile)] = true;
    return true;
  }

  Random random;
  Program program;
  int number = 0;                       ///< of the section
  std::array<int, numTiles> homes = {}; ///< the only section that uses it; -1: all may
  std::array<int, numTiles> roles = {}; ///< of registers, in this section
  std::array<bool, numTiles> written = {};
};

struct TensorsAround {
  static constexpr size_t gridRank = 1;
  Program program;

  using Tensor = InOut<i32, 3>;
  void operator()(Block &b, In<i32, 3> X, Tensor T1, Tensor T2, Tensor T3, InOut<f16, 3> A,
                  In<f16, 3> B, InOut<f32, 3> P, Index trips) const {
    int64_t rows = program.rows, cols = program.cols;
    Index z = b.grid(X.size(0));
    const Tensor *tensors[numTensors] = {nullptr, &T1, &T2, &T3};
    std::vector<Tile<i32, 2>> tiles;
    for (int i = 0; i < numTiles; ++i)
      tiles.push_back(i < numShared ? b.shared<i32>(rows, cols) : b.local<i32>(rows, cols));
    bool product = program.hasProduct();
    auto As = b.shared<f16>(productSize, productSize), Bs = b.shared<f16>(productSize, productSize);
    auto acc = b.local<f32>(productSize, productSize);
    if (product && program.writesA) {
      auto a = b.local<f16>(productSize, productSize);
      b.copy(A.at(z, 0, 0), a);
      b.set(a, a + f16(1.0F));
      b.copy(a, A.at(z, 0, 0));
    }
    if (product && program.loadsSums)
      b.copy(P.at(z, 0, 0), acc);
    else if (product)
      b.fill(acc, 0);

    auto load = [&](const Rows &from, const Index &k, const Index &i, const Index &j) {
      Index row = k * from.step + from.base + i;
      return from.tensor ? tensors[from.tensor]->load(z, row, j) : X.load(z, row, j);
    };
    auto execute = [&](const Step &step, const Index &k) {
      Index row = k * step.rows.step + step.rows.base;
      const Tile<i32, 2> &tile = tiles[size_t(step.tile)];
      auto number = cast<i32>(k) + step.constant;
      const Tensor *target = tensors[step.rows.tensor];
      switch (step.kind) {
      case Step::Load:
        return target ? b.copy(target->at(z, row, 0), tile) : b.copy(X.at(z, row, 0), tile);
      case Step::Store:
        return b.copy(tile, target->at(z, row, 0));
      case Step::Compute:
        return b.set(tile, tile * 3 + tiles[size_t(step.other)] + number);
      case Step::Elements:
        return b.parallel(rows, cols, [&](Index i, Index j) {
          b.store(target->at(z, row + i, j), load(step.source, k, i, j) * 5 + number);
        });
      case Step::ToSingle:
        return b.store(target->at(z, row, 0), number);
      case Step::AddTo:
        return void(b.atomic(Add, target->at(z, row, 0), number));
      case Step::Spread:
        return b.fill(tile, load(step.rows, k, 0, 0));
      }
    };
    auto all = [&] {
      for (const Section &section : program.sections) {
        if (!section.loop) {
          for (const Step &step : section.steps)
            execute(step, 0);
          continue;
        }
        for (Index k : b.pipelined(trips + section.more, section.options())) {
          for (const Step &step : section.steps)
            b.statement("step", [&] { execute(step, k); }, {.role = roleNames[step.role]});
          if (section.product) {
            b.copy(A.at(z, 0, k * productSize), As);
            b.copy(B.at(z, 0, k * productSize), Bs);
            b.gemm(As, transposed(Bs), acc);
          }
        }
      }
    };
    if (program.repeated)
      for ([[maybe_unused]] Index round : b.range(program.repeated))
        all();
    else
      all();
    if (product)
      b.copy(acc, P.at(z, 0, 0));
  }
};

/// The memory of a launch.
struct Data {
  std::array<std::vector<i32>, numTensors> tensors;
  std::vector<f16> A, B;
  std::vector<f32> P;
};

Data makeData(const Program &program, int64_t trips, Random &random) {
  Data data;
  for (auto &tensor : data.tensors) {
    tensor.resize(size_t(program.blocks * program.height() * program.columns));
    for (i32 &value : tensor)
      value = i32(random.next());
  }
  auto small = [&](auto &values, int64_t count) {
    values.resize(size_t(count));
    for (auto &value : values)
      value = std::decay_t<decltype(value)>(float(random.between(-2, 2)));
  };
  int64_t depth = (trips + 1) * productSize, size = program.blocks * productSize;
  small(data.A, size * depth);
  small(data.B, size * depth);
  small(data.P, size * productSize);
  return data;
}

/// One block in the order of the program.
class Evaluation {
public:
  Evaluation(const Program &program, int64_t block, int64_t trips, Data &data)
      : program(program), block(block), trips(trips), data(data),
        tiles(numTiles, std::vector<uint32_t>(size_t(program.rows * program.cols))) {}

  void run() {
    for (int round = 0; round < std::max(program.repeated, 1); ++round)
      for (const Section &section : program.sections)
        for (int64_t k = 0; k < (section.loop ? trips + section.more : 1); ++k)
          for (const Step &step : section.steps)
            execute(step, k);
    if (program.hasProduct())
      multiply();
  }

private:
  i32 &element(const Rows &rows, int64_t k, int64_t i, int64_t j) {
    int64_t row = block * program.height() + rows.at(k) + i;
    return data.tensors[size_t(rows.tensor)][size_t(row * program.columns + j)];
  }

  void execute(const Step &step, int64_t k) {
    uint32_t number = uint32_t(step.constant + k);
    i32 &first = element(step.rows, k, 0, 0);
    if (step.kind == Step::ToSingle)
      first = i32(number);
    if (step.kind == Step::AddTo)
      first = i32(uint32_t(first) + number);
    if (step.kind == Step::ToSingle || step.kind == Step::AddTo)
      return;
    for (int64_t i = 0; i < program.rows; ++i)
      for (int64_t j = 0; j < program.cols; ++j) {
        i32 &own = element(step.rows, k, i, j);
        size_t at = size_t(i * program.cols + j);
        uint32_t &tile = tiles[size_t(step.tile)][at];
        if (step.kind == Step::Load)
          tile = uint32_t(own);
        else if (step.kind == Step::Store)
          own = i32(tile);
        else if (step.kind == Step::Compute)
          tile = tile * 3 + tiles[size_t(step.other)][at] + number;
        else if (step.kind == Step::Elements)
          own = i32(uint32_t(element(step.source, k, i, j)) * 5 + number);
        else
          tile = uint32_t(first);
      }
  }

  void multiply() {
    int64_t depth = (trips + 1) * productSize;
    for (int64_t i = 0; i < productSize; ++i)
      for (int64_t k = 0; program.writesA && k < std::min(depth, productSize); ++k) {
        f16 &a = data.A[size_t((block * productSize + i) * depth + k)];
        a = f16(float(a) + 1);
      }
    for (int64_t i = 0; i < productSize; ++i)
      for (int64_t j = 0; j < productSize; ++j) {
        float sum = 0;
        for (const Section &section : program.sections)
          for (int64_t k = 0; section.product && k < (trips + section.more) * productSize; ++k)
            sum += float(data.A[size_t((block * productSize + i) * depth + k)]) *
                   float(data.B[size_t((block * productSize + j) * depth + k)]);
        f32 &p = data.P[size_t((block * productSize + i) * productSize + j)];
        p = float(std::max(program.repeated, 1)) * sum + (program.loadsSums ? p : 0);
      }
  }

  const Program &program;
  int64_t block, trips;
  Data &data;
  std::vector<std::vector<uint32_t>> tiles;
};

template <class T>
std::string compareTensor(const char *name, const std::vector<T> &got, const std::vector<T> &want) {
  for (size_t i = 0; i < got.size(); ++i)
    if (got[i] != want[i])
      return std::string(name) + ": element " + std::to_string(i) + " is " +
             std::to_string(float(got[i])) + " and should be " + std::to_string(float(want[i]));
  return {};
}

/// One launch against sequential execution; what is wrong, or nothing.
template <class Compiled>
std::string launch(const Program &program, const Compiled &compiled, int64_t trips,
                   const LaunchOptions &options, Random random) {
  Data data = makeData(program, trips, random);
  Data want = data;
  int64_t Z = program.blocks, H = program.height(), C = program.columns, S = productSize,
          depth = (trips + 1) * S;
  auto tensor = [&](int i) { return view(data.tensors[size_t(i)], {Z, H, C}); };
  auto found = compiled.try_launch(options, tensor(0), tensor(1), tensor(2), tensor(3),
                                   view(data.A, {Z, S, depth}), view(data.B, {Z, S, depth}),
                                   view(data.P, {Z, S, S}), trips);
  if (!found.empty())
    return to_text(found);
  for (int64_t block = 0; block < Z; ++block)
    Evaluation(program, block, trips, want).run();
  std::string wrong = compareTensor("P", data.P, want.P);
  for (int i = 1; i < numTensors; ++i)
    if (wrong.empty())
      wrong = compareTensor(("T" + std::to_string(i)).c_str(), data.tensors[size_t(i)],
                            want.tensors[size_t(i)]);
  return wrong;
}

/// A program whose schedules are legal: those that are not, or have nothing to run ahead, become
/// schedules of one stage.
Program legalProgram(uint64_t seed) {
  Program program = Generator(seed).run();
  if (!try_compile(TensorsAround{program}, Target::interpreter(), {.cache = &KernelCache::none()}))
    for (Section &section : program.sections)
      section.stage.assign(size_t(section.loop ? section.statements() : 0), 0);
  return program;
}

/// The warps of a block, or fewer: other rows than those that TMA takes have a kernel of their own.
int warpsOf(const Program &program, const std::string &ptx) {
  static constexpr std::string_view threads = ".reqntid ";
  size_t at = ptx.find(threads);
  return program.columns % 4 || at == std::string::npos
             ? 4
             : std::atoi(ptx.c_str() + at + threads.size()) / 32;
}

} // namespace

CaseResult penstock::fuzz::aroundOne(uint64_t seed, Counters &counters,
                                     const Preferences *imposed) {
  Program program = legalProgram(derive(seed, 1));
  Random random(derive(seed, 2));
  Target gpu = anyGpu(random);
  return runOnTargets(
      TensorsAround{program}, gpu, /*interprets=*/random.chance(10), random, counters,
      [&](const auto &compiled, LaunchOptions timing, bool emulated) {
        int warps = emulated ? warpsOf(program, compiled.ptx()) : 0;
        counters[Specialized] += emulated && compiled.ptx().find("mbarrier") != std::string::npos;
        for (int64_t trips : {int64_t(0), int64_t(1), random.between(2, 5)}) {
          std::string wrong = launch(program, compiled, trips, timing, Random(derive(seed, 3)));
          if (!wrong.empty())
            return std::to_string(trips) + " trips: " + wrong;
          timing.seed += 1;
          if (emulated)
            timing.starved_warp = int(random.between(-1, warps - 1));
        }
        return std::string();
      },
      imposed);
}

int penstock::fuzz::runAround(const BatchOptions &options) {
  BatchResult result = runFamily(options, aroundOne);
  Counters &c = result.counters;
  return report(result, "--around", "programs",
                {{"refused", c[Refused]},
                 {"compiled", c[Built]},
                 {"warp_specialized", c[Specialized]},
                 {"launches", c[Launched]}});
}
