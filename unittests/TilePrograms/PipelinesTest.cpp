//===- PipelinesTest.cpp - Pipelined loops of tile programs ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs that are not plain matmuls, with copies and products in flight. Each
// runs for numbers of iterations from 0 to beyond its stages, and `explain` says
// which engines it got.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

using namespace penstock;
using namespace programs;

namespace {

/// Layer norm in three passes over its rows.
struct NormThreePasses {
  static constexpr auto signature = "x[R,C] -> y[R,C]";
  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto [R, C] = x.sizes();
    auto r0 = b.grid(ceil_div(R, 16)) * 16;
    auto X = b.shared<f32>(16, 32);
    auto D = b.local<f32>(16, 32);
    auto mean = b.local<f32>(16), spread = b.local<f32>(16);
    b.fill(mean, 0);
    b.fill(spread, 0);
    for (Index c : b.pipelined(ceil_div(C, 32), {.num_stages = 3})) {
      b.copy(x.at(r0, c * 32), X);
      b.reduce(Sum, X, 1, mean, {.accumulate = true});
    }
    b.set(mean, mean / cast<f32>(C));
    for (Index c : b.pipelined(ceil_div(C, 32), {.num_stages = 3})) {
      b.copy(x.at(r0, c * 32), X);
      b.statement("squares", [&] {
        b.set(D, where(col(D) + c * 32 < C, X - broadcast_rows(mean), 0));
        b.set(D, D * D);
        b.reduce(Sum, D, 1, spread, {.accumulate = true});
      });
    }
    b.set(spread, sqrt(spread / cast<f32>(C) + 1));
    for (Index c : b.pipelined(ceil_div(C, 32), {.num_stages = 3})) {
      b.copy(x.at(r0, c * 32), X);
      b.set(D, (X - broadcast_rows(mean)) / broadcast_rows(spread));
      b.copy(D, y.at(r0, c * 32));
    }
  }
};

/// A transpose through shared memory, two tiles at a time.
struct TransposePipelined {
  static constexpr auto signature = "x[M,N] -> y[N,M]";
  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto [M, N] = x.sizes();
    auto m0 = b.grid(ceil_div(M, 32)) * 32;
    auto X = b.shared<f32>(32, 32);
    for (Index n : b.pipelined(ceil_div(N, 32), {.num_stages = 2})) {
      b.copy(x.at(m0, n * 32), X);
      b.copy(transposed(X), y.at(n * 32, m0));
    }
  }
};

/// A product with a bias and an activation, whose schedule is a parameter.
template <int Schedule, int Columns = 64> struct MatmulBias {
  static constexpr auto signature = "A[M,K], B[N,K], bias[N] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, In<f32, 1> bias, Out<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, 128), ceil_div(N, Columns));
    Index m0 = bm * 128, n0 = bn * Columns;
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(Columns, 64);
    auto acc = b.local<f32>(128, Columns);
    auto added = b.local<f32>(Columns);
    b.fill(acc, 0);
    PipelineOptions schedules[] = {{.num_stages = 3},
                                   {.stage = {0, 0, 2}, .order = {0, 1, 2}},
                                   {.stage = {0, 0, 2}, .order = {1, 2, 0}},
                                   {.stage = {0, 1, 2}, .order = {1, 0, 2}}};
    for (Index k : b.pipelined(ceil_div(K, 64), schedules[Schedule])) {
      b.copy(A.at(m0, k * 64), As);
      b.copy(B.at(n0, k * 64), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(bias.at(n0), added);
    b.set(acc, max(acc + broadcast_cols(added), 0));
    b.copy(acc, C.at(m0, n0));
  }
};
using MatmulBiasStages = MatmulBias<0>;
using MatmulBiasStated = MatmulBias<1>;
using MatmulBiasCopiesLast = MatmulBias<2>;
using MatmulBiasUneven = MatmulBias<3>;
using MatmulBiasWide = MatmulBias<0, 256>;

/// f8 weights with a scale for each 64 of k, multiplied with f16.
struct Dequantized {
  static constexpr auto signature = "A[M,K], W[N,K], scales[G,N] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f8e4m3, 2> W, In<f32, 2> scales, Out<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = W.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, 128), ceil_div(N, 64));
    Index m0 = bm * 128, n0 = bn * 64;
    auto As = b.shared<f16>(128, 64), Ws = b.shared<f16>(64, 64);
    auto narrow = b.shared<f8e4m3>(64, 64);
    auto scale = b.local<f32>(64);
    auto acc = b.local<f32>(128, 64);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(K, 64), {.num_stages = 3})) {
      b.copy(A.at(m0, k * 64), As);
      b.copy(W.at(n0, k * 64), narrow);
      b.copy(scales.at(k, n0), scale);
      b.set(Ws, cast<f16>(cast<f32>(narrow) * broadcast_rows(scale)));
      b.gemm(As, transposed(Ws), acc);
    }
    b.copy(acc, C.at(m0, n0));
  }
};

