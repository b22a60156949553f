//===- RunPipelinesTest.cpp - Pipelines compute what loops compute --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels whose loops are written out as pipelines, for every trip count from
// none to well beyond the number of stages and for all ways in which copies may
// complete, against plain loops over the same data.
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

#include <gtest/gtest.h>

using namespace penstock;

namespace {

constexpr int width = 8;

std::vector<float> numbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 37 + 11) % 101) - 50;
  return values;
}

/// Weights each tile by its number, so that a tile of the wrong iteration
/// changes the sum.
struct WeightedSum {
  PipelineOptions schedule = {};

  void operator()(Block &b, In<f32, 1> A, In<f32, 1> B, Index n, Out<f32, 1> C) const {
    auto x = b.shared<f32>(width), y = b.shared<f32>(width);
    auto acc = b.local<f32>(width);
    b.fill(acc, 0);
    for (Index k : b.pipelined(n, schedule)) {
      b.copy(A.at(k * width), x);
      b.copy(B.at(k * width), y);
      b.set(acc, acc + x * y * (cast<f32>(k) + 1));
    }
    b.copy(acc, C.at(0));
  }
};

std::vector<float> weightedSum(const std::vector<float> &a, const std::vector<float> &b,
                               int64_t n) {
  std::vector<float> sum(width, 0);
  for (int64_t k = 0; k < n; ++k)
    for (int i = 0; i < width; ++i)
      sum[i] += a[k * width + i] * b[k * width + i] * static_cast<float>(k + 1);
  return sum;
}

void expectWeightedSum(PipelineOptions schedule, int stages) {
  auto kernel = compile(WeightedSum{schedule}, Target::native(), {.late_completion = true});
  for (int64_t n = 0; n <= 2 * stages + 2; ++n) {
    auto a = numbers((n + 1) * width), b = numbers((n + 2) * width);
    std::vector<float> c(width, -1);
    for (auto completion : {Completion::Eager, Completion::Latest, Completion::Random}) {
      kernel.launch({.completion = completion, .seed = 7}, view(a, {n * width}),
                    view(b, {n * width}), n, view(c, {width}));
      EXPECT_EQ(c, weightedSum(a, b, n)) << "n = " << n << ", " << stages << " stages";
    }
  }
}

TEST(RunPipelines, InferredFromTheNumberOfStages) {
  for (int stages : {1, 2, 3, 4})
    expectWeightedSum({.num_stages = stages}, stages + 1);
}

TEST(RunPipelines, StatedByHand) {
  expectWeightedSum({.stage = {0, 0, 1}, .order = {0, 1, 2}}, 2);
  expectWeightedSum({.stage = {0, 0, 1}, .order = {1, 2, 0}}, 2);
  expectWeightedSum({.stage = {0, 1, 3}, .order = {2, 0, 1}}, 4);
}

/// Asynchronous copies that are awaited two iterations later.
struct Awaited {
  void operator()(Block &b, In<f32, 1> A, Index n, Out<f32, 1> C) const {
    auto x = b.shared<f32>(width);
    auto acc = b.local<f32>(width);
    b.fill(acc, 0);
    for (Index k : b.pipelined(n, {.stage = {0, 2, 2}, .order = {0, 1, 2}})) {
      b.copy(A.at(k * width), x, {.async = "load"});
      b.wait("load");
      b.set(acc, acc * 2 + x);
    }
    b.copy(acc, C.at(0));
  }
};

TEST(RunPipelines, AsynchronousCopiesAreReadyWhenTheyAreUsed) {
  auto kernel = compile(Awaited{}, Target::native(), {.late_completion = true});
  for (int64_t n = 0; n <= 8; ++n) {
    auto a = numbers((n + 1) * width);
    std::vector<float> expected(width, 0);
    for (int64_t k = 0; k < n; ++k)
      for (int i = 0; i < width; ++i)
        expected[i] = expected[i] * 2 + a[k * width + i];
    for (auto completion : {Completion::Eager, Completion::Latest, Completion::Random})
      for (uint64_t seed = 0; seed < 5; ++seed) {
        std::vector<float> c(width, -1);
        kernel.launch({.completion = completion, .seed = seed}, view(a, {n * width}), n,
                      view(c, {width}));
        EXPECT_EQ(c, expected) << "n = " << n;
      }
  }
}

/// The same without the wait: the data is late when everything completes late.
struct NotAwaited {
  void operator()(Block &b, In<f32, 1> A, Index n, Out<f32, 1> C) const {
    auto x = b.shared<f32>(width);
    auto acc = b.local<f32>(width);
    b.fill(x, 0);
    b.fill(acc, 0);
    for (Index k : b.range(n)) {
      b.copy(A.at(k * width), x, {.async = "load"});
      b.set(acc, acc + x);
    }
    b.copy(acc, C.at(0));
  }
};

