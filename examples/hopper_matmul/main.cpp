//===- main.cpp - Runs the steps of Hopper's matmul on the emulator -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../common/device_matmul.h"
#include "steps.h"

int main() {
  using hopper::Matmul;
  device_matmul::Cases cases("hopper_matmul", penstock::Target::sm_90a().emulated());
  cases.run("one consumer", Matmul{.block_m = 64, .consumers = 1});
  cases.run("two consumers", Matmul{});
  cases.run("products in flight", Matmul{.in_flight = 1});
  cases.run("tokens", Matmul{.in_flight = 1, .try_tokens = true});
  cases.run("256 rows", Matmul{.block_m = 256, .in_flight = 1});
  cases.run("256 rows, tokens", Matmul{.block_m = 256, .in_flight = 1, .try_tokens = true});
  return cases.result();
}