/// Products of two kinds into one accumulator, which tcgen05 does not keep in order.
struct TwoKinds {
  static constexpr auto signature = "A[M,K], B[N,K], Af[M,K], Bf[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, In<f8e4m3, 2> Af, In<f8e4m3, 2> Bf,
                  Out<f32, 2> C) const {
    auto [bm, bn] = b.grid(ceil_div(A.size(0), 128), ceil_div(B.size(0), 64));
    Index m0 = bm * 128, n0 = bn * 64;
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(64, 64);
    auto Afs = b.shared<f8e4m3>(128, 64), Bfs = b.shared<f8e4m3>(64, 64);
    auto acc = b.local<f32>(128, 64);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(A.size(1), 64), {.num_stages = 2})) {
      b.copy(A.at(m0, k * 64), As);
      b.copy(B.at(n0, k * 64), Bs);
      b.copy(Af.at(m0, k * 64), Afs);
      b.copy(Bf.at(n0, k * 64), Bfs);
      b.gemm(As, transposed(Bs), acc);
      b.gemm(Afs, transposed(Bfs), acc);
    }
    b.copy(acc, C.at(m0, n0));
  }
};

/// Attention; with a window, keys that are too far back, or ahead, are masked.
template <int Rows, int Window> struct AttentionPipelined {
  static constexpr auto signature = "Q[M,D], K[N,D], V[N,D] -> O[M,D]";
  void operator()(Block &b, In<f16, 2> Q, In<f16, 2> K, In<f16, 2> V, Out<f32, 2> O) const {
    auto N = K.size(0);
    auto m0 = b.grid(ceil_div(Q.size(0), Rows)) * Rows;
    auto Qs = b.shared<f16>(Rows, 64), Ks = b.shared<f16>(64, 64), Vs = b.shared<f16>(64, 64);
    auto S = b.local<f32>(Rows, 64), out = b.local<f32>(Rows, 64);
    auto P = b.local<f16>(Rows, 64);
    auto top = b.local<f32>(Rows), old = b.local<f32>(Rows), sum = b.local<f32>(Rows);
    b.copy(Q.at(m0, 0), Qs);
    b.fill(top, -1e30f);
    b.fill(sum, 0);
    b.fill(out, 0);
    for (Index n : b.pipelined(ceil_div(N, 64), {.num_stages = 2})) {
      b.copy(K.at(n * 64, 0), Ks);
      b.copy(V.at(n * 64, 0), Vs);
      b.gemm(Qs, transposed(Ks), S, {.accumulate = false});
      b.statement("softmax", [&] {
        auto key = col(S) + n * 64, query = row(S) + m0;
        if (Window)
          b.set(S, where(key < N && key <= query && key + Window > query, S, -infinity));
        else
          b.set(S, where(key < N, S, -infinity));
        b.copy(top, old);
        b.reduce(Max, S, 1, top, {.accumulate = true});
        b.set(S, exp2(S - broadcast_rows(top)));
        b.set(old, exp2(old - top));
        b.set(sum, sum * old);
        b.reduce(Sum, S, 1, sum, {.accumulate = true});
        b.set(out, out * broadcast_rows(old));
        b.copy(S, P);
      });
      b.gemm(P, Vs, out);
    }
    b.set(out, where(broadcast_rows(sum) > 0, out / broadcast_rows(sum), 0));
    b.copy(out, O.at(m0, 0));
  }
};
using Attention64 = AttentionPipelined<64, 0>;
using Attention128 = AttentionPipelined<128, 0>;
using Attention256 = AttentionPipelined<256, 0>;
using AttentionWindow = AttentionPipelined<64, 96>;
using AttentionWindow256 = AttentionPipelined<256, 96>;

