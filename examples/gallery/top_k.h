//===- top_k.h - The largest elements of each row ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_GALLERY_TOP_K_H
#define PENSTOCK_EXAMPLES_GALLERY_TOP_K_H

#include <penstock/penstock.h>

namespace gallery {
using namespace penstock;

/// Values in decreasing order, and their columns; of equal values the first column comes first.
struct TopK {
  int rows = 4, columns = 1024; // columns: the longest row
  static constexpr auto signature = "x[R,C] -> values[R,K], indices[R,K]";

  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> values, Out<i32, 2> indices) const {
    auto [R, C] = x.sizes();
    auto K = values.size(1);
    b.require(C <= columns && K <= C, "a row is longer than the tile, or shorter than K");
    Index first = b.grid(ceil_div(R, rows)) * rows;
    auto t = b.local<f32>(rows, columns);
    auto at = b.local<i32>(rows, columns);
    auto top = b.local<f32>(rows);
    auto index = b.local<i32>(rows);
    auto taken = b.local<i32>(rows, columns);
    b.copy(x.at(first, 0), t, {.fill = -infinity});
    b.fill(taken, 1);
    b.set(taken, where(col(taken) < C, taken - 1, taken));
    for (Index k : b.range(K)) {
      // Rows may hold -infinity themselves: what was taken is marked apart.
      b.set(t, where(taken > 0, -infinity, t));
      b.reduce(Max, t, 1, top);
      b.set(at, where(taken == 0 && t == broadcast_rows(top), cast<i32>(col(at)), columns));
      b.reduce(Min, at, 1, index);
      b.set(taken, where(cast<i32>(col(taken)) == broadcast_rows(index), 1, taken));
      b.copy(top, values.at(first, k).dims(0));
      b.copy(index, indices.at(first, k).dims(0));
    }
  }
};

} // namespace gallery

#endif // PENSTOCK_EXAMPLES_GALLERY_TOP_K_H
