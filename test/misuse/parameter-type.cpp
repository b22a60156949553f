//===- parameter-type.cpp - A kernel with a parameter of another type -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

struct Scale {
  void operator()(Block &b, In<f32, 1> x, float factor, Out<f32, 1> y) const;
};

void run() {
  auto kernel = try_compile(Scale{}, Target::native()); // FIRST ERROR: Scalar<T>
}