/// A pipelined loop that is entered again for each strip of rows, with a copy that
/// some iterations leave out.
struct Strips {
  static constexpr auto signature = "x[M,N] -> sums[M]";
  void operator()(Block &b, In<f32, 2> x, Out<f32, 1> sums) const {
    auto [M, N] = x.sizes();
    auto X = b.shared<f32>(32, 32);
    auto sum = b.local<f32>(32);
    for (Index m : b.range(ceil_div(M, 32))) {
      b.fill(sum, 0);
      for (Index n : b.pipelined(ceil_div(N, 32), {.num_stages = 3})) {
        auto taken = n % 3 != 1;
        b.when(taken, [&] { b.copy(x.at(m * 32, n * 32), X); });
        b.when(taken, [&] { b.reduce(Sum, X, 1, sum, {.accumulate = true}); });
      }
      b.copy(sum, sums.at(m * 32));
    }
  }
};

/// Three boxes of 7 rows with 16 bytes each, which TMA cannot write side by side.
struct OddBoxes {
  static constexpr auto signature = "x[M,N] -> y[M,N]";
  void operator()(Block &b, In<f64, 2> x, Out<f64, 2> y) const {
    auto X = b.shared<f64>(7, 6);
    for (Index m : b.pipelined(ceil_div(x.size(0), 7), {.num_stages = 3})) {
      b.copy(x.at(m * 7, 0), X);
      b.copy(X, y.at(m * 7, 0));
    }
  }
};

/// A tile of a few rows in several slots, which begin in the middle of a swizzle's pattern
/// unless they are kept apart.
struct FewRows {
  static constexpr auto signature = "x[M,N] -> y[M,N]";
  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto X = b.shared<f32>(2, 128);
    for (Index m : b.pipelined(ceil_div(x.size(0), 2), {.num_stages = 3})) {
      b.copy(x.at(m * 2, 0), X);
      b.copy(X, y.at(m * 2, 0));
    }
  }
};

/// A tile in registers that is two iterations old when it is stored.
struct RegistersAhead {
  static constexpr auto signature = "x[N] -> y[N]";
  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const {
    auto t = b.local<f32>(128);
    for (Index i :
         b.pipelined(ceil_div(x.size(0), 128), {.stage = {0, 1, 2}, .order = {0, 1, 2}})) {
      b.copy(x.at(i * 128), t);
      b.set(t, t + 1);
      b.copy(t, y.at(i * 128));
    }
  }
};

PENSTOCK_KERNEL(NormThreePasses);
PENSTOCK_KERNEL(TransposePipelined);
PENSTOCK_KERNEL(MatmulBiasStages);
PENSTOCK_KERNEL(MatmulBiasStated);
PENSTOCK_KERNEL(MatmulBiasCopiesLast);
PENSTOCK_KERNEL(MatmulBiasUneven);
PENSTOCK_KERNEL(MatmulBiasWide);
PENSTOCK_KERNEL(Dequantized);
PENSTOCK_KERNEL(TwoKinds);
PENSTOCK_KERNEL(Attention64);
PENSTOCK_KERNEL(Attention128);
PENSTOCK_KERNEL(Attention256);
PENSTOCK_KERNEL(AttentionWindow);
PENSTOCK_KERNEL(AttentionWindow256);
PENSTOCK_KERNEL(Strips);
PENSTOCK_KERNEL(FewRows);
PENSTOCK_KERNEL(OddBoxes);
PENSTOCK_KERNEL(RegistersAhead);

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

std::vector<Shape> shapesOfK(std::initializer_list<int64_t> sizes, int64_t groups = 0) {
  std::vector<Shape> shapes;
  for (int64_t k : sizes) {
    shapes.push_back({{"M", 130}, {"N", 72}, {"K", k}});
    if (groups)
      shapes.back().push_back({"G", groups});
  }
  return shapes;
}

