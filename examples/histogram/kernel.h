//===- kernel.h - Counting with atomics -------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts how often each number 0 .. B-1 occurs; others are ignored. Shows
// atomics on a tile and on a tensor, and a body for single elements.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_HISTOGRAM_KERNEL_H
#define PENSTOCK_EXAMPLES_HISTOGRAM_KERNEL_H

#include <penstock/tune.h>

namespace examples {
using namespace penstock;

struct Histogram {
  // A block counts `block` numbers; `bins` is the largest B that it can serve.
  int block = 4096, bins = 256;
  static constexpr auto signature = "X[N] in -1..B -> Counts[B]";

  // Counts is added to, so it is InOut and the caller sets it to zero.
  void operator()(Block &b, In<i32, 1> X, InOut<i32, 1> Counts) const {
    Index i0 = b.grid(ceil_div(X.size(0), block)) * block;
    auto B = Counts.size(0);
    b.require(B <= bins, "the kernel was compiled for fewer bins");

    // Each block counts for itself first: atomics on memory that all blocks
    // share are slow when many of them meet.
    auto x = b.local<i32>(block);
    auto counts = b.shared<i32>(bins);
    b.fill(counts, 0);
    b.copy(X.at(i0), x, {.fill = -1}); // outside of X: nothing to count

    // The bodies of parallel() run in any order and at the same time, so two of
    // them that meet at one counter need an atomic.
    b.parallel(block, [&](Index i) {
      auto value = b.load(x, i);
      b.when(value >= 0 && value < bins, [&] { b.atomic(Add, counts, value, 1); });
    });
    b.parallel(bins, [&](Index j) {
      auto count = b.load(counts, j);
      b.when(j < B && count != 0, [&] { b.atomic(Add, Counts.at(j), count); });
    });
  }

  static auto space() { return Space<Histogram>().over(&Histogram::block, {256, 1024, 4096}); }
};

} // namespace examples

#endif // PENSTOCK_EXAMPLES_HISTOGRAM_KERNEL_H
