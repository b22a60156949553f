//===- PreferredPrograms.cpp - Programs with random preferences -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results do not depend on preferences, and a preference never makes a program fail to compile.
// Half of the cases are matmuls of many forms: accumulators that start at other values than zero,
// loops under conditions and in other loops, several loops, trip counts that differ between blocks,
// stated schedules, epilogues that communicate. The others are programs of other modes.
//
//===----------------------------------------------------------------------===//
#include "Modes.h"
#include "OnTargets.h"

#include <algorithm>

using namespace penstock;
using namespace penstock::fuzz;

namespace {

enum Counter : int { Clusters = OwnCounters, Pairs, LaunchControls };

constexpr int64_t depth = 64; ///< of a k tile

struct Form {
  enum Start { Zero, One, FromC, RowNumbers };
  enum Loops { Single, Twice, InRange, Conditional, BlockDiffers };
  enum Trips { All, ByRow, ByColumn, Capped };
  enum InLoop { Nothing, Scale, EveryOther, Count, Negate };
  enum Epilogue { Store, BiasRelu, SubtractMax, AddByAtomics, CountBlocks };
  Start start = Zero;
  Loops loops = Single;
  Trips trips = All;
  InLoop inLoop = Nothing;
  Epilogue epilogue = Store;
  int64_t rows = 128, columns = 128;
  int64_t swizzle = 0;
  int64_t columnShift = 0; ///< the right operand of block (x, y) is that of y + x / 2 or x % 2
  PipelineOptions schedule;
  bool overlapsLaunches = false;

