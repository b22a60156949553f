//===- signature-values.cpp - A bound of values that is not a size --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Gather {
  static constexpr auto signature = "x[N], ids[M] in 0..K-1 -> y[M]";

  void operator()(Block &b, In<f32, 1> x, In<i32, 1> ids, Out<f32, 1> y) const {
    Index m = b.grid(y.size(0));
    b.store(y.at(m), x.load(ids.load(m)));
  }
};
} // namespace

WRONG_PROGRAM { compile(Gather{}, Target::native()); }

// EXPECT: signature-values.cpp:20: error PS1004: the signature "x[N], ids[M] in 0..K-1 -> y[M]" describes the values of `ids`: `K` is neither a size nor a scalar of the kernel
// EXPECT:    20 | WRONG_PROGRAM { compile(Gather{}, Target::native()); }
// EXPECT:       |                 ^
// EXPECT:   help: bounds are sums and products of integers, sizes and scalars, as in "lengths[B] in 1..N"
