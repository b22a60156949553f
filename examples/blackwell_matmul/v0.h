//===- v0.h - The tensor core, fed by threads --------------------- -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The simplest kernel that uses the tensor core: all threads copy a tile with
// cp.async, one thread multiplies, all wait; the result goes from registers
// straight to memory.
//
//===----------------------------------------------------------------------===//
#ifndef EXAMPLES_BLACKWELL_MATMUL_V0_H
#define EXAMPLES_BLACKWELL_MATMUL_V0_H

#include <penstock/penstock.h>
#include <penstock/tune.h>

namespace blackwell {
using namespace penstock;

struct MatmulV0 {
  int block_m = 128, block_n = 64, block_k = 32;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n));
    auto m0 = bm * block_m, n0 = bn * block_n;

    b.threads(128);
    auto As = b.shared<f16>(block_m, block_k), Bs = b.shared<f16>(block_n, block_k);
    auto acc = b.tcgen05.alloc<f32>(block_m, block_n);
    auto [done] = b.mbarrier.alloc<1>({1});
    Var<unsigned> phase(b, 0);

    for (Index k0 : b.range(0, K, block_k)) {
      b.cp_async.load(A.at(m0, k0), As);
      b.cp_async.load(B.at(n0, k0), Bs);
      b.cp_async.commit_group();
      b.cp_async.wait_group(0);
      b.fence.proxy_async(); // threads wrote what the tensor core reads
      b.sync();
      b.warp(0, [&] {
        b.tcgen05.mma(As, transposed(Bs), acc, {.accumulate = k0 != 0});
        b.tcgen05.commit(done);
      });
      b.mbarrier.wait(done, phase); // the tiles may be written again
      phase ^= 1u;
    }
    b.when(
        K > 0,
        [&] {
          auto all = b.tcgen05.load(acc);
          b.tcgen05.wait_load();
          b.copy(all, C.at(m0, n0));
        },
        [&] {
          auto zeros = b.local<f32>(block_m, block_n);
          b.fill(zeros, 0);
          b.copy(zeros, C.at(m0, n0));
        });
    b.sync();
    b.tcgen05.dealloc(acc);
  }

  static auto space() {
    return Space<MatmulV0>()
        .over(&MatmulV0::block_n, {64, 128, 256})
        .over(&MatmulV0::block_k, {32, 64, 128})
        .classes("M:log2, N, K");
  }
};

} // namespace blackwell

#endif // EXAMPLES_BLACKWELL_MATMUL_V0_H