  int64_t tripsOf(int64_t all, int64_t x, int64_t y) const {
    return trips == ByRow      ? std::min(all, x + 1)
           : trips == ByColumn ? std::min(all, y + 1)
           : trips == Capped   ? std::min<int64_t>(all, 2)
                               : all;
  }
  int64_t strip(int64_t x, int64_t y) const {
    return columnShift == 1 ? y + x / 2 : columnShift == 2 ? y + x % 2 : y;
  }
};

Form makeForm(Random &random) {
  Form form;
  form.start =
      random.of({Form::Zero, Form::Zero, Form::Zero, Form::One, Form::FromC, Form::RowNumbers});
  form.loops = random.of({Form::Single, Form::Single, Form::Single, Form::Twice, Form::InRange,
                          Form::Conditional, Form::BlockDiffers});
  form.trips =
      random.of({Form::All, Form::All, Form::All, Form::ByRow, Form::ByColumn, Form::Capped});
  form.inLoop = random.of({Form::Nothing, Form::Nothing, Form::Nothing, Form::Nothing, Form::Scale,
                           Form::EveryOther, Form::Count, Form::Negate});
  form.epilogue = random.of({Form::Store, Form::Store, Form::Store, Form::BiasRelu,
                             Form::SubtractMax, Form::AddByAtomics, Form::CountBlocks});
  form.rows = random.of<int64_t>({128, 128, 128, 64});
  form.columns = random.of<int64_t>({128, 128, 64, 32});
  form.swizzle = random.chance(20) ? 2 : 0;
  form.columnShift = random.chance(20) ? random.between(1, 2) : 0;
  form.overlapsLaunches = random.chance(10);
  form.schedule.num_stages = random.chance(15) ? Auto : int(random.between(1, 4));
  if (form.inLoop == Form::Nothing && random.chance(25)) {
    form.schedule = {.stage = {0, 0, 1}, .order = {0, 1, 2}};
    if (random.chance(30))
      form.schedule = {.stage = {0, 1, 2}, .order = {2, 1, 0}};
  }
  // Pairs need all of this, which is rare by chance.
  if (random.chance(40)) {
    form.start = Form::Zero;
    form.loops = Form::Single;
    form.trips = Form::All;
    form.inLoop = Form::Nothing;
    form.rows = 128;
    form.columnShift = 0;
    form.overlapsLaunches = false;
    form.schedule = {.num_stages = int(random.between(1, 4))};
    return form;
  }
  form.schedule.form =
      random.of({penstock::Form::Automatic, penstock::Form::Automatic, penstock::Form::Automatic,
                 penstock::Form::Skewed, penstock::Form::WarpSpecialized});
  return form;
}

struct Matmul {
  static constexpr size_t gridRank = 2;
  Form form;

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, In<f32, 1> bias, InOut<f32, 2> C,
                  InOut<i32, 1> counts) const {
    int64_t m = form.rows, n = form.columns;
    auto [M, K] = A.sizes();
    Index N = C.size(1);
    auto [x, y] = form.swizzle ? b.grid(ceil_div(M, m), ceil_div(N, n), swizzled(int(form.swizzle)))
                               : b.grid(ceil_div(M, m), ceil_div(N, n));
    auto As = b.shared<f16>(m, depth), Bs = b.shared<f16>(n, depth);
    auto acc = b.local<f32>(m, n);
    Index all = ceil_div(K, depth);
    Index trips = form.trips == Form::ByRow      ? min(all, x + 1)
                  : form.trips == Form::ByColumn ? min(all, y + 1)
                  : form.trips == Form::Capped   ? min(all, 2)
                                                 : all;
    Index strip = form.columnShift == 1 ? y + x / 2 : form.columnShift == 2 ? y + x % 2 : y;
    if (form.overlapsLaunches)
      b.wait_for_previous();
    switch (form.start) {
    case Form::Zero:
      b.fill(acc, 0);
      break;
    case Form::One:
      b.fill(acc, 1);
      break;
    case Form::FromC:
      b.copy(C.at(x * m, y * n), acc);
      break;
    case Form::RowNumbers:
      b.set(acc, cast<f32>(row(acc) % 16));
      break;
    }
    auto loop = [&] {
      for (Index k : b.pipelined(trips, form.schedule)) {
        b.copy(A.at(x * m, k * depth), As);
        b.copy(B.at(strip * n, k * depth), Bs);
        if (form.inLoop == Form::Negate)
          b.statement("negate", [&] { b.set(As, -As); });
        if (form.inLoop == Form::EveryOther)
          b.when(k % 2 == 0, [&] { b.gemm(As, transposed(Bs), acc); });
        else
          b.gemm(As, transposed(Bs), acc);
        if (form.inLoop == Form::Scale)
          b.set(acc, acc * 2.0f);
        if (form.inLoop == Form::Count)
          b.atomic(Add, counts.at(k % 4), 1);
      }
    };
    switch (form.loops) {
    case Form::Single:
      loop();
      break;
    case Form::Twice:
      loop();
      loop();
      break;
    case Form::InRange:
      for ([[maybe_unused]] Index round : b.range(2)) {
        loop();
        b.set(acc, acc + 1.0f);
      }
      break;
    case Form::Conditional:
      b.when(M > 40, loop);
      break;
    case Form::BlockDiffers:
      b.when(x != y, loop);
      break;
    }
    if (form.overlapsLaunches)
      b.launch_dependents();
    finish(b, acc, bias, C, counts, x, y);
  }

  void finish(Block &b, const Tile<f32, 2> &acc, const In<f32, 1> &bias, const InOut<f32, 2> &C,
              const InOut<i32, 1> &counts, const Index &x, const Index &y) const {
    int64_t m = form.rows, n = form.columns;
    auto v = b.local<f32>(n), most = b.local<f32>(m);
    switch (form.epilogue) {
    case Form::Store:
      break;
    case Form::BiasRelu:
      b.copy(bias.at(y * n), v);
      b.set(acc, max(acc + broadcast_cols(v), 0));
      break;
    case Form::SubtractMax:
      b.reduce(Max, acc, 1, most);
      b.set(acc, acc - broadcast_rows(most));
      break;
    case Form::AddByAtomics: {
      auto S = b.shared<f32>(m, n);
      b.copy(acc, S);
      return b.parallel(m, n, [&](Index i, Index j) {
        b.when(x * m + i < C.size(0) && y * n + j < C.size(1),
               [&] { b.atomic(Add, C.at(x * m + i, y * n + j), b.load(S, i, j)); });
      });
    }
    case Form::CountBlocks:
      b.atomic(Add, counts.at(4), 1);
      break;
    }
    b.copy(acc, C.at(x * m, y * n));
  }
};