TEST(RunPipelines, AMissingWaitIsSeen) {
  auto kernel = compile(NotAwaited{}, Target::native(), {.late_completion = true});
  int64_t n = 3;
  auto a = numbers(n * width);
  std::vector<float> eager(width), latest(width);
  kernel.launch({}, view(a, {n * width}), n, view(eager, {width}));
  kernel.launch({.completion = Completion::Latest}, view(a, {n * width}), n, view(latest, {width}));
  EXPECT_NE(eager, latest);
  EXPECT_EQ(latest, std::vector<float>(width, 0));
}

/// A tile that is read after the loop holds what its last iteration wrote, or
/// what it held before if there was none.
struct ReadAfter {
  void operator()(Block &b, In<f32, 1> A, Index n, Out<f32, 1> C, Out<f32, 1> D) const {
    auto x = b.shared<f32>(width);
    auto acc = b.local<f32>(width);
    b.fill(acc, 0);
    b.fill(x, 5);
    for (Index k : b.pipelined(n, {.num_stages = 3})) {
      b.copy(A.at(k * width), x);
      b.set(acc, acc + x);
    }
    b.copy(acc, C.at(0));
    b.copy(x, D.at(0));
  }
};

TEST(RunPipelines, TilesReadAfterTheLoop) {
  auto kernel = compile(ReadAfter{}, Target::native(), {.late_completion = true});
  for (int64_t n = 0; n <= 7; ++n) {
    auto a = numbers((n + 1) * width);
    std::vector<float> c(width), d(width), last(width, 5);
    if (n)
      last.assign(a.begin() + (n - 1) * width, a.begin() + n * width);
    kernel(view(a, {n * width}), n, view(c, {width}), view(d, {width}));
    EXPECT_EQ(d, last) << "n = " << n;
  }
}

/// Copies under a condition that depends on the iteration, and a tile that
/// carries from iteration to iteration.
struct Conditional {
  void operator()(Block &b, In<f32, 1> A, Index n, Out<f32, 1> C) const {
    auto x = b.shared<f32>(width);
    auto acc = b.local<f32>(width);
    b.fill(acc, 0);
    for (Index k : b.pipelined(n, {.stage = {0, 1}, .order = {0, 1}})) {
      auto odd = k % 2 == 1;
      b.when(odd, [&] { b.copy(A.at(k * width), x); });
      b.when(odd, [&] { b.set(acc, acc + x * (cast<f32>(k) + 1)); });
    }
    b.copy(acc, C.at(0));
  }
};

TEST(RunPipelines, ConditionsAreReplayedForTheirOwnIteration) {
  auto result = try_compile(Conditional{}, Target::native(), {.late_completion = true});
  ASSERT_TRUE(result) << to_text(result.diagnostics);
  for (int64_t n = 0; n <= 6; ++n) {
    auto a = numbers((n + 1) * width);
    std::vector<float> c(width, -1), expected(width, 0);
    for (int64_t k = 1; k < n; k += 2)
      for (int i = 0; i < width; ++i)
        expected[i] += a[k * width + i] * static_cast<float>(k + 1);
    result.kernel(view(a, {n * width}), n, view(c, {width}));
    EXPECT_EQ(c, expected) << "n = " << n;
  }
}

/// A tile that is carried, filled asynchronously and not awaited: in the last
/// iteration nothing is left of what usually comes first after the copy.
struct CarriedAndFilled {
  void operator()(Block &b, In<f32, 1> A, Index n, Out<f32, 1> C, Out<f32, 1> D) const {
    auto x = b.shared<f32>(width);
    auto acc = b.local<f32>(width), sum = b.local<f32>(width);
    b.fill(x, 1);
    b.fill(acc, 0);
    b.fill(sum, 0);
    for (Index k : b.pipelined(n, {.stage = {0, 0, 1}, .order = {0, 2, 1}})) {
      b.set(acc, acc + x * (cast<f32>(k) + 1));
      b.copy(A.at(k * width), x, {.async = "load"});
      b.set(sum, sum + x * (cast<f32>(k) + 1));
    }
    b.copy(acc, C.at(0));
    b.copy(sum, D.at(0));
  }
};

