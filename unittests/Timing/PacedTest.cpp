//===- PacedTest.cpp - Runs of the exact PTX on the clock -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emulator executes PTX on a clock of cycles. In the steady part of a matmul it
// must find the interval of the event model, whose input is a description by hand and
// which is held to published measurements (SingleSmTest.cpp): that tests the emitted
// waits, the emulator's engines and the model at once.
//
//===----------------------------------------------------------------------===//
#include "Hardware/Chip.h"
#include "Matmul.h"
#include "PTX/Parser.h"
#include "Testing/Check/KernelUnderTest.h"
#include "Timing/Emulated/ChipPace.h"
#include "Timing/Machine.h"
#include "flash_attention/kernel.h"
#include "persistent_matmul/kernel.h"
#include "gtest/gtest.h"
#include <penstock/check.h>
#include <random>

using namespace penstock;

namespace kernels {

struct PacedPersistent : examples::PersistentMatmul {};
struct PacedAttention : examples::FlashAttention {};
PENSTOCK_KERNEL(PacedPersistent, blocks, block_m, block_n, stages);
PENSTOCK_KERNEL(PacedAttention, block_m, block_n, dim);

} // namespace kernels

namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;
using Form = timing::Matmul::Form;

RunTimes timesOf(const std::string &kernel, Target target, const Shape &shape,
                 const Fields &set = {}) {
  RunPicture picture = draw_run(kernel, target, shape, {.set = set});
  EXPECT_TRUE(picture.diagnostics.empty()) << to_text(picture.diagnostics);
  return picture.times;
}

/// The busy share of the tensor core on one SM, described by hand.
double byHand(const char *name, int64_t tileN, int64_t stages, int64_t consumers = 1,
              int64_t lag = 0, int64_t pair = 1) {
  const hw::Chip &chip = *hw::findChip(name);
  timing::Matmul m;
  m.m = m.n = m.k = 8192;
  m.tileN = tileN;
  m.stages = stages;
  m.form = Form::Specialized;
  m.consumers = consumers;
  m.lag = lag;
  m.pair = pair;
  timing::Conditions at;
  at.ghz = chip.ghz();
  timing::Kernel kernel = timing::matmul(m, chip);
  double busy = 0;
  for (const timing::Op &op : kernel.loop.ops)
    if (op.engine == timing::Engine::Tensor)
      busy += timing::timesOf(op, chip, at).busy;
  return busy / steadyState(kernel.loop, chip, at).interval;
}

constexpr double tolerance = 0.05;
/// Two warpgroups issue: the description by hand has no loop control.
constexpr double hopperTolerance = 0.06;

TEST(Paced, RingOnBlackwell) {
  Shape shape = {{"M", 128}, {"N", 256}, {"K", 4096}};
  for (int64_t stages : {2, 3, 4})
    for (int64_t tileN : {64, 128, 256}) {
      SCOPED_TRACE(std::to_string(stages) + " stages, " + std::to_string(tileN) + " columns");
      RunTimes run =
          timesOf("MatmulV3", Target::sm_100a(), shape,
                  {{"stages", std::to_string(stages)}, {"block_n", std::to_string(tileN)}});
      EXPECT_NEAR(run.tensor / byHand("B200", tileN, stages), 1, tolerance) << run.tensor;
      EXPECT_EQ(run.chip, "B200");
    }
}

TEST(Paced, PairsOfBlocks) {
  for (int64_t stages : {3, 5}) {
    SCOPED_TRACE(stages);
    RunTimes run = timesOf("MatmulV6", Target::sm_100a(), {{"M", 256}, {"N", 512}, {"K", 4096}},
                           {{"stages", std::to_string(stages)}});
    EXPECT_NEAR(run.tensor / byHand("B200", 256, stages, 1, 0, 2), 1, tolerance) << run.tensor;
  }
}

TEST(Paced, RingOnHopper) {
  for (int64_t lag : {0, 1})
    for (int64_t stages : {2, 4}) {
      SCOPED_TRACE(std::to_string(lag) + " in flight, " + std::to_string(stages) + " stages");
      RunTimes run =
          timesOf("HopperSteps", Target::sm_90a(), {{"M", 128}, {"N", 128}, {"K", 4096}},
                  {{"in_flight", std::to_string(lag)}, {"stages", std::to_string(stages)}});
      EXPECT_NEAR(run.tensor / byHand("H100", 128, stages, 2, lag), 1, hopperTolerance)
          << run.tensor;
    }
}

// Four tiles for each block: what is stored of one lies under the products of the next.
TEST(Paced, PersistentTileProgramKeepsTheTensorCoreBusy) {
  Shape shape = {{"M", 512}, {"N", 512}, {"K", 2048}};
  for (Target target : {Target::sm_90a(), Target::sm_100a()}) {
    RunTimes run = timesOf("PacedPersistent", target, shape,
                           {{"blocks", "2"}, {"block_n", "256"}, {"stages", "4"}});
    EXPECT_GE(run.tensor, 0.95) << to_text(run);
    EXPECT_LE(run.tensor, 1) << to_text(run);
    EXPECT_EQ(run.exponentials, 0);
  }
}

TEST(Paced, MoreSlotsAreNotSlower) {
  double last = 1e9;
  for (int stages : {1, 2, 3, 4}) {
    RunTimes run = timesOf("MatmulV3", Target::sm_100a(), {{"M", 128}, {"N", 128}, {"K", 1024}},
                           {{"stages", std::to_string(stages)}});
    EXPECT_LE(run.cycles, 1.01 * last) << stages;
    last = run.cycles;
  }
}

