//===- atomic-f16.cpp - Atomics on a type that has none -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Histogram {
  void operator()(Block &b, In<i32, 1> Bins, InOut<f16, 1> Counts) const {
    auto i = b.grid(Bins.size(0));
    b.atomic(Add, Counts.at(Bins.load(i)), 1);
  }
};
} // namespace

WRONG_PROGRAM { compile(Histogram{}, Target::native()); }

// EXPECT: atomic-f16.cpp:13: error PS1112: `atomic` cannot update elements of type f16
// EXPECT:    13 |     b.atomic(Add, Counts.at(Bins.load(i)), 1);
// EXPECT:       |     ^
// EXPECT:   help: use i32, i64, f32 or f64
