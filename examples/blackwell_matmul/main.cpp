//===- main.cpp - Runs the ladder of matmuls on the emulator --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../common/device_matmul.h"
#include "v0.h"
#include "v1.h"
#include "v2.h"
#include "v3.h"
#include "v4.h"
#include "v5.h"
#include "v6.h"

using namespace blackwell;

int main() {
  device_matmul::Cases cases("blackwell_matmul", Target::sm_100a().emulated());
  cases.run("V0", MatmulV0{});
  cases.run("V1", MatmulV1{});
  cases.run("V2", MatmulV2{});
  cases.run("V2, 2 stages", MatmulV2{.stages = 2});
  cases.run("V3", MatmulV3{});
  cases.run("V4", MatmulV4{});
  cases.run("V4, 256 columns, 4 stages", MatmulV4{.block_n = 256, .stages = 4, .epilogue_n = 32});
  cases.run("V5", MatmulV5{});
  cases.run("V6", MatmulV6{});
  cases.run("V6, one pair for all tiles", MatmulV6{.block_n = 64, .pairs = 1});
  return cases.result();
}