TEST(RunPipelines, WaitsThatNobodyWroteRunOnPastTheEnd) {
  auto kernel = compile(CarriedAndFilled{}, Target::native(), {.late_completion = true});
  for (int64_t n = 0; n <= 6; ++n) {
    auto a = numbers((n + 1) * width);
    std::vector<float> acc(width, 0), sum(width, 0), x(width, 1);
    for (int64_t k = 0; k < n; ++k)
      for (int i = 0; i < width; ++i) {
        acc[i] += x[i] * static_cast<float>(k + 1);
        x[i] = a[k * width + i];
        sum[i] += x[i] * static_cast<float>(k + 1);
      }
    std::vector<float> c(width, -1), d(width, -1);
    kernel.launch({.completion = Completion::Latest}, view(a, {n * width}), n, view(c, {width}),
                  view(d, {width}));
    EXPECT_EQ(c, acc) << "n = " << n;
    EXPECT_EQ(d, sum) << "n = " << n;
  }
}

/// Products into one accumulator that are awaited an iteration later, the first
/// of which does not add to it: only the order of issue gives the sum.
struct ChainedProducts {
  void operator()(Block &b, In<f32, 2> A, Index n, Out<f32, 2> C) const {
    auto x = b.shared<f32>(4, 4), y = b.shared<f32>(4, 4), acc = b.local<f32>(4, 4);
    b.fill(acc, 0);
    for (Index k : b.pipelined(n, {.stage = {0, 0, 1, 1, 2}, .order = {0, 1, 2, 3, 4}})) {
      b.copy(A.at(k * 4, 0), x);
      b.copy(A.at(k * 4, 4), y);
      b.gemm(x, y, acc, {.accumulate = false, .async = "first"});
      b.gemm(y, x, acc, {.async = "second"});
      b.wait({"first", "second"});
    }
    b.copy(acc, C.at(0, 0));
  }
};

TEST(RunPipelines, ProductsIntoOneAccumulatorTakeEffectInOrder) {
  auto result = try_compile(ChainedProducts{}, Target::native(), {.late_completion = true});
  ASSERT_TRUE(result) << to_text(result.diagnostics);
  for (int64_t n = 1; n <= 6; ++n) {
    auto a = numbers(n * 32);
    std::vector<float> expected(16, 0);
    const float *last = a.data() + (n - 1) * 32;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        for (int l = 0; l < 4; ++l)
          expected[4 * i + j] +=
              last[8 * i + l] * last[8 * l + 4 + j] + last[8 * i + 4 + l] * last[8 * l + j];
    for (uint64_t seed = 0; seed < 8; ++seed) {
      std::vector<float> c(16, -1);
      result.kernel.launch(
          {.completion = seed ? Completion::Random : Completion::Latest, .seed = seed},
          view(a, {4 * n, 8}), n, view(c, {4, 4}));
      EXPECT_EQ(c, expected) << "n = " << n << ", seed " << seed;
    }
  }
}

/// A part of a ring's slot inside of a group.
struct PartInGroup {
  void operator()(Block &b, In<f32, 1> A, Index n, Out<f32, 1> C) const {
    auto x = b.shared<f32>(width), acc = b.local<f32>(width / 2);
    b.fill(acc, 0);
    for (Index k : b.pipelined(n, {.num_stages = 3})) {
      b.copy(A.at(k * width), x);
      b.statement("add half", [&] { b.set(acc, acc * 2 + slice(x, {2}, {width / 2})); });
    }
    b.copy(acc, C.at(0));
  }
};

TEST(RunPipelines, PartsOfRingSlotsInsideOfGroups) {
  auto kernel = compile(PartInGroup{}, Target::native(), {.late_completion = true});
  for (int64_t n = 0; n <= 6; ++n) {
    auto a = numbers((n + 1) * width);
    std::vector<float> expected(width / 2, 0), c(width / 2, -1);
    for (int64_t k = 0; k < n; ++k)
      for (int i = 0; i < width / 2; ++i)
        expected[i] = expected[i] * 2 + a[k * width + 2 + i];
    kernel(view(a, {n * width}), n, view(c, {width / 2}));
    EXPECT_EQ(c, expected) << "n = " << n;
  }
}

TEST(RunPipelines, AWrongScheduleIsRefusedWithBothLines) {
  WeightedSum wrong{{.stage = {1, 0, 0}, .order = {0, 1, 2}}};
  EXPECT_FALSE(try_compile(wrong, Target::interpreter()));
  auto result = try_compile(wrong, Target::native());
  ASSERT_FALSE(result);
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(result.diagnostics[0].code, 1201u);
  EXPECT_NE(result.diagnostics[0].location.line, 0u);
  ASSERT_FALSE(result.diagnostics[0].notes.empty());
  EXPECT_NE(result.diagnostics[0].notes[0].location.line, result.diagnostics[0].location.line);
}

} // namespace