struct Data {
  int64_t M, N, K;
  std::vector<f16> A, B;
  std::vector<f32> bias, C;
  std::vector<i32> counts;
};

Data makeData(Random random) {
  Data data;
  int64_t grain = random.chance(75) ? 8 : 1; // most rows are for TMA
  data.M = random.between(1, 300 / grain) * grain;
  data.N = random.between(1, 280 / grain) * grain;
  data.K = random.between(0, 200 / grain) * grain;
  auto fill = [&](auto &values, int64_t count) {
    values.resize(size_t(count));
    for (auto &value : values)
      value = std::decay_t<decltype(value)>(float(random.between(-2, 2)));
  };
  fill(data.A, data.M * data.K);
  fill(data.B, data.N * data.K);
  fill(data.bias, data.N);
  fill(data.C, data.M * data.N);
  fill(data.counts, 5);
  return data;
}

/// Plain loops, block by block. All numbers are integers below 2^24.
void evaluate(const Form &form, Data &data) {
  auto [M, N, K] = std::array{data.M, data.N, data.K};
  int64_t m = form.rows, n = form.columns, all = (K + depth - 1) / depth;
  std::vector<f32> before = data.C;
  auto element = [&](const std::vector<f16> &from, int64_t rows, int64_t i, int64_t k) {
    return i < rows && k < K ? float(from[size_t(i * K + k)]) : 0.0f;
  };
  for (int64_t x = 0; x * m < M; ++x)
    for (int64_t y = 0; y * n < N; ++y) {
      int64_t trips = form.tripsOf(all, x, y), rounds = 0;
      bool runs = form.loops == Form::Conditional    ? M > 40
                  : form.loops == Form::BlockDiffers ? x != y
                                                     : true;
      rounds = form.loops == Form::Twice || form.loops == Form::InRange ? 2 : runs ? 1 : 0;
      std::vector<float> acc(size_t(m * n));
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          int64_t gi = x * m + i, gj = y * n + j;
          bool inside = gi < M && gj < N;
          float sum = form.start == Form::One          ? 1
                      : form.start == Form::FromC      ? (inside ? before[size_t(gi * N + gj)] : 0)
                      : form.start == Form::RowNumbers ? float(i % 16)
                                                       : 0;
          for (int64_t round = 0; round < rounds; ++round) {
            for (int64_t k = 0; k < trips; ++k) {
              float product = 0;
              for (int64_t kk = k * depth; kk < (k + 1) * depth; ++kk)
                product +=
                    element(data.A, M, gi, kk) * element(data.B, N, form.strip(x, y) * n + j, kk);
              if (form.inLoop == Form::Negate)
                product = -product;
              if (form.inLoop != Form::EveryOther || k % 2 == 0)
                sum += product;
              if (form.inLoop == Form::Scale)
                sum *= 2;
            }
            if (form.loops == Form::InRange)
              sum += 1;
          }
          acc[size_t(i * n + j)] = sum;
        }
      for (int64_t i = 0; i < m; ++i) {
        float most = *std::max_element(acc.begin() + i * n, acc.begin() + (i + 1) * n);
        for (int64_t j = 0; j < n; ++j) {
          int64_t gi = x * m + i, gj = y * n + j;
          float value = acc[size_t(i * n + j)];
          if (gi >= M || gj >= N)
            continue;
          f32 &to = data.C[size_t(gi * N + gj)];
          to = form.epilogue == Form::BiasRelu       ? std::max(value + data.bias[size_t(gj)], 0.0f)
               : form.epilogue == Form::SubtractMax  ? value - most
               : form.epilogue == Form::AddByAtomics ? before[size_t(gi * N + gj)] + value
                                                     : value;
        }
      }
      if (form.inLoop == Form::Count)
        for (int64_t k = 0; k < rounds * trips; ++k)
          ++data.counts[size_t(k % trips % 4)];
      data.counts[4] += form.epilogue == Form::CountBlocks;
    }
}

