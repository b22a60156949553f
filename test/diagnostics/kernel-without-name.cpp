//===- kernel-without-name.cpp - A lambda has no usable name --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

WRONG_PROGRAM {
  auto kernel = [](Block &b, Out<f32, 1> Y) { b.store(Y.at(0), 1); };
  compile(kernel, Target::native(), {.name = "fill-one"});
}

// EXPECT: kernel-without-name.cpp:11: error PS1009: `fill-one` cannot be the name of a kernel
// EXPECT:    11 |   compile(kernel, Target::native(), {.name = "fill-one"});
// EXPECT:       |   ^
// EXPECT:   help: use letters, digits and _, and another start than penstock_; give {.name = ".."} when compiling
