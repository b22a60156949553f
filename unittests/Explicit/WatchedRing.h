//===- WatchedRing.h - A ring with a warp that only looks on ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_EXPLICIT_WATCHEDRING_H
#define PENSTOCK_UNITTESTS_EXPLICIT_WATCHEDRING_H

#include <penstock/penstock.h>

namespace watched {
using namespace penstock;

/// C = A, a tile of 32 rows after the other. Warp 1 waits for each tile, too. If slots
/// are given back without it, a phase may pass twice while it is not running: it then
/// waits for ever. That takes a warp that is far behind; round robin keeps it close.
struct WatchedRing {
  bool counted = true; ///< the ring waits for warp 1
  int stages = 3;
  static constexpr auto signature = "A[M,N] -> C[M,N]";

  void operator()(Block &b, In<f32, 2> A, Out<f32, 2> C) const {
    auto tiles = ceil_div(A.size(0), 32);
    b.grid(1);
    b.threads(256);
    auto ring = b.shared<f32>(stages, 32, 32);
    auto full = b.mbarrier.alloc(stages, 1), empty = b.mbarrier.alloc(stages, counted ? 160 : 128);

    b.warp(0, [&] {
      Var<int> s(b, 0);
      Var<unsigned> phase(b, 1);
      for (Index i : b.range(tiles)) {
        b.mbarrier.wait(empty[s], phase); // [space]
        b.elect_one([&] { b.mbarrier.arrive_expect(full[s], ring[0].bytes()); });
        b.tma.load(A.at(i * 32, 0), ring[s], full[s]);
        s = (s + 1) % stages;
        phase ^= s == 0;
      }
    });
    b.warp(1, [&] {
      Var<int> s(b, 0);
      Var<unsigned> phase(b, 0);
      for ([[maybe_unused]] Index i : b.range(tiles)) {
        b.mbarrier.wait(full[s], phase); // [watch]
        if (counted)
          b.mbarrier.arrive(empty[s]);
        s = (s + 1) % stages;
        phase ^= s == 0;
      }
    });
    b.warps(4, 4, [&] {
      Var<int> s(b, 0);
      Var<unsigned> phase(b, 0);
      auto mine = b.local<f32>(32, 32);
      for (Index i : b.range(tiles)) {
        b.mbarrier.wait(full[s], phase);
        b.copy(ring[s], mine);
        b.mbarrier.arrive(empty[s]);
        b.copy(mine, C.at(i * 32, 0));
        s = (s + 1) % stages;
        phase ^= s == 0;
      }
    });
  }
};

} // namespace watched

#endif // PENSTOCK_UNITTESTS_EXPLICIT_WATCHEDRING_H
