//===- MemoryTest.cpp - Tiles that take the memory of others --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rings of a loop are not used after it. Tiles that are used only after it take
// their memory, so that programs compile whose tiles do not fit side by side.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

using namespace penstock;
using namespace programs;

namespace {

/// 224 KiB of rings. A block has 227 KiB, and 32 KiB more are needed after the loop.
struct MatmulThenTranspose {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[N,M]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [bm, bn] = b.grid(ceil_div(A.size(0), 128), ceil_div(B.size(0), 128));
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(128, 64);
    auto turned = b.shared<f16>(128, 128);
    auto acc = b.local<f32>(128, 128);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(A.size(1), 64), {.num_stages = 7})) {
      b.copy(A.at(bm * 128, k * 64), As);
      b.copy(B.at(bn * 128, k * 64), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, turned);
    b.copy(transposed(turned), C.at(bn * 128, bm * 128));
  }
};

/// The tile after the loop is loaded from a tensor, by threads or by an engine.
struct MatmulThenBias {
  static constexpr auto signature = "A[M,K], B[N,K], D[M,N] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, In<f16, 2> D, Out<f16, 2> C) const {
    auto [bm, bn] = b.grid(ceil_div(A.size(0), 128), ceil_div(B.size(0), 128));
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(128, 64);
    auto bias = b.shared<f16>(128, 128);
    auto acc = b.local<f32>(128, 128);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(A.size(1), 64), {.num_stages = 7})) {
      b.copy(A.at(bm * 128, k * 64), As);
      b.copy(B.at(bn * 128, k * 64), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(D.at(bm * 128, bn * 128), bias);
    b.set(acc, acc + cast<f32>(bias));
    b.copy(acc, C.at(bm * 128, bn * 128));
  }
};

/// A tile that the loop reads and the code after it, too, keeps its memory.
struct MatmulWithBiasInLoop {
  static constexpr auto signature = "A[M,K], B[N,K], D[M,N] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, In<f16, 2> D, Out<f16, 2> C) const {
    auto [bm, bn] = b.grid(ceil_div(A.size(0), 128), ceil_div(B.size(0), 128));
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(128, 64);
    auto bias = b.shared<f16>(128, 128);
    auto acc = b.local<f32>(128, 128);
    b.fill(acc, 0);
    b.copy(D.at(bm * 128, bn * 128), bias);
    for (Index k : b.pipelined(ceil_div(A.size(1), 64), {.num_stages = 3})) {
      b.copy(A.at(bm * 128, k * 64), As);
      b.copy(B.at(bn * 128, k * 64), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.set(acc, acc + cast<f32>(bias));
    b.copy(acc, C.at(bm * 128, bn * 128));
  }
};

PENSTOCK_KERNEL(MatmulThenTranspose);
PENSTOCK_KERNEL(MatmulThenBias);
PENSTOCK_KERNEL(MatmulWithBiasInLoop);

const std::vector<Shape> shapes = {{{"M", 256}, {"N", 128}, {"K", 512}},
                                   {{"M", 136}, {"N", 96}, {"K", 1080}},
                                   {{"M", 128}, {"N", 128}, {"K", 0}},
                                   {{"M", 99}, {"N", 41}, {"K", 67}}};

} // namespace

TEST(Memory, ATileTakesThatOfRings) {
  for (const char *gpu : {"sm_90a", "sm_100a"}) {
    std::string text = planOf("MatmulThenTranspose", gpu);
    EXPECT_NE(text.find("`turned` shares memory with"), std::string::npos) << text;
  }
  expectSameEverywhere("MatmulThenTranspose", shapes);
}

TEST(Memory, ATileThatIsLoadedTakesThatOfRings) { expectSameEverywhere("MatmulThenBias", shapes); }

TEST(Memory, ATileThatIsUsedBeforeKeepsItsOwn) {
  std::string text = planOf("MatmulWithBiasInLoop", "sm_90a");
  EXPECT_EQ(text.find("`bias` shares memory"), std::string::npos) << text;
  EXPECT_EQ(text.find("shares memory with `bias`"), std::string::npos) << text;
  expectSameEverywhere("MatmulWithBiasInLoop", shapes);
}
