//===- ScaledTest.cpp - Pipelines of 4-bit weights and of scales ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

#include "../../examples/int4_matmul/kernel.h"
#include "../../examples/scaled_matmul/kernel.h"

using namespace penstock;
using namespace programs;
using examples::Int4Matmul, examples::MxF8Matmul, examples::NvF4Matmul;

namespace {

PENSTOCK_KERNEL(Int4Matmul);
PENSTOCK_KERNEL(MxF8Matmul);
PENSTOCK_KERNEL(NvF4Matmul);

void expectParts(const std::string &plan, std::initializer_list<const char *> parts) {
  for (const char *part : parts)
    EXPECT_NE(plan.find(part), std::string::npos) << part << "\n" << plan;
}

TEST(Int4Weights, AreLoadedByTmaAndMultipliedByTensorCores) {
  expectParts(planOf("Int4Matmul", "sm_90a"),
              {"loads by TMA", "copy weight -> Ws signals", "copy x -> Xs signals", ": wgmma"});
  expectParts(planOf("Int4Matmul", "sm_100a"),
              {"loads by TMA", "multiplies", "copy weight -> Ws signals", "copy x -> Xs signals",
               ": tcgen05.mma"});
}

// One barrier for operands and scales, whose bytes are 16 KiB each for 256 values of k, and 2 KiB;
// nothing between the copies of scales and the product.
TEST(Scales, AreLoadedByTmaBesideTheirOperands) {
  expectParts(planOf("NvF4Matmul", "sm_100a"),
              {"loads by TMA", "multiplies", "slots 3 arrivals 1 bytes 36864",
               "issue copy scale_A -> SA signals full copy A -> As bytes 2048",
               "issue copy scale_B -> SB signals full copy A -> As bytes 2048", ": tcgen05.mma"});
  expectParts(planOf("MxF8Matmul", "sm_90a"), {"loads by TMA", "copy scale_A -> SA signals",
                                               "copy scale_B -> SB signals", ": wgmma"});
}

} // namespace
