//===- block-by-value-registered.cpp - A registered kernel takes its block by value -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

struct Copy {
  void operator()(Block b, In<f32, 1> x, Out<f32, 1> y) const;
};
PENSTOCK_KERNEL(Copy); // SHOWN: `Block &b`
