//===- block-of-another-kernel.cpp - The outer block in an inner kernel ---===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

WRONG_PROGRAM {
  auto program = [](Block &outer, Out<f32, 1> Y) {
    auto helper = [&](Block &, Out<f32, 1>) { outer.print("which kernel is this?"); };
    compile(helper, Target::interpreter(), {.name = "helper"});
    outer.store(Y.at(0), 1);
  };
  compile(program, Target::interpreter(), {.name = "program"});
}

// EXPECT: block-of-another-kernel.cpp:11: error PS1011: this block is called while another kernel is being recorded
// EXPECT:    11 |     auto helper = [&](Block &, Out<f32, 1>) { outer.print("which kernel is this?"); };
// EXPECT:       |                                               ^
// EXPECT:   help: a kernel function may only use its own block, on the thread that compiles it
