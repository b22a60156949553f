//===- argument-type.cpp - A tensor of another element type is passed -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

struct Scale {
  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const;
};

void run(const Kernel<Scale> &kernel, std::vector<double> &x, std::vector<float> &y) {
  kernel(view(x, {8}), view(y, {8})); // FIRST ERROR: element type or rank
}
