//===- FromRunTest.cpp - Run times from the PTX of one block --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Hardware/Chip.h"
#include "flash_attention/kernel.h"
#include "layer_norm/kernel.h"
#include "row_softmax/kernel.h"
#include "vector_add/kernel.h"
#include "gtest/gtest.h"
#include <penstock/check.h>
#include <penstock/inspect.h>

#include <cmath>

using namespace penstock;

namespace kernels {

struct RunAttention : examples::FlashAttention {};
struct RunVectorAdd : examples::VectorAdd {};
struct RunSoftmax : examples::RowSoftmax {};
struct RunLayerNorm : examples::LayerNorm {};

struct RunExponentials {
  int block = 1024, rounds = 32;
  static constexpr auto signature = "x[N] -> y[N]";

  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const {
    auto first = b.grid(ceil_div(x.size(0), block)) * block;
    auto t = b.local<f32>(block);
    b.copy(x.at(first), t);
    for (int i = 0; i < rounds; ++i)
      b.set(t, exp2(t));
    b.copy(t, y.at(first));
  }
};

/// Each block reads all of x, by TMA.
struct RunAgain {
  static constexpr auto signature = "x[M,N] -> y[B,M]";

  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto block = b.grid(y.size(0));
    auto t = b.shared<f32>(64, 32);
    auto sum = b.local<f32>(64);
    b.fill(sum, 0);
    for (Index n : b.pipelined(ceil_div(x.size(1), 32), {.num_stages = 4})) {
      b.copy(x.at(0, n * 32), t);
      b.reduce(Max, t, 1, sum, {.accumulate = true});
    }
    b.copy(sum, y.at(block, 0).dims(1));
  }
};

PENSTOCK_KERNEL(RunAttention, block_m, block_n, dim, stages, slack);
PENSTOCK_KERNEL(RunVectorAdd, block);
PENSTOCK_KERNEL(RunAgain);
PENSTOCK_KERNEL(RunExponentials, block, rounds);
PENSTOCK_KERNEL(RunSoftmax, block_m, block_n);
PENSTOCK_KERNEL(RunLayerNorm, block_m, block_n);

} // namespace kernels

namespace {

double field(const PredictedRun &run, const std::string &name) {
  size_t at = run.json.find("\"" + name + "\":");
  return at == std::string::npos ? -1
                                 : std::strtod(run.json.c_str() + at + name.size() + 3, nullptr);
}

PredictedRun predicted(const std::string &kernel, const char *architecture, const Shape &shape,
                       const std::vector<std::pair<std::string, std::string>> &set = {}) {
  InspectOptions options;
  options.set = set;
  std::vector<Diagnostic> diagnostics;
  PredictedRun run = predict_from_run(kernel, architecture, shape, options, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << to_text(diagnostics);
  // No number without a range.
  EXPECT_LT(field(run, "low"), run.seconds) << kernel;
  EXPECT_GT(field(run, "high"), run.seconds) << kernel;
  return run;
}

// Kernels that do little with what they read are as fast as HBM allows, and not faster.
TEST(FromRun, MemoryBoundKernels) {
  for (const char *architecture : {"sm_90a", "sm_100a"}) {
    double hbm = hw::findChip(architecture)->hbm.value * 1e9;
    double elements = 1 << 24;
    PredictedRun add = predicted("RunVectorAdd", architecture, {{"N", elements}});
    EXPECT_GT(3 * 4 * elements / add.seconds, 0.6 * hbm) << architecture;
    EXPECT_LT(3 * 4 * elements / add.seconds, hbm) << architecture;
    PredictedRun twice = predicted("RunVectorAdd", architecture, {{"N", 2 * elements}});
    EXPECT_NEAR(twice.seconds / add.seconds, 2, 0.1) << architecture;
    for (const char *kernel : {"RunSoftmax", "RunLayerNorm"}) {
      Shape shape = {{"M", 4096}, {"N", 2048}};
      if (std::string(kernel) == "RunLayerNorm")
        shape.push_back({"eps", 1e-5});
      PredictedRun rows = predicted(kernel, architecture, shape);
      // Each element is read at least once, and written.
      EXPECT_LT(2 * 4 * 4096.0 * 2048 / rows.seconds, hbm) << kernel << " " << architecture;
      EXPECT_GT(2 * 4 * 4096.0 * 2048 / rows.seconds, 0.05 * hbm) << kernel << " " << architecture;
    }
  }
}

// Copies by TMA come through the fabric each time.
TEST(FromRun, CopiesThatRepeat) {
  constexpr double rows = 64, columns = 2048, blocks = 8192;
  for (const char *architecture : {"sm_90a", "sm_100a"}) {
    const hw::Chip &chip = *hw::findChip(architecture);
    PredictedRun run =
        predicted("RunAgain", architecture, {{"M", rows}, {"N", columns}, {"B", blocks}});
    double bytes = rows * columns * 4 * blocks;
    EXPECT_GT(run.seconds, 0.95 * bytes / (chip.fabric.value * 1e9)) << architecture << run.text;
  }
}

// One block alone has the cycles that it has in a run of the whole grid.
TEST(FromRun, OneBlockIsLikeAllOfThem) {
  Shape shape = {{"M", 64}, {"N", 300}};
  PredictedRun run = predicted("RunSoftmax", "sm_90a", shape);
  RunPicture picture = draw_run("RunSoftmax", Target::sm_90a(), shape);
  ASSERT_TRUE(picture.diagnostics.empty()) << to_text(picture.diagnostics);
  EXPECT_NEAR(field(run, "blockCycles") / picture.times.cycles, 1, 1e-4); // as it is printed
}

// 16 exponentials in a cycle and SM bound what does little else; other arithmetic and waits
// add to them.
TEST(FromRun, ExponentialsBind) {
  constexpr double blocks = 4096, elements = 1024, rounds = 32;
  for (const char *architecture : {"sm_90a", "sm_100a"}) {
    const hw::Chip &chip = *hw::findChip(architecture);
    PredictedRun run = predicted("RunExponentials", architecture, {{"N", blocks * elements}});
    double cycles = blocks * elements * rounds / chip.exponentials.value /
                    double(chip.architecture->limits.multiprocessors);
    double seconds = cycles / (field(run, "gigahertz") * 1e9);
    EXPECT_GT(run.seconds, seconds) << architecture;
    EXPECT_LT(run.seconds, 3 * seconds) << architecture << ": " << run.text;
  }
}

TEST(FromRun, Refusals) {
  InspectOptions options;
  std::vector<Diagnostic> diagnostics;
  EXPECT_TRUE(
      predict_from_run("RunVectorAdd", "sm_80", {{"N", 64}}, options, diagnostics).text.empty());
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].message, "run times are not predicted for `sm_80`");
  diagnostics.clear();
  EXPECT_TRUE(
      predict_from_run("RunVectorAdd", "sm_90a", {{"N", 4e9}}, options, diagnostics).text.empty());
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code, 1750u);
  diagnostics.clear();
  // A size is missing.
  EXPECT_TRUE(
      predict_from_run("RunSoftmax", "sm_90a", {{"M", 64}}, options, diagnostics).text.empty());
  EXPECT_EQ(diagnostics.size(), 1u);
}

