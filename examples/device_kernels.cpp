//===- device_kernels.cpp - The GPU kernels of the examples, for the tools -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shared library for `penstock check` and `penstock mutate`. Every kernel must
// equal the tile program Matmul, which is run by the interpreter; for Matmul
// itself that compares what the compiler made of it with what it says.
//
//===----------------------------------------------------------------------===//
#include "blackwell_matmul/v0.h"
#include "blackwell_matmul/v1.h"
#include "blackwell_matmul/v2.h"
#include "blackwell_matmul/v3.h"
#include "blackwell_matmul/v4.h"
#include "hopper_matmul/steps.h"
#include "matmul/kernel.h"
#include <penstock/check.h>

namespace examples {
using namespace blackwell;

// The steps of the Hopper example, under names of their own.
struct HopperMatmul : hopper::Matmul {};
struct HopperMatmulInFlight : hopper::Matmul {
  HopperMatmulInFlight() { in_flight = 1; }
};
struct HopperMatmulTokens : hopper::Matmul {
  HopperMatmulTokens() { try_tokens = true; }
};

PENSTOCK_KERNEL(Matmul, block_m, block_n, block_k, group, pipeline.num_stages);
PENSTOCK_REFERENCE(Matmul, Matmul);
PENSTOCK_KERNEL(MatmulV0, block_m, block_n, block_k);
PENSTOCK_REFERENCE(MatmulV0, Matmul);
PENSTOCK_KERNEL(MatmulV1, block_m, block_n, block_k, epilogue_n);
PENSTOCK_REFERENCE(MatmulV1, Matmul);
PENSTOCK_KERNEL(MatmulV2, block_m, block_n, block_k, stages, epilogue_n);
PENSTOCK_REFERENCE(MatmulV2, Matmul);
PENSTOCK_KERNEL(MatmulV3, block_m, block_n, block_k, stages, epilogue_n);
PENSTOCK_REFERENCE(MatmulV3, Matmul);
PENSTOCK_KERNEL(MatmulV4, block_m, block_n, block_k, stages, epilogue_n, group);
PENSTOCK_REFERENCE(MatmulV4, Matmul);
PENSTOCK_KERNEL(HopperMatmul, block_m, block_n, block_k, stages, consumers, in_flight,
                try_tokens);
PENSTOCK_REFERENCE(HopperMatmul, Matmul);
PENSTOCK_KERNEL(HopperMatmulInFlight, block_m, block_n, block_k, stages, consumers, in_flight,
                try_tokens);
PENSTOCK_REFERENCE(HopperMatmulInFlight, Matmul);
PENSTOCK_KERNEL(HopperMatmulTokens, block_m, block_n, block_k, stages, consumers, in_flight,
                try_tokens);
PENSTOCK_REFERENCE(HopperMatmulTokens, Matmul);

} // namespace examples
