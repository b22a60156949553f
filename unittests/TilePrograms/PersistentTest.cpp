//===- PersistentTest.cpp - Pipelined loops inside of a loop over tiles ---===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks that compute several tiles: rings stay open between two of them, and on
// Blackwell an epilogue reads one accumulator while the next tile fills another one.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

using namespace penstock;
using namespace programs;

namespace {

/// Each block computes every \p Blocks-th tile. The depth of a tile may differ from that of
/// the tile before, and be 0.
template <int Blocks, bool Uneven> struct Persistent {
  static constexpr auto signature = "A[M,K], B[N,K], bias[N] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, In<f32, 1> bias, Out<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto columns = ceil_div(B.size(0), 64);
    auto tiles = ceil_div(M, 128) * columns;
    auto block = b.grid(Blocks);
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(64, 64);
    auto acc = b.local<f32>(128, 64);
    auto added = b.local<f32>(64);
    for (Index t : b.range(block, tiles, Blocks)) {
      Index m0 = t / columns * 128, n0 = t % columns * 64;
      auto steps = ceil_div(K, 64);
      b.fill(acc, 0);
      for (Index k : b.pipelined(Uneven ? min(steps, t % 4) : steps, {.num_stages = 3})) {
        b.copy(A.at(m0, k * 64), As);
        b.copy(B.at(n0, k * 64), Bs);
        b.gemm(As, transposed(Bs), acc);
      }
      b.copy(bias.at(n0), added);
      b.set(acc, acc + broadcast_cols(added));
      b.copy(acc, C.at(m0, n0));
    }
  }
};
using PersistentMatmul = Persistent<2, false>;
using PersistentUneven = Persistent<1, true>;

/// Two pipelined loops for each tile, with rings of their own.
struct PersistentPair {
  static constexpr auto signature = "A[M,K], B[N,K], D[N,K] -> C[M,N], E[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, In<f16, 2> D, Out<f32, 2> C,
                  Out<f32, 2> E) const {
    auto columns = ceil_div(B.size(0), 64);
    auto tiles = ceil_div(A.size(0), 64) * columns;
    auto steps = ceil_div(A.size(1), 64);
    auto block = b.grid(2);
    auto As = b.shared<f16>(64, 64), Bs = b.shared<f16>(64, 64);
    auto Az = b.shared<f16>(64, 64), Ds = b.shared<f16>(64, 64);
    auto acc = b.local<f32>(64, 64), sum = b.local<f32>(64, 64);
    for (Index t : b.range(block, tiles, 2)) {
      Index m0 = t / columns * 64, n0 = t % columns * 64;
      b.fill(acc, 0);
      for (Index k : b.pipelined(steps, {.num_stages = 2})) {
        b.copy(A.at(m0, k * 64), As);
        b.copy(B.at(n0, k * 64), Bs);
        b.gemm(As, transposed(Bs), acc);
      }
      b.copy(acc, C.at(m0, n0));
      b.fill(sum, 0);
      for (Index k : b.pipelined(steps, {.num_stages = 3})) {
        b.copy(A.at(m0, k * 64), Az);
        b.copy(D.at(n0, k * 64), Ds);
        b.gemm(Az, transposed(Ds), sum);
      }
      b.copy(sum, E.at(m0, n0));
    }
  }
};

PENSTOCK_KERNEL(PersistentMatmul);
PENSTOCK_KERNEL(PersistentUneven);
PENSTOCK_KERNEL(PersistentPair);

/// Roles do not meet between two tiles, and on Blackwell there are two accumulators.
TEST(Persistent, RingsStayOpen) {
  auto has = [](const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
  };
  for (const char *name : {"PersistentMatmul", "PersistentUneven", "PersistentPair"}) {
    std::string hopper = planOf(name, "sm_90a"), blackwell = planOf(name, "sm_100a");
    EXPECT_TRUE(has(hopper, "rings stay open")) << hopper;
    EXPECT_TRUE(has(blackwell, "rings stay open")) << blackwell;
    EXPECT_TRUE(has(blackwell, "mma: leader wait after epilogue of acc distance 2")) << blackwell;
    EXPECT_TRUE(has(blackwell, "compute: wait done products into acc distance 0")) << blackwell;
    for (const std::string &text : {hopper, blackwell})
      EXPECT_TRUE(has(text, "are right for 0 to")) << text;
  }
}

TEST(Persistent, IsRight) {
  for (int64_t k : {0, 8, 64, 128, 192, 264})
    expectSameEverywhere("PersistentMatmul", {{{"M", 260}, {"N", 136}, {"K", k}}});
  expectSameEverywhere("PersistentMatmul", {{{"M", 8}, {"N", 8}, {"K", 64}}});
  expectSameEverywhere("PersistentUneven", {{{"M", 300}, {"N", 200}, {"K", 200}},
                                            {{"M", 300}, {"N", 200}, {"K", 64}},
                                            {{"M", 128}, {"N", 64}, {"K", 128}}});
  for (int64_t k : {0, 64, 200})
    expectSameEverywhere("PersistentPair", {{{"M", 130}, {"N", 136}, {"K", k}}});
}

} // namespace
