//===- kernel.h - Rows of a table, chosen by an index tensor ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An embedding lookup, Y[i] = Table[Ids[i]]. Shows indices that differ for each
// element of an expression, and why masks belong around an index.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_GATHER_KERNEL_H
#define PENSTOCK_EXAMPLES_GATHER_KERNEL_H

#include <penstock/tune.h>

namespace examples {
using namespace penstock;

struct Gather {
  int block_m = 32, block_n = 128;
  static constexpr auto signature = "Table[V,D], Ids[M] -> Y[M,D]";

  void operator()(Block &b, In<f16, 2> Table, In<i32, 1> Ids, Out<f16, 2> Y) const {
    auto [M, D] = Y.sizes();
    auto [bn, bm] = b.grid(ceil_div(D, block_n), ceil_div(M, block_m));
    Index m0 = bm * block_m, n0 = bn * block_n;

    auto ids = b.local<i32>(block_m);
    auto y = b.local<f16>(block_m, block_n);
    b.copy(Ids.at(m0), ids);

    // gather() reads the element at the given indices, for each element of y.
    // Unlike a copy it is not clipped: reading outside of the table is a fault
    // that the launch reports, so a wrong id is found and not hidden. The
    // tile's own elements outside of Y must therefore be led to a valid index;
    // what they read is dropped by the last copy.
    auto column = col(y) + n0;
    auto id = cast<index_t>(broadcast_rows(ids)); // ids outside of Ids were read as zero
    b.set(y, Table.gather(id, where(column < D, column, 0)));
    b.copy(y, Y.at(m0, n0));
  }

  static auto space() {
    return Space<Gather>()
        .over(&Gather::block_m, {16, 32, 64})
        .over(&Gather::block_n, {32, 64, 128});
  }
};

} // namespace examples

#endif // PENSTOCK_EXAMPLES_GATHER_KERNEL_H
