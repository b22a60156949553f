//===- CopyKernel.h - A small kernel that can be broken ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TMA brings a tile to shared memory and takes it away again. Fields break it in
// ways that the tests expect to be found.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_SOUNDNESS_COPYKERNEL_H
#define PENSTOCK_UNITTESTS_SOUNDNESS_COPYKERNEL_H

#include "penstock/penstock.h"

namespace copying {
using namespace penstock;

inline constexpr unsigned loadLine = __LINE__ + 18, storeLine = __LINE__ + 21;
struct Copy {
  int block_m = 32, block_n = 32;
  bool wait = true;          ///< for the tile to be there
  bool shifted = false;      ///< takes the tile from another place
  bool useless_sync = false; ///< a barrier that orders nothing
  bool rare_sync = false;    ///< a barrier for many rows only
  static constexpr auto signature = "A[M,N] -> C[M,N]";

  void operator()(Block &b, In<f32, 2> A, Out<f32, 2> C) const {
    auto [M, N] = A.sizes();
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n));
    auto m0 = bm * block_m, n0 = bn * block_n;
    b.threads(64);
    auto tile = b.shared<f32>(block_m, block_n);
    auto [loaded] = b.mbarrier.alloc<1>({1});
    b.warp(0, [&] {
      b.elect_one([&] { b.mbarrier.arrive_expect(loaded, tile.bytes()); });
      b.tma.load(A.at(m0, n0 + (shifted ? 8 : 0)), tile, loaded);
      if (wait)
        b.mbarrier.wait(loaded, 0);
      b.tma.store(tile, C.at(m0, n0));
      b.tma.commit_group();
      b.tma.wait_group(0);
    });
    if (useless_sync)
      b.sync();
    if (rare_sync)
      b.when(M > 1000, [&] { b.sync(); });
  }
};

/// The same without a word on how.
struct CopyProgram {
  static constexpr auto signature = "A[M,N] -> C[M,N]";
  void operator()(Block &b, In<f32, 2> A, Out<f32, 2> C) const {
    auto [M, N] = A.sizes();
    auto [bm, bn] = b.grid(ceil_div(M, 32), ceil_div(N, 32));
    auto tile = b.local<f32>(32, 32);
    b.copy(A.at(bm * 32, bn * 32), tile);
    b.copy(tile, C.at(bm * 32, bn * 32));
  }
};

inline void copyOnHost(TensorView<const f32, 2> A, TensorView<f32, 2> C) {
  for (int64_t m = 0; m < A.sizes[0]; ++m)
    for (int64_t n = 0; n < A.sizes[1]; ++n)
      C.data[m * C.strides[0] + n] = A.data[m * A.strides[0] + n];
}

} // namespace copying

#endif // PENSTOCK_UNITTESTS_SOUNDNESS_COPYKERNEL_H