// 64 x 64 scores for 4 exponentials in a cycle and quarter of the SM: they take 256 cycles of
// 16 tiles of keys, and a few more for the running maximum.
TEST(Paced, ExponentialsAreCounted) {
  RunTimes run =
      timesOf("PacedAttention", Target::sm_90a(), {{"H", 1}, {"M", 64}, {"N", 1024}, {"D", 64}});
  double perTile = 64.0 * 64 / 16;
  double cycles = run.cycles * run.exponentials;
  EXPECT_GE(cycles, 16 * perTile);
  EXPECT_LE(cycles, 1.6 * 16 * perTile);
}

/// Runs a kernel on the clock and eagerly, on the same data.
void expectSameResults(const std::string &kernel, Target target, const Shape &shape) {
  std::vector<Diagnostic> diagnostics;
  auto tested = compileRegistered(kernel, target, {}, diagnostics);
  ASSERT_TRUE(tested && diagnostics.empty()) << kernel << ": " << to_text(diagnostics);
  Case on = prepareCase(*tested, shape, Data::Exact, 1);
  ASSERT_TRUE(on.variant && on.problems.empty()) << to_text(on.problems);
  ChipPace pace(chipForRuns(on.variant->kernel.architecture));
  emu::LaunchOptions eager, paced;
  paced.timing = emu::Timing::Paced;
  paced.pace = &pace;
  Run expected = runCase(*tested, *on.variant, on, eager);
  Run run = runCase(*tested, *on.variant, on, paced);
  EXPECT_TRUE(run.completed()) << kernel << ": " << to_text(run.report.findings);
  EXPECT_EQ(run.after.memory, expected.after.memory) << kernel;
}

/// An mma.sync with 32 bytes along k takes the same cycles with scales, whatever its values: on an
/// RTX 5090, MMAs of mxf4nvf4 have twice the rate of those of mxf8f6f4, and twice their values of
/// k.
TEST(Paced, BlockScaledProductsTakeTheCyclesOfTheirBytes) {
  const std::string operands =
      " {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3}";
  auto parsed =
      ptx::parse(".version 8.8\n.target sm_120a\n.address_size 64\n.visible .entry k() {\n"
                 ".reg .b32 %r<8>; .reg .f32 %f<4>;\n"
                 "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32" +
                     operands +
                     ";\nmma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale."
                     "scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0" +
                     operands +
                     ", %r6, {0, 0}, %r7, {0, 0};\n"
                     "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale."
                     "scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3" +
                     operands + ", %r6, {0, 0}, %r7, {0, 0};\nret; }\n",
                 "kernel.ptx");
  ASSERT_TRUE(parsed.module);
  const auto &body = parsed.module->functions.front()->body;
  ChipPace pace(chipForRuns("sm_120a"));
  emu::InstructionTimes plain = pace.times(*body[0]);
  EXPECT_GT(plain.busy, 0);
  for (size_t i : {1, 2}) {
    emu::InstructionTimes scaled = pace.times(*body[i]);
    EXPECT_EQ(scaled.unit, emu::Unit::Matrix) << i;
    EXPECT_EQ(scaled.busy, plain.busy) << i;
  }
}

/// Packed 4-bit values are multiplied in pairs, in the time of bytes.
TEST(Paced, MultiplyAddsCountValues) {
  using emu::productWork;
  for (auto [k, elementBytes] :
       {std::pair(8u, 4u), std::pair(16u, 2u), std::pair(32u, 1u), std::pair(64u, 1u)}) {
    emu::AsyncWork work = productWork(128, 256, k);
    EXPECT_EQ(work.multiplyAdds, 128.0 * 256 * k);
    EXPECT_EQ(work.elementBytes, elementBytes);
  }
  ChipPace pace(*hw::findChip("B200"));
  EXPECT_EQ(pace.times(productWork(128, 256, 64)).busy, pace.times(productWork(128, 256, 32)).busy);
}

/// The tensor core of a B200 executes 4096 multiply-adds of f16 per cycle: an MMA of 128 x 256
/// reaches this rate, one of 128 x 64 does not, although the tensor core is as busy.
TEST(Paced, MultiplyAddsTellRateFromUtilization) {
  auto rateOf = [](const char *columns) {
    return timesOf("PacedPersistent", Target::sm_100a(), {{"M", 128}, {"N", 1024}, {"K", 2048}},
                   {{"blocks", "1"}, {"block_n", columns}, {"stages", "4"}});
  };
  RunTimes wide = rateOf("256"), narrow = rateOf("64");
  EXPECT_GT(wide.tensor, 0.9);
  EXPECT_NEAR(wide.multiplyAdds / wide.tensor, 4096, 41);
  EXPECT_LT(narrow.multiplyAdds / narrow.tensor, 0.75 * 4096);
}

// The clock is a timing like the others: it may not change what a kernel computes, whatever
// trip counts and edges its shape has.
TEST(Paced, ResultsAreThoseOfOtherTimings) {
  std::mt19937 random(20);
  auto draw = [&](int64_t most) { return int64_t(random() % uint64_t(most)) + 1; };
  for (int i = 0; i < 4; ++i) {
    Shape matmul = {{"M", 8 * draw(40)}, {"N", 8 * draw(40)}, {"K", 8 * draw(48)}};
    for (const char *kernel : {"MatmulV1", "MatmulV3", "MatmulV5", "MatmulV6", "TileMatmul"})
      expectSameResults(kernel, Target::sm_100a(), matmul);
    for (const char *kernel : {"HopperSteps", "TileMatmul", "PacedPersistent"})
      expectSameResults(kernel, Target::sm_90a(), matmul);
    Shape attention = {{"H", draw(2)}, {"M", draw(100)}, {"N", draw(300)}, {"D", 8 * draw(8)}};
    for (Target target : {Target::sm_90a(), Target::sm_100a(), Target::sm_80()})
      expectSameResults("PacedAttention", target, attention);
  }
}

} // namespace
