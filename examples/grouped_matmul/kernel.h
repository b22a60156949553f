//===- kernel.h - Products of different sizes in one launch -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of A belong to G groups, one after the other; group g has Rows[g] of
// them and a matrix B[g] of its own, as the experts of a mixture of experts
// have. How the rows are divided is only known to the device, so one launch
// must serve any division. Shows scalars read from a tensor, variables that
// change in a loop, conditions at run time, and stores of single elements.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_GROUPED_MATMUL_KERNEL_H
#define PENSTOCK_EXAMPLES_GROUPED_MATMUL_KERNEL_H

#include <penstock/tune.h>

namespace examples {
using namespace penstock;

struct GroupedMatmul {
  int block_m = 64, block_n = 128, block_k = 64, stages = 3;
  static constexpr auto signature = "A[T,K], B[G,N,K], Rows[G] in 0..T partition -> C[T,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 3> B, In<i32, 1> Rows, Out<f16, 2> C) const {
    auto [T, K] = A.sizes();
    auto G = B.size(0);
    auto N = B.size(1);

    // A tile of rows must not mix groups, so each group may end in a partial
    // tile. The grid follows from the sizes of the arguments alone; this many
    // tiles are enough for every division, and those left over do nothing.
    auto [bn, tile] = b.grid(ceil_div(N, block_n), ceil_div(T, block_m) + G);

    // Which group does this block's tile belong to? Walk over the groups and
    // count tiles. A Var behaves like a C++ variable, in the loop too.
    auto mine = cast<i32>(tile);
    Var<i32> group(b, -1), row0(b, 0), end(b, 0); // of this block's tile
    Var<i32> tiles(b, 0), rows(b, 0);             // of the groups before g
    for (Index g : b.range(G)) {
      auto count = b.bind("count", Rows.load(g));
      auto groupTiles = (count + (block_m - 1)) / block_m;
      b.when(mine >= tiles && mine < tiles + groupTiles, [&] {
        group = cast<i32>(g);
        row0 = rows + (mine - tiles) * block_m;
        end = rows + count;
      });
      tiles += groupTiles;
      rows += count;
    }
    // Faults are reported by the launch, with this line.
    b.require(rows == T, "the rows of all groups must be the rows of A");

    b.when(group >= 0, [&] {
      auto As = b.shared<f16>(block_m, block_k);
      auto Bs = b.shared<f16>(block_n, block_k);
      auto acc = b.local<f32>(block_m, block_n);

      b.fill(acc, 0);
      for (Index k : b.pipelined(ceil_div(K, block_k), {.num_stages = stages})) {
        b.copy(A.at(row0, k * block_k), As);
        // A tile of two dimensions runs along the last two of the tensor.
        b.copy(B.at(group, bn * block_n, k * block_k), Bs);
        b.gemm(As, transposed(Bs), acc);
      }

      // A copy is clipped at the tensor's edge, but not at the group's: the
      // rows behind it belong to another block, which writes them. So elements
      // are stored one by one, each under its condition.
      b.parallel(block_m, block_n, [&](Index i, Index j) {
        b.when(row0 + i < end && bn * block_n + j < N,
               [&] { b.store(C.at(row0 + i, bn * block_n + j), cast<f16>(b.load(acc, i, j))); });
      });
    });
  }

  static auto space() {
    return Space<GroupedMatmul>()
        .over(&GroupedMatmul::block_m, {64, 128})
        .over(&GroupedMatmul::block_n, {64, 128, 256})
        .over(&GroupedMatmul::stages, {2, 3, 4});
  }
};

} // namespace examples

#endif // PENSTOCK_EXAMPLES_GROUPED_MATMUL_KERNEL_H
