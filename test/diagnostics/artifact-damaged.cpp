//===- artifact-damaged.cpp - Bytes that are not an artifact --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

#include <penstock/gpu.h>

namespace {
struct Copy {
  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const {
    auto t = b.local<f32>(32);
    b.copy(x.at(0), t);
    b.copy(t, y.at(0));
  }
};
} // namespace

WRONG_PROGRAM { gpu::load<Copy>("the file of another program"); }

// EXPECT: artifact-damaged.cpp:21: error PS1710: the artifact cannot be read: it does not begin as an artifact does
// EXPECT:    21 | WRONG_PROGRAM { gpu::load<Copy>("the file of another program"); }
// EXPECT:       |                 ^
// EXPECT:   help: make it again with Kernel::artifact()