TEST(Pipelines, CopiesOfThreeLoops) {
  for (const char *gpu : {"sm_90a", "sm_100a"}) {
    std::string text = planOf("NormThreePasses", gpu);
    EXPECT_EQ(count(text, "pipelined loop in line"), 3u) << text;
    EXPECT_EQ(count(text, "signals full"), 3u) << text;
    EXPECT_EQ(count(text, "slots X 3"), 3u) << text;
  }
  expectSameEverywhere("NormThreePasses",
                       {{{"R", 16}, {"C", 32}},
                        {{"R", 20}, {"C", 72}},
                        {{"R", 5}, {"C", 160}},
                        {{"R", 16}, {"C", 67}}},
                       1e-5);
}

TEST(Pipelines, Transposes) {
  expectSameEverywhere("TransposePipelined",
                       {{{"M", 32}, {"N", 32}}, {{"M", 40}, {"N", 100}}, {{"M", 33}, {"N", 0}}});
}

/// What differs in the schedule differs in the kernel, as it is stated.
TEST(Pipelines, StatedSchedulesAreKept) {
  for (const char *name :
       {"MatmulBiasStages", "MatmulBiasStated", "MatmulBiasCopiesLast", "MatmulBiasUneven"})
    expectSameEverywhere(name, shapesOfK({0, 64, 128, 192, 320, 72, 75}));
  for (const char *gpu : {"sm_90a", "sm_100a"}) {
    std::string product = gpu == std::string("sm_90a") ? ": wgmma" : ": tcgen05.mma";
    std::string stated = planOf("MatmulBiasStated", gpu);
    EXPECT_EQ(count(stated, product), 1u) << stated;
    EXPECT_EQ(count(stated, "signals full"), 2u) << stated;
    EXPECT_EQ(count(stated, "slots As 3"), 1u) << stated;
    // With the product first, a slot is free again when the copies are issued.
    std::string last = planOf("MatmulBiasCopiesLast", gpu);
    EXPECT_LT(last.find("issue gemm"), last.find("issue copy A")) << last;
    EXPECT_EQ(count(last, "slots As 2"), 1u) << last;
    // Each buffer has its own number of slots.
    std::string uneven = planOf("MatmulBiasUneven", gpu);
    EXPECT_EQ(count(uneven, "slots As 3"), 1u) << uneven;
    EXPECT_EQ(count(uneven, "slots Bs 2"), 1u) << uneven;
    EXPECT_LT(uneven.find("issue copy B"), uneven.find("issue copy A")) << uneven;
  }
}

/// Eight warps share the rows, or the columns in tensor memory, of a wide accumulator.
TEST(Pipelines, WideAccumulators) {
  for (const char *gpu : {"sm_90a", "sm_100a"}) {
    std::string text = planOf("MatmulBiasWide", gpu);
    EXPECT_EQ(count(text, "warps 0 to 7 compute"), 1u) << text;
    EXPECT_EQ(count(text, ": wgmma") + count(text, ": tcgen05.mma"), 1u) << text;
  }
  expectSameEverywhere("MatmulBiasWide", {{{"M", 130}, {"N", 300}, {"K", 72}}});
}

TEST(Pipelines, WeightsAreConvertedAhead) {
  for (const char *gpu : {"sm_90a", "sm_100a"}) {
    std::string text = planOf("Dequantized", gpu);
    EXPECT_EQ(count(text, "signals full"), 2u) << text;
    // Steps are repeated for the three versions of the scales in registers.
    EXPECT_EQ(count(text, ": wgmma") + count(text, ": tcgen05.mma"), 3u) << text;
  }
  expectSameEverywhere("Dequantized", shapesOfK({64, 128, 320}, 5));
  expectSameEverywhere("Dequantized", shapesOfK({0}, 1));
}

