//===- CopiesTest.cpp - Kinds of copies -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Boxes of tensors with more dimensions than tiles, hints for the cache, stores
// that add, copies of threads in smaller pieces, and barriers that wait for them.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

Target hopper() { return Target::sm_90a().emulated(); }
Target blackwell() { return Target::sm_100a().emulated(); }

LaunchOptions with(Timing timing) { return {.completion = timing.completion, .seed = timing.seed}; }

/// A product for each pair of the two leading dimensions.
struct BatchedMatmul {
  int block_m = 64, block_n = 32, block_k = 32;
  static constexpr auto signature = "A[P,Q,M,K], B[P,Q,N,K] -> C[P,Q,M,N]";
  void operator()(Block &b, In<f16, 4> A, In<f16, 4> B, Out<f16, 4> C) const {
    auto K = A.size(3), Q = A.size(1);
    auto [bm, bn, batch] =
        b.grid(ceil_div(A.size(2), block_m), ceil_div(B.size(2), block_n), A.size(0) * Q);
    auto p = batch / max(Q, 1), q = batch % max(Q, 1), m0 = bm * block_m, n0 = bn * block_n;
    b.threads(128);
    auto As = b.shared<f16>(block_m, block_k), Bs = b.shared<f16>(block_n, block_k);
    auto Cs = b.shared<f16>(block_m, block_n);
    auto acc = b.local<f32>(block_m, block_n);
    auto [full] = b.mbarrier.alloc<1>({1});
    Var<unsigned> phase(b, 0);
    b.fill(acc, 0);
    for (Index k : b.range(ceil_div(K, block_k))) {
      b.warp(0, [&] {
        b.elect_one([&] { b.mbarrier.arrive_expect(full, As.bytes() + Bs.bytes()); });
        b.tma.load(A.at(p, q, m0, k * block_k), As, full, {.cache = EvictFirst});
        b.tma.load(B.at(p, q, n0, k * block_k), Bs, full, {.cache = EvictLast});
      });
      b.mbarrier.wait(full, phase);
      b.wgmma.fence();
      b.wgmma.mma(As, transposed(Bs), acc);
      b.wgmma.commit_group();
      b.wgmma.wait_group(0);
      b.sync();
      phase ^= 1u;
    }
    b.store(Cs, cast<f16>(acc));
    b.fence.proxy_async();
    b.sync();
    b.tma.store(Cs, C.at(p, q, m0, n0), {.cache = EvictNormal});
    b.tma.commit_group();
    b.tma.wait_group(0);
  }
};

TEST(BatchedCopies, MultiplyEveryPairOfMatrices) {
  const int64_t P = 2, Q = 3, M = 72, N = 40, K = 48;
  std::vector<f16> a(size_t(P * Q * M * K)), b(size_t(P * Q * N * K)),
      c(size_t(P * Q * M * N), f16(-77));
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = f16(float(int(i * 7 % 5) - 2));
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = f16(float(int(i * 3 % 7) - 3));
  auto kernel = compile(BatchedMatmul{}, hopper());
  auto found =
      kernel.try_launch({}, view(a, {P, Q, M, K}), view(b, {P, Q, N, K}), view(c, {P, Q, M, N}));
  EXPECT_TRUE(found.empty()) << to_text(found);
  int64_t wrong = 0;
  for (int64_t batch = 0; batch < P * Q; ++batch)
    for (int64_t i = 0; i < M; ++i)
      for (int64_t j = 0; j < N; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < K; ++k)
          sum +=
              float(a[size_t((batch * M + i) * K + k)]) * float(b[size_t((batch * N + j) * K + k)]);
        wrong += float(c[size_t((batch * M + i) * N + j)]) != float(f16(sum));
      }
  EXPECT_EQ(wrong, 0);
}

TEST(CacheHints, AreInTheCode) {
  std::string text = compile(BatchedMatmul{}, Target::sm_90a()).ptx();
  for (const char *policy : {"evict_first", "evict_last", "evict_normal"})
    EXPECT_NE(text.find(std::string("createpolicy.fractional.L2::") + policy), std::string::npos);
  EXPECT_NE(text.find("complete_tx::bytes.L2::cache_hint"), std::string::npos);
  EXPECT_NE(text.find("bulk_group.L2::cache_hint"), std::string::npos);
  expectAssembled(BatchedMatmul{}, Target::sm_90a());
}

