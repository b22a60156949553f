//===- block-kept.cpp - A block that is used after its kernel -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

// A block of a recording that has ended, without the pointer into a dead
// function that a user would have kept.
WRONG_PROGRAM {
  uint32_t recorder = 0;
  auto program = [&](Block &b, Out<f32, 1> Y) {
    recorder = b.recorder;
    b.store(Y.at(0), 1);
  };
  compile(program, Target::interpreter(), {.name = "program"});
  Block kept(recorder);
  kept.print("too late");
}

// EXPECT: block-kept.cpp:19: error PS1011: this block is called after its kernel has been recorded
// EXPECT:    19 |   kept.print("too late");
// EXPECT:       |   ^
// EXPECT:   help: a block lives as long as its kernel function runs; do not keep it
