//===- main.cpp - A persistent matmul on the CPU and on both GPUs ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../common/device_matmul.h"
#include "kernel.h"

using namespace examples;

int main() {
  int failures = 0;
  for (Target target :
       {Target::native(), Target::sm_90a().emulated(), Target::sm_100a().emulated()}) {
    device_matmul::Cases cases("persistent matmul", target);
    cases.runAnyRows("one block", PersistentMatmul{.blocks = 1, .stages = 3});
    cases.runAnyRows("three blocks", PersistentMatmul{.blocks = 3, .block_n = 64});
    failures += cases.result();
  }
  return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
