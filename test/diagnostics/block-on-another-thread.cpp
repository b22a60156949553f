//===- block-on-another-thread.cpp - A helper thread that records ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

#include <thread>

namespace {
struct Program {
  void operator()(Block &b, Out<f32, 1> Y) const {
    auto t = b.local<f32>(16);
    std::thread([&] {
      b.fill(t, 1);
    }).join();
    b.copy(t, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: block-on-another-thread.cpp:16: error PS1011: this block is called from another thread than the one that records its kernel
// EXPECT:    16 |       b.fill(t, 1);
// EXPECT:       |       ^
// EXPECT:   help: a kernel function may only use its own block, on the thread that compiles it
