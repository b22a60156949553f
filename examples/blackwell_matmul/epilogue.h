//===- epilogue.h - From tensor memory to the result ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The end that V1 to V4 share. All four warps take a slice of the accumulator to
// registers, round it, and put it into shared memory, from where TMA stores it;
// TMA also clips at the edges of C. An empty product is a matrix of zeros: then
// the accumulator has never been written.
//
//===----------------------------------------------------------------------===//
#ifndef EXAMPLES_BLACKWELL_MATMUL_EPILOGUE_H
#define EXAMPLES_BLACKWELL_MATMUL_EPILOGUE_H

#include <penstock/penstock.h>
#include <penstock/tune.h>

namespace blackwell {
using namespace penstock;

inline void storeAccumulator(Block &b, const Tile<f32, 2> &acc, const Tile<f16, 2> &Cs,
                             const Out<f16, 2> &C, const Index &m0, const Index &n0,
                             const Index &K) {
  int64_t rows = acc.extent(0), columns = acc.extent(1), width = Cs.extent(1);
  for (Index n : b.range(0, columns, width)) {
    b.when(
        K > 0,
        [&] {
          auto slab = b.tcgen05.load(slice(acc, {0, n}, {rows, width}));
          b.tcgen05.wait_load();
          b.store(Cs, cast<f16>(slab));
        },
        [&] { b.store(Cs, 0); });
    b.fence.proxy_async(); // what threads wrote is now read by TMA
    b.sync();
    b.warp(0, [&] {
      b.tma.store(Cs, C.at(m0, n0 + n));
      b.tma.commit_group();
      b.tma.wait_group(0, {.read = true});
    });
    b.sync(); // Cs may be written again
  }
}

} // namespace blackwell

#endif // EXAMPLES_BLACKWELL_MATMUL_EPILOGUE_H