template <class Compiled>
std::string launch(const Form &form, const Compiled &compiled, const LaunchOptions &options,
                   Random random) {
  Data data = makeData(random);
  Data want = data;
  auto found = compiled.try_launch(options, view(data.A, {data.M, data.K}),
                                   view(data.B, {data.N, data.K}), view(data.bias, {data.N}),
                                   view(data.C, {data.M, data.N}), view(data.counts, {5}));
  std::string sizes = "M=" + std::to_string(data.M) + ", N=" + std::to_string(data.N) +
                      ", K=" + std::to_string(data.K) + ": ";
  if (!found.empty())
    return sizes + to_text(found);
  evaluate(form, want);
  for (size_t i = 0; i < data.C.size(); ++i)
    if (data.C[i] != want.C[i])
      return sizes + "element " + std::to_string(i) + " is " + std::to_string(data.C[i]) +
             " and should be " + std::to_string(want.C[i]);
  for (size_t i = 0; i < data.counts.size(); ++i)
    if (data.counts[i] != want.counts[i])
      return sizes + "count " + std::to_string(i) + " is " + std::to_string(data.counts[i]) +
             " and should be " + std::to_string(want.counts[i]);
  return {};
}

CaseResult matmulOne(uint64_t seed, Counters &counters, const Preferences &imposed) {
  Random random(derive(seed, 1));
  Form form = makeForm(random);
  Target gpu = anyGpu(random, 60, 25);
  return runOnTargets(
      Matmul{form}, gpu, /*interprets=*/false, random, counters,
      [&](const auto &compiled, LaunchOptions timing, bool emulated) {
        if (emulated) {
          std::string ptx = compiled.ptx();
          counters[Clusters] += ptx.find(".reqnctapercluster") != std::string::npos;
          counters[Pairs] += ptx.find("cta_group::2") != std::string::npos;
          counters[LaunchControls] += ptx.find("clusterlaunchcontrol") != std::string::npos;
        }
        for (uint64_t run = 0; run < 2; ++run, ++timing.seed) {
          std::string wrong = launch(form, compiled, timing, Random(derive(seed, 4 + run)));
          if (!wrong.empty())
            return wrong;
        }
        return std::string();
      },
      &imposed);
}

Preferences makePreferences(Random random) {
  Preferences preferences;
  preferences.pair = random.chance(50);
  preferences.launch_control = random.chance(50);
  if (preferences.pair && random.chance(40))
    preferences.cluster = random.of<std::vector<int64_t>>({{2}, {2}, {1, 2}});
  if (!preferences.pair && random.chance(60))
    preferences.cluster = random.of<std::vector<int64_t>>({{2}, {2}, {1, 2}, {2, 2}, {4}});
  return preferences;
}

CaseResult preferOne(uint64_t seed, Counters &counters) {
  Random random(derive(seed, 31));
  Preferences imposed = makePreferences(Random(derive(seed, 32)));
  if (random.chance(50))
    return matmulOne(seed, counters, imposed);
  static constexpr Family families[] = {aroundOne, atomicsOne, chainedOne, boxedOne, addedOne};
  Counters own;
  CaseResult result =
      random.of(std::vector<Family>(std::begin(families), std::end(families)))(seed, own, &imposed);
  for (int i = 0; i < OwnCounters; ++i)
    counters[i] += own[i];
  return result;
}

} // namespace

int penstock::fuzz::runPreferred(const BatchOptions &options) {
  BatchResult result = runBatches(options, preferOne);
  Counters &c = result.counters;
  return report(result, "--preferred", "programs",
                {{"refused", c[Refused]},
                 {"compiled", c[Built]},
                 {"launches", c[Launched]},
                 {"clusters", c[Clusters]},
                 {"pairs", c[Pairs]},
                 {"launch_control", c[LaunchControls]}});
}