TEST(Pipelines, ProductsOfTwoKindsAwaitEachOther) {
  std::string text = planOf("TwoKinds", "sm_100a");
  EXPECT_EQ(count(text, ": tcgen05.mma"), 2u) << text;
  size_t first = text.find("issue gemm As"), second = text.find("issue gemm Afs");
  ASSERT_TRUE(first < second && second != std::string::npos) << text;
  // Each awaits the commit of the other one, of the same or of the last iteration.
  size_t between = text.find("wait done gemm As", first);
  EXPECT_LT(between, second) << text;
  size_t before = text.find("wait done gemm Afs", text.find("role mma"));
  EXPECT_LT(before, first) << text;
  expectSameEverywhere("TwoKinds", shapesOfK({0, 64, 320, 72}));
}

TEST(Pipelines, Attention) {
  std::string hopper = planOf("Attention64", "sm_90a");
  // The second product trails by an iteration: each one is in the main loop, and once outside.
  EXPECT_EQ(count(hopper, ": wgmma"), 4u) << hopper;
  EXPECT_LT(hopper.find("issue gemm P"), hopper.find("wait_group wgmma pending 1")) << hopper;
  std::string blackwell = planOf("Attention128", "sm_100a");
  // The scores of the first iteration come before the main loop.
  EXPECT_EQ(count(blackwell, ": tcgen05.mma"), 3u) << blackwell;
  for (const char *name : {"Attention64", "Attention128", "AttentionWindow"})
    expectSameEverywhere(name,
                         {{{"M", 64}, {"N", 64}, {"D", 64}},
                          {{"M", 70}, {"N", 200}, {"D", 64}},
                          {{"M", 130}, {"N", 300}, {"D", 40}}},
                         4e-3);
}

/// Each warpgroup waits for its own rows, and copies of both parts are released after the last.
TEST(Pipelines, WarpgroupsComputePartsOfAttention) {
  std::string text = planOf("Attention256", "sm_100a");
  for (const char *part : {"part 0", "part 1"}) {
    std::string of(part);
    size_t role = text.find("role compute " + of);
    ASSERT_NE(role, std::string::npos) << text;
    EXPECT_LT(text.find("wait done gemm Qs, Ks -> S " + of, role), text.find("issue set S", role));
    EXPECT_EQ(count(text, "barrier after copy P -> P " + of + " slots 1 arrivals 128"), 1u) << text;
  }
  size_t load = text.find("role load");
  EXPECT_NE(text.find("wait done gemm Qs, Ks -> S part 1", load), std::string::npos) << text;
  for (const char *name : {"Attention256", "AttentionWindow256"})
    expectSameEverywhere(name,
                         {{{"M", 64}, {"N", 0}, {"D", 64}},
                          {{"M", 64}, {"N", 64}, {"D", 64}},
                          {{"M", 300}, {"N", 200}, {"D", 64}},
                          {{"M", 257}, {"N", 333}, {"D", 40}}},
                         4e-3);
}

TEST(Pipelines, LoopsThatAreEnteredAgain) {
  std::string text = planOf("Strips", "sm_90a");
  EXPECT_EQ(count(text, "signals full"), 1u) << text;
  expectSameEverywhere("Strips", {{{"M", 32}, {"N", 32}},
                                  {{"M", 96}, {"N", 160}},
                                  {{"M", 100}, {"N", 64}},
                                  {{"M", 70}, {"N", 0}}});
}

TEST(Pipelines, SlotsOfAFewRows) {
  expectSameEverywhere("FewRows", {{{"M", 1}, {"N", 128}}, {{"M", 9}, {"N", 100}}});
}

TEST(Pipelines, BoxesThatTmaCannotAlign) {
  for (const char *gpu : {"sm_90a", "sm_100a"})
    EXPECT_EQ(count(planOf("OddBoxes", gpu), "commit cp.async"), 1u);
  expectSameEverywhere("OddBoxes", {{{"M", 30}, {"N", 6}}, {{"M", 7}, {"N", 4}}});
}

TEST(Pipelines, VersionsInRegisters) {
  std::string text = planOf("RegistersAhead", "sm_90a");
  EXPECT_EQ(count(text, "slots t 3"), 1u) << text;
  expectSameEverywhere("RegistersAhead", {{{"N", 0}}, {{"N", 100}}, {{"N", 500}}, {{"N", 1000}}});
}

} // namespace
