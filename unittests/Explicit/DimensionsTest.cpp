//===- DimensionsTest.cpp - Boxes along other dimensions of a tensor ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors whose rows are apart by another dimension, as sequences of heads are: rows of
// a tile lie along the first dimension of [M, H, D] and columns along the last.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

enum class By { Tma, Threads };

/// Copies a box of 32 x 64 through shared memory.
template <class From, class To> void copyBox(Block &b, By by, From from, To to) {
  auto tile = b.shared<f16>(32, 64);
  auto [full] = b.mbarrier.alloc<1>({1});
  if (by == By::Tma) {
    b.warp(0, [&] {
      b.elect_one([&] { b.mbarrier.arrive_expect(full, tile.bytes()); });
      b.tma.load(from, tile, full);
    });
    b.mbarrier.wait(full, 0);
  } else {
    b.cp_async.load(from, tile);
    b.cp_async.commit_group();
    b.cp_async.wait_group(0);
    b.fence.proxy_async();
    b.sync();
  }
  b.warp(0, [&] {
    b.tma.store(tile, to);
    b.tma.commit_group();
    b.tma.wait_group(0);
  });
}

/// Copies X to Y, head by head, by engines or by threads.
struct Heads {
  By by = By::Tma;
  void operator()(Block &b, In<f16, 3> X, Out<f16, 3> Y) const {
    auto [bm, h] = b.grid(ceil_div(X.size(0), 32), X.size(1));
    auto m0 = bm * 32;
    b.threads(128);
    copyBox(b, by, X.at(m0, h, 0).dims(0, 2), Y.at(m0, h, 0).dims(0, 2));
  }
};

TEST(Dimensions, RowsMayBeApartByHeads) {
  for (By by : {By::Tma, By::Threads}) {
    auto compiled = try_compile(Heads{by}, Target::sm_90a().emulated());
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    int64_t m = 70, heads = 3, d = 56; // edges along both dimensions
    std::vector<f16> x(size_t(m * heads * d)), y(x.size(), f16(-77));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = f16(float(i % 2000));
    for (Timing timing : timings) {
      LaunchOptions options{.completion = timing.completion, .seed = timing.seed};
      auto found =
          compiled.kernel.try_launch(options, view(x, {m, heads, d}), view(y, {m, heads, d}));
      EXPECT_TRUE(found.empty()) << to_text(found);
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(float(y[i]), float(x[i])) << i;
    }
  }
}

/// Copies rows of X from a place on that does not fit into 32 bits.
struct FarRows {
  By by = By::Tma;
  int64_t row = 0;
  void operator()(Block &b, In<f16, 2> X, Out<f16, 2> Y) const {
    b.grid(1);
    b.threads(128);
    copyBox(b, by, X.at(row, 0), Y.at(0, 0));
  }
};

TEST(Dimensions, PlacesFarOutsideDoNotComeBackInside) {
  std::vector<f16> x(32 * 64, f16(3)), y(x.size());
  for (By by : {By::Tma, By::Threads})
    for (int64_t row : {int64_t(1) << 32, -(int64_t(1) << 32), std::numeric_limits<int64_t>::max(),
                        std::numeric_limits<int64_t>::min()}) {
      auto compiled = try_compile(FarRows{by, row}, Target::sm_90a().emulated());
      ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
      std::fill(y.begin(), y.end(), f16(-77));
      auto found = compiled.kernel.try_launch({}, view(x, {32, 64}), view(y, {32, 64}));
      EXPECT_TRUE(found.empty()) << to_text(found);
      EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](f16 e) { return float(e) == 0; })) << row;
    }
}

/// A product for each head, which the compiler divides.
struct Projection {
  int row_dim = 0;
  void operator()(Block &b, In<f16, 3> A, In<f16, 2> B, Out<f32, 3> C) const {
    auto [bm, h] = b.grid(ceil_div(A.size(0), 128), A.size(1));
    auto As = b.shared<f16>(128, 32), Bs = b.shared<f16>(64, 32);
    auto acc = b.local<f32>(128, 64);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(A.size(2), 32), {.num_stages = 3})) {
      b.copy(A.at(bm * 128, h, k * 32).dims(row_dim, 2), As);
      b.copy(B.at(0, k * 32), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(bm * 128, h, 0).dims(row_dim, 2));
  }
};

TEST(Dimensions, TileProgramsMayNameThem) {
  for (Target target : {Target::sm_90a().emulated(), Target::sm_100a().emulated()})
    for (int64_t k : {64, 45}) { // by engines, and by threads
      auto compiled = try_compile(Projection{}, target);
      ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
      int64_t m = 130, heads = 2, n = 64;
      std::vector<f16> a(size_t(m * heads * k)), b(size_t(n * k));
      for (size_t i = 0; i < a.size(); ++i)
        a[i] = f16(float(int(i * 7 % 5) - 2));
      for (size_t i = 0; i < b.size(); ++i)
        b[i] = f16(float(int(i * 3 % 5) - 2));
      std::vector<float> c(size_t(m * heads * n), -77);
      auto found = compiled.kernel.try_launch({}, view(a, {m, heads, k}), view(b, {n, k}),
                                              view(c, {m, heads, n}));
      EXPECT_TRUE(found.empty()) << to_text(found);
      for (int64_t row = 0; row < m * heads; ++row)
        for (int64_t j = 0; j < n; ++j) {
          float sum = 0;
          for (int64_t l = 0; l < k; ++l)
            sum += float(a[size_t(row * k + l)]) * float(b[size_t(j * k + l)]);
          ASSERT_EQ(c[size_t(row * n + j)], sum) << row << ", " << j;
        }
    }
}

TEST(Dimensions, ElementsOfARowAreNeighbors) {
  auto refuse = [](auto body, const char *mark) {
    expectRefused(
        [body](Block &b, In<f16, 3> X, Out<f16, 3> Y) {
          b.threads(128);
          auto tile = b.shared<f16>(32, 64);
          auto [full] = b.mbarrier.alloc<1>({1});
          body(b, X, Y, tile, full);
        },
        Target::sm_90a(), {1602, mark}, __FILE__);
  };
  refuse([](Block &b, auto &X, auto &, auto &tile,
            auto &full) { b.tma.load(X.at(0, 0, 0).dims(2, 0), tile, full); }, // [turned]
         "turned");
  refuse([](Block &b, auto &, auto &Y, auto &tile,
            auto &) { b.tma.store(tile, Y.at(0, 0, 0).dims(0, 1)); }, // [not the last]
         "not the last");
  refuse([](Block &b, auto &X, auto &, auto &tile,
            auto &) { b.cp_async.load(X.at(0, 0, 0).dims(2), tile); }, // [one]
         "one");
}

} // namespace
