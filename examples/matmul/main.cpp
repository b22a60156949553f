//===- main.cpp - One matmul on the CPU and on both GPUs ------------------===//
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
    device_matmul::Cases cases("matmul", target);
    for (int stages : {2, 3, 4})
      cases.runAnyRows(std::to_string(stages) + " stages",
                       Matmul{.pipeline = {.num_stages = stages}});
    cases.runAnyRows("stated", Matmul{.pipeline = {.stage = {0, 0, 1}, .order = {0, 1, 2}}});
    cases.runAnyRows("bf16", MatmulOf<bf16>{.block_n = 64});
    failures += cases.result();
  }
  return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
