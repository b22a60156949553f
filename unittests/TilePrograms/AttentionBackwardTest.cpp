//===- AttentionBackwardTest.cpp - Gradients of attention on GPUs ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

#include "../../examples/attention_backward/kernel.h"
#include "../../examples/attention_backward/reference.h"

using namespace penstock;
using examples::AttentionBackward;
namespace backward = examples::backward;

namespace {

/// Against plain loops in double precision, in all timings, without a finding.
void expectGradients(const AttentionBackward &kernel, backward::Sizes sizes, int timings) {
  check::Random random(3);
  backward::Problem problem = backward::problemOf(random, sizes);
  for (const Target &target : programs::gpus) {
    auto compiled = try_compile(kernel, target);
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    for (int timing = -2; timing < timings; ++timing) {
      LaunchOptions options;
      options.completion = timing == -2   ? Completion::Eager
                           : timing == -1 ? Completion::Latest
                                          : Completion::Random;
      options.seed = uint64_t(timing + 3);
      check::Outcome outcome = backward::compareGradients(problem, [&](auto &&...arguments) {
        auto found = compiled.kernel.try_launch(options, arguments...);
        EXPECT_TRUE(found.empty()) << to_text(found);
      });
      EXPECT_TRUE(outcome.passed) << "timing " << timing << ": " << outcome.message;
    }
  }
}

TEST(AttentionBackward, IsRightWithHeadsOf64) { expectGradients({}, {2, 130, 100, 64, 2}, 20); }

TEST(AttentionBackward, IsRightWithHeadsOf128) {
  expectGradients({.block_m = 32, .block_n = 128, .dim = 128, .threads = 256},
                  {1, 130, 150, 128, 2}, 20);
}

TEST(AttentionBackward, FillsUpSmallerHeads) { expectGradients({}, {1, 70, 65, 56, 2}, 1); }

/// Rows that TMA cannot copy take the kernel whose threads copy.
TEST(AttentionBackward, TakesOddHeads) { expectGradients({}, {1, 70, 65, 37, 2}, 1); }

PENSTOCK_KERNEL(AttentionBackward);

/// A warp loads by TMA, and all five products are those of warpgroups.
TEST(AttentionBackward, IsWarpSpecialized) {
  for (std::string gpu : {"sm_90a", "sm_100a"}) {
    std::string plan = programs::planOf("AttentionBackward", gpu);
    EXPECT_NE(plan.find("TMA loads"), std::string::npos) << plan;
    for (std::string sum : {"P", "dP", "dv", "dk", "dq"}) {
      std::string product = "`gemm` into `" + sum + "` (64x64 f32, ";
      product += gpu == "sm_90a" ? "local): wgmma" : "tensor): tcgen05.mma";
      EXPECT_NE(plan.find(product), std::string::npos) << sum << "\n" << plan;
    }
  }
}

} // namespace