// FlashAttention 3 was published with 646 TFLOP/s at this shape (2 sequences of 16 heads), and ours
// has its form: two warpgroups, one of which multiplies under the softmax of the other.
TEST(FromRun, AttentionMultipliesUnderSoftmax) {
  Shape shape = {{"H", 32}, {"M", 8192}, {"N", 8192}, {"D", 128}, {"scale", 0.1275}};
  PredictedRun run = predicted("RunAttention", "sm_90a", shape,
                               {{"block_m", "128"}, {"block_n", "128"}, {"dim", "128"}});
  EXPECT_NEAR(run.tflops, 4 * 32 * 8192.0 * 8192 * 128 / run.seconds * 1e-12, 1);
  EXPECT_LT(run.low, 646);
  EXPECT_GT(run.tflops, 646);
  // A block's waits take their time, also where no other block fills them.
  double waves = std::ceil(field(run, "waves")), cycles = field(run, "blockCycles");
  EXPECT_GE(run.seconds, waves * cycles / (field(run, "gigahertz") * 1e9));
  EXPECT_NE(run.waterfall.find("other work, waits"), std::string::npos);
  // The event model knows that it does not know.
  std::vector<Diagnostic> diagnostics;
  InspectOptions options;
  options.set = {{"block_m", "128"}, {"block_n", "128"}, {"dim", "128"}};
  EXPECT_TRUE(predict_registered("RunAttention", "sm_90a",
                                 {{"H", 32}, {"M", 8192}, {"N", 8192}, {"D", 128}}, options,
                                 diagnostics, /*suggest=*/false)
                  .bound_by_threads);
}

// Two versions of 64 columns of scores, 32 of weights and 128 of sums are 288 columns of tensor
// memory: an SM has 512, and hands out powers of two.
TEST(FromRun, TensorMemoryLimitsBlocks) {
  Shape shape = {{"H", 1}, {"M", 256}, {"N", 128}, {"D", 128}, {"scale", 0.1275}};
  auto blocksPerSm = [&](const char *columns) {
    return field(predicted("RunAttention", "sm_100a", shape,
                           {{"block_m", "128"}, {"block_n", columns}, {"dim", "128"}}),
                 "blocksPerSm");
  };
  EXPECT_EQ(blocksPerSm("64"), 1);
  EXPECT_EQ(blocksPerSm("32"), 2); // 224 columns
}

// Exponentials are the busiest here, but products lower the clock, too.
TEST(FromRun, ProductsLowerTheClock) {
  Shape shape = {{"H", 32}, {"M", 4096}, {"N", 4096}, {"D", 128}, {"scale", 0.1275}};
  PredictedRun run = predicted("RunAttention", "sm_100a", shape,
                               {{"block_m", "128"}, {"block_n", "128"}, {"dim", "128"}});
  EXPECT_NE(run.json.find("\"busiest\":\"exponentials\""), std::string::npos) << run.json;
  EXPECT_LT(field(run, "gigahertz"), 0.9 * hw::findChip("sm_100a")->boost.value);
}

} // namespace