/// Every block adds its tile of A to the one tile of C.
struct AddUp {
  bool fenced = true;
  static constexpr auto signature = "A[M,N] -> C[T,N]";
  void operator()(Block &b, In<f32, 2> A, InOut<f32, 2> C) const {
    auto block = b.grid(ceil_div(A.size(0), 32));
    b.threads(64);
    auto tile = b.shared<f32>(32, 32);
    auto own = b.local<f32>(32, 32);
    b.copy(A.at(block * 32, 0), own);
    b.store(tile, own * 2); // [write tile]
    if (fenced)
      b.fence.proxy_async();
    b.sync();
    b.tma.reduce(Sum, tile, C.at(0, 0)); // [add]
    b.tma.commit_group();
    b.tma.wait_group(0);
  }
};

TEST(ReducingStores, AddWhatBlocksHave) {
  std::vector<float> a(5 * 32 * 32), before(32 * 32);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(i % 97);
  for (size_t i = 0; i < before.size(); ++i)
    before[i] = float(i);
  for (Target target : {hopper(), blackwell()}) {
    auto kernel = compile(AddUp{}, target);
    for (Timing timing : timings) {
      std::vector<float> c = before;
      auto found = kernel.try_launch(with(timing), view(a, {160, 32}), view(c, {32, 32}));
      EXPECT_TRUE(found.empty()) << timing.name << "\n" << to_text(found);
      int wrong = 0;
      for (size_t i = 0; i < c.size(); ++i) {
        float sum = before[i];
        for (size_t block = 0; block < 5; ++block)
          sum += 2 * a[block * 1024 + i];
        wrong += c[i] != sum;
      }
      EXPECT_EQ(wrong, 0) << timing.name;
    }
  }
  expectAssembled(AddUp{}, Target::sm_90a());
}

TEST(ReducingStores, NeedTheProxyFence) {
  std::vector<float> a(32 * 32), c(32 * 32);
  auto found = compile(AddUp{.fenced = false}, hopper())
                   .try_launch({}, view(a, {32, 32}), view(c, {32, 32}));
  expectFinding(found, {2102, "add", "write tile"}, __FILE__);
}

/// A box of 24 x `cols` elements, from row 2 and column 4 of one matrix of many.
template <class T> struct Pieces {
  int64_t cols = 16, bytes = 16, matrix = 1;
  bool l1 = false;
  void operator()(Block &b, In<T, 3> A, Out<T, 2> C) const {
    b.grid(1);
    b.threads(64);
    auto tile = b.shared<T>(24, cols);
    auto own = b.local<T>(24, cols);
    b.cp_async.load(A.at(matrix, 2, 4), tile, {.bytes = bytes, .l1 = l1});
    b.cp_async.commit_group();
    b.cp_async.wait_group(0);
    b.sync();
    b.copy(tile, own);
    b.copy(own, C.at(0, 0));
  }
};

/// Of 3 matrices of 20 x `width` elements; what lies outside reads as zero.
template <class T> void expectPieces(Pieces<T> kernel, int64_t width, const char *name) {
  SCOPED_TRACE(name);
  std::vector<T> a(size_t(3 * 20 * width)), c(size_t(24 * kernel.cols), T(-1));
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = T(float(i % 2000 + 1));
  auto compiled = compile(kernel, hopper(), {.name = name});
  auto found = compiled.try_launch({}, view(a, {3, 20, width}), view(c, {24, kernel.cols}));
  EXPECT_TRUE(found.empty()) << to_text(found);
  int64_t wrong = 0;
  for (int64_t i = 0; i < 24; ++i)
    for (int64_t j = 0; j < kernel.cols; ++j) {
      bool inside = kernel.matrix < 3 && i + 2 < 20 && j + 4 < width;
      float expected = inside ? float(a[size_t((kernel.matrix * 20 + i + 2) * width + j + 4)]) : 0;
      wrong += float(c[size_t(i * kernel.cols + j)]) != expected;
    }
  EXPECT_EQ(wrong, 0);
  if (find_assembler().empty())
    return;
  Assembled code = assemble(compiled.ptx(), Target::sm_90a());
  EXPECT_TRUE(code.diagnostics.empty()) << to_text(code.diagnostics);
}

TEST(PiecesOfThreads, HaveFourEightOrSixteenBytes) {
  expectPieces(Pieces<float>{}, 20, "f32_16");
  expectPieces(Pieces<float>{.l1 = true}, 20, "f32_16_l1");
  expectPieces(Pieces<float>{.cols = 6, .bytes = 8}, 18, "f32_8");
  expectPieces(Pieces<float>{.cols = 5, .bytes = 4}, 7, "f32_4");
  expectPieces(Pieces<f16>{.cols = 12, .bytes = 8}, 20, "f16_8");
  expectPieces(Pieces<f16>{.cols = 10, .bytes = 4}, 18, "f16_4");
}

