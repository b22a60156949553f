//===- kernel.h - A matmul whose blocks compute several tiles ---*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One block for each multiprocessor, and a loop over the tiles of each block. On a
// GPU the next tile is loaded, and on Blackwell multiplied, while this one is stored.
//
//===----------------------------------------------------------------------===//
#ifndef EXAMPLES_PERSISTENT_MATMUL_KERNEL_H
#define EXAMPLES_PERSISTENT_MATMUL_KERNEL_H

#include <penstock/tune.h>

namespace examples {
using namespace penstock;

struct PersistentMatmul {
  int blocks = 132; // multiprocessors of an H100; a B200 has 148
  int block_m = 128, block_n = 128, block_k = 64, stages = 4;
  int pair = 0; // 1: two blocks, one tile below the other, multiply as one on Blackwell
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto columns = ceil_div(B.size(0), block_n);
    const int members = pair ? 2 : 1, teams = std::max(blocks / members, 1);
    auto tiles = ceil_div(M, members * block_m) * columns; // of a team
    auto [member, team] = b.grid(members, min(tiles, teams));
    b.prefer({.pair = pair != 0});

    auto As = b.shared<f16>(block_m, block_k), Bs = b.shared<f16>(block_n, block_k);
    auto acc = b.local<f32>(block_m, block_n);
    for (Index tile : b.range(team, tiles, teams)) {
      Index m0 = (tile / columns * members + member) * block_m, n0 = tile % columns * block_n;
      b.fill(acc, 0);
      for (Index k : b.pipelined(ceil_div(K, block_k), {.num_stages = stages})) {
        b.copy(A.at(m0, k * block_k), As);
        b.copy(B.at(n0, k * block_k), Bs);
        b.gemm(As, transposed(Bs), acc);
      }
      b.copy(acc, C.at(m0, n0)); // under the next tile's loads and products
    }
  }

  static auto space() {
    return Space<PersistentMatmul>()
        .over(&PersistentMatmul::block_m, {64, 128})
        .over(&PersistentMatmul::block_n, {64, 128, 256})
        .over(&PersistentMatmul::stages, {3, 4, 5});
  }
};

} // namespace examples

#endif // EXAMPLES_PERSISTENT_MATMUL_KERNEL_H
