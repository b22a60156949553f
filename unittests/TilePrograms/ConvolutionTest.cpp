//===- ConvolutionTest.cpp - Boxes that reach over the edges of images ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

#include "../../examples/convolution/kernel.h"

using namespace penstock;
using namespace programs;
using examples::Convolution;

namespace {

PENSTOCK_KERNEL(Convolution);

TEST(Convolutions, AreRight) {
  for (auto [h, w, c, o] : {std::array<int64_t, 4>{1, 1, 8, 8},
                            {3, 5, 8, 8},
                            {9, 17, 8, 8}, // a pixel more than a block in both directions
                            {2, 130, 72, 16},
                            {16, 16, 128, 136},
                            {2, 7, 5, 3},
                            {2, 4, 0, 8}})
    expectSameEverywhere("Convolution",
                         {{{"B", 2}, {"H", h}, {"W", w}, {"C", c}, {"O", o}, {"T", 9}}});
}

/// TMA copies the shifted boxes, in a warp of its own, and tensor cores multiply.
TEST(Convolutions, AreWarpSpecialized) {
  for (const char *gpu : {"sm_90a", "sm_100a"}) {
    std::string plan = planOf("Convolution", gpu);
    EXPECT_NE(plan.find("TMA loads"), std::string::npos) << plan;
    EXPECT_NE(plan.find("copy X -> Xs signals"), std::string::npos) << plan;
    EXPECT_NE(plan.find("copy F -> Fs signals"), std::string::npos) << plan;
    EXPECT_NE(plan.find(gpu == std::string("sm_90a") ? ": wgmma" : ": tcgen05.mma"),
              std::string::npos)
        << plan;
  }
}

} // namespace