// The first matrix after the last one.
TEST(PiecesOfThreads, OutsideOfLeadingDimensionsAreZero) {
  expectPieces(Pieces<float>{.matrix = 3}, 20, "f32_outside");
}

TEST(PiecesOfThreads, NeedRowsThatAreMultiples) {
  auto compiled = compile(Pieces<f16>{.cols = 10, .bytes = 4}, hopper(), {.name = "rows"});
  std::vector<f16> a(3 * 20 * 19), c(24 * 10);
  auto found = compiled.try_launch({}, view(a, {3, 20, 19}), view(c, {24, 10}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, 1608u);
}

enum class Arriving { None, ThreadArrives, NoWait };

/// One warpgroup copies tiles in pieces, another adds them up.
struct CopyRing {
  Arriving bug = Arriving::None;
  static constexpr auto signature = "A[M,N] -> C[T,N]";
  void operator()(Block &b, In<f32, 2> A, Out<f32, 2> C) const {
    auto tiles = ceil_div(A.size(0), 32);
    b.grid(1);
    b.threads(256);
    const int slots = 2;
    auto ring = b.shared<f32>(slots, 32, 32);
    auto full = b.mbarrier.alloc(slots, 128), empty = b.mbarrier.alloc(slots, 128);
    b.warps(0, 4, [&] {
      Var<int> slot(b, 0);
      Var<unsigned> phase(b, mbarrier::producer_phase);
      for (Index i : b.range(tiles)) {
        b.mbarrier.wait(empty[slot], phase);
        b.cp_async.load(A.at(i * 32, 0), ring[slot]); // [copy]
        if (bug == Arriving::ThreadArrives)
          b.mbarrier.arrive(full[slot]);
        else
          b.cp_async.arrive(full[slot]);
        slot = (slot + 1) % slots;
        phase ^= slot == 0;
      }
      b.cp_async.commit_group();
      b.cp_async.wait_group(0);
    });
    b.warps(4, 4, [&] {
      auto sum = b.local<f32>(32, 32), next = b.local<f32>(32, 32);
      b.fill(sum, 0);
      Var<int> slot(b, 0);
      Var<unsigned> phase(b, mbarrier::consumer_phase);
      for ([[maybe_unused]] Index i : b.range(tiles)) {
        if (bug != Arriving::NoWait)
          b.mbarrier.wait(full[slot], phase);
        b.copy(ring[slot], next); // [read]
        b.mbarrier.arrive(empty[slot]);
        b.set(sum, sum + next);
        slot = (slot + 1) % slots;
        phase ^= slot == 0;
      }
      b.copy(sum, C.at(0, 0));
    });
  }
};

TEST(ArrivalsOfCopies, TellWhenTilesAreThere) {
  std::vector<float> a(6 * 1024), c(1024);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(i % 89);
  auto kernel = compile(CopyRing{}, hopper());
  for (Timing timing : timings) {
    auto found = kernel.try_launch(with(timing), view(a, {192, 32}), view(c, {32, 32}));
    EXPECT_TRUE(found.empty()) << timing.name << "\n" << to_text(found);
    int wrong = 0;
    for (size_t i = 0; i < c.size(); ++i) {
      float sum = 0;
      for (size_t tile = 0; tile < 6; ++tile)
        sum += a[tile * 1024 + i];
      wrong += c[i] != sum;
    }
    EXPECT_EQ(wrong, 0) << timing.name;
  }
  expectAssembled(CopyRing{}, Target::sm_90a());
}

TEST(ArrivalsOfCopies, AreNotThoseOfThreads) {
  for (Arriving bug : {Arriving::ThreadArrives, Arriving::NoWait}) {
    std::vector<float> a(6 * 1024), c(1024);
    expectRefused(CopyRing{.bug = bug}, hopper(), {1612, "read", "copy"}, __FILE__);
    auto kernel = compile(CopyRing{.bug = bug}, hopper(), {.check_barriers = false});
    for (Timing timing : timings) {
      auto found = kernel.try_launch(with(timing), view(a, {192, 32}), view(c, {32, 32}));
      expectFinding(found, {2101, "read", "copy"}, __FILE__);
    }
  }
}

} // namespace
