//===- ResultsTest.cpp - The same results on every target -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

#include "penstock/assemble.h"

#include <regex>

using namespace penstock;
using namespace programs;

namespace {

struct VectorSum {
  static constexpr auto signature = "x[N], y[N] -> z[N]";
  void operator()(Block &b, In<f32, 1> x, In<f32, 1> y, Out<f32, 1> z) const {
    auto i = b.grid(ceil_div(x.size(0), 512)) * 512;
    auto s = b.local<f32>(512), t = b.local<f32>(512);
    b.copy(x.at(i), s);
    b.copy(y.at(i), t);
    b.set(s, s + t);
    b.copy(s, z.at(i));
  }
};

struct OnlineSoftmax {
  static constexpr auto signature = "x[R,C] -> y[R,C]";
  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto [R, C] = x.sizes();
    auto r0 = b.grid(ceil_div(R, 16)) * 16;
    auto X = b.shared<f32>(16, 32);
    auto E = b.local<f32>(16, 32);
    auto top = b.local<f32>(16), old = b.local<f32>(16), sum = b.local<f32>(16);
    auto part = b.local<f32>(16);
    b.fill(top, -infinity);
    b.fill(sum, 0);
    for (Index c : b.pipelined(ceil_div(C, 32), {.num_stages = 2})) {
      b.copy(x.at(r0, c * 32), X, {.fill = -infinity});
      b.statement("online", [&] {
        b.copy(top, old);
        b.reduce(Max, X, 1, top, {.accumulate = true});
        b.set(E, exp(X - rows(top)));
        b.reduce(Sum, E, 1, part);
        b.set(sum, sum * exp(old - top) + part);
      });
    }
    for (Index c : b.pipelined(ceil_div(C, 32), {.num_stages = 2})) {
      b.copy(x.at(r0, c * 32), X);
      b.set(E, exp(X - rows(top)) / rows(sum));
      b.copy(E, y.at(r0, c * 32));
    }
  }
};

/// Reductions of every kind along both dimensions, of integers too.
struct Reductions {
  static constexpr auto signature =
      "x[M,N], i[M,N] -> rows[A,M], cols[A,N], counts[A,M], wide[A,M]";
  void operator()(Block &b, In<f32, 2> x, In<i32, 2> i, Out<f32, 2> r, Out<f32, 2> c, Out<i32, 2> n,
                  Out<i64, 2> w) const {
    auto t = b.local<f32>(24, 40);
    auto u = b.local<i32>(24, 40);
    auto row = b.local<f32>(24), col = b.local<f32>(40);
    auto count = b.local<i32>(24);
    auto wide = b.local<i64>(24);
    b.copy(x.at(0, 0), t);
    b.copy(i.at(0, 0), u);
    int at = 0;
    for (auto kind : {Sum, Max, Min}) {
      b.reduce(kind, t, 1, row);
      b.reduce(kind, t, 0, col);
      b.reduce(kind, u, 1, count);
      b.reduce(kind, u, 1, wide);
      b.copy(row, r.at(at, 0).dims(1));
      b.copy(col, c.at(at, 0).dims(1));
      b.copy(count, n.at(at, 0).dims(1));
      b.copy(wide, w.at(at, 0).dims(1));
      ++at;
    }
  }
};

struct Transposed {
  static constexpr auto signature = "x[M,N] -> y[N,M]";
  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto [bm, bn] = b.grid(ceil_div(x.size(0), 32), ceil_div(x.size(1), 32));
    auto t = b.shared<f32>(32, 32);
    b.copy(x.at(bm * 32, bn * 32), t);
    b.copy(transposed(t), y.at(bn * 32, bm * 32));
  }
};

struct Histogram {
  static constexpr auto signature = "x[N], h[B]";
  void operator()(Block &b, In<i32, 1> x, InOut<i32, 1> h) const {
    auto N = x.size(0);
    auto first = b.grid(ceil_div(N, 256)) * 256;
    auto counts = b.shared<i32>(16);
    b.fill(counts, 0);
    b.parallel(256, [&](Index i) {
      b.when(first + i < N,
             [&] { b.atomic(Add, counts, (cast<index_t>(x.load(first + i)) + 64) % 16, 1); });
    });
    b.parallel(16, [&](Index i) { b.atomic(Add, h.at(i), b.load(counts, i)); });
  }
};

/// A vector that is needed along rows and along columns has two layouts.
struct OuterSum {
  static constexpr auto signature = "x[N] -> y[N,N]";
  void operator()(Block &b, In<f32, 1> x, Out<f32, 2> y) const {
    auto v = b.local<f32>(48);
    auto t = b.local<f32>(48, 48);
    b.copy(x.at(0), v);
    b.set(t, rows(v) + cols(v) * 2);
    b.copy(t, y.at(0, 0));
  }
};

/// Products of all element types that tensor cores take, with operands in all orders.
template <class T, class S, int Order> struct Product {
  static constexpr auto signature = Order == 0   ? "A[M,K], B[N,K] -> C[M,N]"
                                    : Order == 1 ? "A[M,K], B[K,N] -> C[M,N]"
                                                 : "A[K,M], B[K,N] -> C[M,N]";
  void operator()(Block &b, In<T, 2> A, In<T, 2> B, Out<S, 2> C) const {
    auto [M, N] = C.sizes();
    auto K = A.size(Order == 2 ? 0 : 1);
    auto [bm, bn] = b.grid(ceil_div(M, 32), ceil_div(N, 48));
    auto As = Order == 2 ? b.template shared<T>(32, 32) : b.template shared<T>(32, 32);
    auto Bs = Order == 0 ? b.template shared<T>(48, 32) : b.template shared<T>(32, 48);
    auto acc = b.template local<S>(32, 48);
    b.fill(acc, 0);
    for (Index k : b.range(0, K, 32)) {
      if constexpr (Order == 2)
        b.copy(A.at(k, bm * 32), As);
      else
        b.copy(A.at(bm * 32, k), As);
      if constexpr (Order == 0)
        b.copy(B.at(bn * 48, k), Bs);
      else
        b.copy(B.at(k, bn * 48), Bs);
      if constexpr (Order == 0)
        b.gemm(As, transposed(Bs), acc);
      else if constexpr (Order == 1)
        b.gemm(As, Bs, acc);
      else
        b.gemm(transposed(As), Bs, acc);
    }
    b.copy(acc, C.at(bm * 32, bn * 48));
  }
};
using ProductF16 = Product<f16, f32, 0>;
using ProductF16Columns = Product<f16, f32, 1>;
using ProductF16Across = Product<f16, f32, 2>;
using ProductBf16 = Product<bf16, f32, 2>;
using ProductF8 = Product<f8e4m3, f32, 0>;
using ProductF8Columns = Product<f8e5m2, f32, 1>;
using ProductI8 = Product<i8, i32, 0>;
using ProductI8Across = Product<i8, i32, 2>;
using ProductF32 = Product<f32, f32, 1>;

/// Two products in a row with a softmax in between, as attention has them.
struct Attention {
  static constexpr auto signature = "Q[M,D], K[N,D], V[N,D] -> O[M,D]";
  void operator()(Block &b, In<f16, 2> Q, In<f16, 2> K, In<f16, 2> V, Out<f16, 2> O) const {
    auto N = K.size(0);
    auto m0 = b.grid(ceil_div(Q.size(0), 32)) * 32;
    auto Qs = b.shared<f16>(32, 32), Ks = b.shared<f16>(32, 32), Vs = b.shared<f16>(32, 32);
    auto S = b.local<f32>(32, 32), out = b.local<f32>(32, 32);
    auto P = b.local<f16>(32, 32);
    auto top = b.local<f32>(32), old = b.local<f32>(32), sum = b.local<f32>(32);
    b.copy(Q.at(m0, 0), Qs);
    b.fill(top, -1e30f);
    b.fill(sum, 0);
    b.fill(out, 0);
    for (Index n : b.pipelined(ceil_div(N, 32), {.num_stages = 2})) {
      b.copy(K.at(n * 32, 0), Ks);
      b.gemm(Qs, transposed(Ks), S, {.accumulate = false});
      b.statement("softmax", [&] {
        b.set(S, where(col(S) + n * 32 < N, S, -infinity));
        b.copy(top, old);
        b.reduce(Max, S, 1, top, {.accumulate = true});
        b.set(S, exp2(S - rows(top)));
        b.set(sum, sum * exp2(old - top));
        b.reduce(Sum, S, 1, sum, {.accumulate = true});
        b.set(old, exp2(old - top));
        b.set(out, out * rows(old));
        b.copy(S, P);
      });
      b.copy(V.at(n * 32, 0), Vs);
      b.gemm(P, Vs, out);
    }
    b.set(out, out / rows(sum));
    b.copy(out, O.at(m0, 0));
  }
};

PENSTOCK_KERNEL(VectorSum);
PENSTOCK_KERNEL(OnlineSoftmax);
PENSTOCK_KERNEL(Reductions);
PENSTOCK_KERNEL(Transposed);
PENSTOCK_KERNEL(Histogram);
PENSTOCK_KERNEL(OuterSum);
PENSTOCK_KERNEL(ProductF16);
PENSTOCK_KERNEL(ProductF16Columns);
PENSTOCK_KERNEL(ProductF16Across);
PENSTOCK_KERNEL(ProductBf16);
PENSTOCK_KERNEL(ProductF8);
PENSTOCK_KERNEL(ProductF8Columns);
PENSTOCK_KERNEL(ProductI8);
PENSTOCK_KERNEL(ProductI8Across);
PENSTOCK_KERNEL(ProductF32);
PENSTOCK_KERNEL(Attention);

/// Halves of an operand, of two boxes of 64 columns, are multiplied on their own. The left ones
/// are rows of a tile, the right ones columns of a transposed one.
struct SlicedOperands {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    auto As = b.shared<f16>(128, 128), Bs = b.shared<f16>(64, 128);
    auto top = b.local<f32>(64, 32), bottom = b.local<f32>(64, 32);
    b.fill(top, 0);
    b.fill(bottom, 0);
    for (Index k : b.pipelined(ceil_div(A.size(1), 128), {.num_stages = 2})) {
      b.copy(A.at(0, k * 128), As);
      b.copy(B.at(0, k * 128), Bs);
      b.gemm(slice(As, {0, 0}, {64, 128}), transposed(slice(Bs, {32, 0}, {32, 128})), top);
      b.gemm(slice(As, {64, 0}, {64, 128}), transposed(slice(Bs, {0, 0}, {32, 128})), bottom);
    }
    b.copy(top, C.at(0, 0));
    b.copy(bottom, C.at(64, 0));
  }
};
PENSTOCK_KERNEL(SlicedOperands);

TEST(Results, SlicesAreMultiplied) {
  expectSameEverywhere("SlicedOperands",
                       {{{"M", 128}, {"N", 64}, {"K", 384}}, {{"M", 100}, {"N", 50}, {"K", 136}}});
}

/// A slice that is made before the loop is one of each slot inside.
struct SliceBeforeLoop {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(96, 64);
    auto rows = slice(Bs, {16, 0}, {64, 64});
    auto turned = transposed(rows);
    auto acc = b.local<f32>(128, 64);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(A.size(1), 64), {.num_stages = 3})) {
      b.copy(A.at(0, k * 64), As);
      b.copy(B.at(0, k * 64), rows);
      b.gemm(As, turned, acc);
    }
    b.copy(acc, C.at(0, 0));
  }
};
PENSTOCK_KERNEL(SliceBeforeLoop);

TEST(Results, SlicesAreTakenIntoLoops) {
  for (int64_t k : {64, 320, 328})
    expectSameEverywhere("SliceBeforeLoop",
                         {{{"M", 128}, {"N", 64}, {"K", k}}, {{"M", 99}, {"N", 41}, {"K", k + 3}}});
}

/// A tile program may state how many threads compute.
template <int Threads> struct ThreadsStated {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    b.threads(Threads);
    auto m0 = b.grid(ceil_div(A.size(0), 128)) * 128;
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(64, 64);
    auto acc = b.local<f32>(128, 64);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(A.size(1), 64), {.num_stages = 2})) {
      b.copy(A.at(m0, k * 64), As);
      b.copy(B.at(0, k * 64), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(m0, 0));
  }
};
using ThreadsStated128 = ThreadsStated<128>;
using ThreadsStated256 = ThreadsStated<256>;
PENSTOCK_KERNEL(ThreadsStated128);
PENSTOCK_KERNEL(ThreadsStated256);

TEST(Results, ThreadsMayBeStated) {
  for (auto [name, threads] : {std::pair("ThreadsStated128", "warps 0 to 3 compute"),
                               std::pair("ThreadsStated256", "warps 0 to 7 compute")}) {
    expectSameEverywhere(name, {{{"M", 130}, {"N", 64}, {"K", 200}}});
    for (const char *gpu : {"sm_90a", "sm_100a"}) {
      std::vector<Diagnostic> diagnostics;
      std::string text = explain_registered(name, gpu, {}, diagnostics);
      EXPECT_NE(text.find(threads), std::string::npos) << text;
    }
  }
}

/// Operands that are transposed twice, which is not at all.
template <class T, class S, bool Pipelined> struct TransposedTwice {
  static constexpr auto signature = "A[M,K], B[K,N] -> C[M,N]";
  void operator()(Block &b, In<T, 2> A, In<T, 2> B, Out<S, 2> C) const {
    auto As = b.shared<T>(128, 64), Bs = b.shared<T>(64, 64);
    auto acc = b.local<S>(128, 64);
    b.fill(acc, 0);
    auto multiply = [&](const Index &k) {
      b.copy(A.at(0, k * 64), As);
      b.copy(B.at(k * 64, 0), Bs);
      b.gemm(transposed(transposed(As)), transposed(transposed(Bs)), acc);
    };
    if (Pipelined)
      for (Index k : b.pipelined(ceil_div(A.size(1), 64), {.num_stages = 2}))
        multiply(k);
    else
      for (Index k : b.range(ceil_div(A.size(1), 64)))
        multiply(k);
    b.copy(acc, C.at(0, 0));
  }
};
using TransposedTwiceF16 = TransposedTwice<f16, f32, true>;
using TransposedTwiceI8 = TransposedTwice<i8, i32, false>;
PENSTOCK_KERNEL(TransposedTwiceF16);
PENSTOCK_KERNEL(TransposedTwiceI8);

TEST(Results, OperandsTransposedTwice) {
  for (const char *name : {"TransposedTwiceF16", "TransposedTwiceI8"})
    expectSameEverywhere(name, {{{"M", 128}, {"N", 64}, {"K", 192}}});
}

TEST(TilePrograms, ElementsOfVectors) {
  expectSameEverywhere("VectorSum", {{{"N", 0}}, {{"N", 1}}, {{"N", 512}}, {{"N", 1300}}});
}

TEST(TilePrograms, TwoLoopsAndRowReductions) {
  expectSameEverywhere("OnlineSoftmax", {{{"R", 16}, {"C", 64}}, {{"R", 21}, {"C", 71}}}, 1e-5);
}

TEST(TilePrograms, ReductionsOfEveryKind) {
  expectSameEverywhere("Reductions", {{{"M", 24}, {"N", 40}, {"A", 3}}});
}

TEST(TilePrograms, Transposes) {
  expectSameEverywhere("Transposed", {{{"M", 64}, {"N", 32}}, {{"M", 33}, {"N", 70}}});
}

TEST(TilePrograms, AtomicsInSharedMemoryAndTensors) {
  expectSameEverywhere("Histogram", {{{"N", 1000}, {"B", 16}}});
}

TEST(TilePrograms, AVectorWithTwoLayouts) { expectSameEverywhere("OuterSum", {{{"N", 48}}}); }

TEST(TilePrograms, ProductsOfEveryType) {
  for (const char *name :
       {"ProductF16", "ProductF16Columns", "ProductF16Across", "ProductBf16", "ProductF8",
        "ProductF8Columns", "ProductI8", "ProductI8Across", "ProductF32"})
    expectSameEverywhere(name,
                         {{{"M", 40}, {"N", 50}, {"K", 72}}, {{"M", 3}, {"N", 48}, {"K", 0}}});
}

TEST(TilePrograms, ProductsAroundASoftmax) {
  expectSameEverywhere(
      "Attention", {{{"M", 32}, {"N", 64}, {"D", 32}}, {{"M", 40}, {"N", 70}, {"D", 24}}}, 4e-3);
}

/// A mask and a conversion for each element, of which a thread has many: both should take as few
/// instructions as the hardware has for them.
template <int Keys, int Dim> struct WeightsOf {
  static constexpr auto signature = "Q[M,D], K[N,D] -> O[M,D]";
  void operator()(Block &b, In<f16, 2> Q, In<f16, 2> K, Out<f16, 2> O) const {
    auto N = K.size(0);
    auto m0 = b.grid(ceil_div(Q.size(0), 128)) * 128;
    auto Qs = b.shared<f16>(128, Dim), Ks = b.shared<f16>(Keys, Dim);
    auto S = b.local<f32>(128, Keys), out = b.local<f32>(128, Dim);
    auto P = b.local<f16>(128, Keys);
    auto sum = b.local<f32>(128);
    b.copy(Q.at(m0, 0), Qs);
    b.fill(sum, 0);
    b.fill(out, 0);
    for (Index n : b.pipelined(ceil_div(N, Keys), {.num_stages = 2})) {
      b.copy(K.at(n * Keys, 0), Ks);
      b.gemm(Qs, transposed(Ks), S, {.accumulate = false});
      b.set(P, cast<f16>(where(col(S) + n * Keys < N, S, 0)));
      b.reduce(Sum, P, 1, sum, {.accumulate = true});
      b.gemm(P, Ks, out);
    }
    b.set(out, out + rows(sum));
    b.copy(out, O.at(m0, 0));
  }
};
using Weights = WeightsOf<64, 64>;
using WideWeights = WeightsOf<128, 128>;
PENSTOCK_KERNEL(Weights);
PENSTOCK_KERNEL(WideWeights);

size_t countOf(const std::string &text, const char *pattern) {
  std::regex each(pattern);
  return size_t(std::distance(std::sregex_iterator(text.begin(), text.end(), each), {}));
}

TEST(TilePrograms, MasksAndWeightsTakeOneInstruction) {
  for (const Target &target : gpus) {
    std::string ptx = compileFor("Weights", target).ptx();
    // A thread has 32 or 64 elements of the scores; loops and boxes compare a few indices.
    EXPECT_LT(countOf(ptx, "setp\\.[a-z]+\\.s64"), 16u);
    EXPECT_EQ(countOf(ptx, "cvt\\.rn\\.f16\\.f32"), 0u);
    EXPECT_GE(countOf(ptx, "cvt\\.rn\\.f16x2\\.f32"), 16u);
  }
  expectSameEverywhere("Weights",
                       {{{"M", 128}, {"N", 128}, {"D", 64}}, {{"M", 140}, {"N", 200}, {"D", 40}}});
}

TEST(TilePrograms, ComputedOperandsLieInTensorMemory) {
  std::string ptx = compileFor("Weights", Target::sm_100a()).ptx();
  // 64 columns are four steps of 16: of the first product from shared memory.
  EXPECT_EQ(countOf(ptx, "tcgen05\\.mma\\.\\S+ \\[%r\\d+\\], \\[%r\\d+\\]"), 4u);
  EXPECT_GE(countOf(ptx, "tcgen05\\.mma\\.\\S+ \\[%r\\d+\\], a, b,"), 4u);
}

/// Two warpgroups with 64 rows of two wide accumulators need more registers than 12 warps have
/// at the start.
TEST(TilePrograms, ComputeWarpsTakeRegistersOfLoaders) {
  std::string ptx = compileFor("WideWeights", Target::sm_90a()).ptx();
  EXPECT_EQ(countOf(ptx, "setmaxnreg\\.inc\\.sync\\.aligned\\.u32 240"), 1u);
  EXPECT_EQ(countOf(ptx, "setmaxnreg\\.dec\\.sync\\.aligned\\.u32 24"), 1u);
  EXPECT_EQ(countOf(ptx, "\\.reqntid 384"), 1u);
  EXPECT_EQ(countOf(compileFor("Weights", Target::sm_90a()).ptx(), "setmaxnreg"), 0u);
  expectSameEverywhere("WideWeights", {{{"M", 140}, {"N", 300}, {"D", 104}}});
  if (find_assembler().empty())
    GTEST_SKIP() << "ptxas is not installed";
  // Spilled registers, serialized products and ignored requests are diagnostics.
  Assembled code = assemble(ptx, Target::sm_90a());
  EXPECT_TRUE(code.diagnostics.empty()) << to_text(code.diagnostics);
}

struct Remainders {
  void operator()(Block &b, In<f32, 1> x, In<f32, 1> y, Out<f32, 1> z) const {
    auto s = b.local<f32>(64), t = b.local<f32>(64);
    b.copy(x.at(0), s);
    b.copy(y.at(0), t);
    b.set(s, s % t);
    b.copy(s, z.at(0));
  }
};

/// C's fmod is exact, however large the quotient is.
TEST(TilePrograms, RemaindersAreExact) {
  const float infinite = INFINITY;
  std::vector<float> x = {7.5f,   -7.5f,    -8.0f,    3e38f, 3e38f, -1e30f,
                          1e-45f, 0x1p127f, infinite, 1,     -0.0f, 5};
  std::vector<float> y = {2, 2, 4, 3.3f, 1e-45f, 7e-20f, 1e-45f, 3, 2, 0, 3, infinite};
  std::vector<float> z(x.size());
  for (const Target &target : gpus) {
    auto compiled = try_compile(Remainders{}, target);
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    int64_t n = int64_t(x.size());
    ASSERT_TRUE(compiled.kernel.try_launch({}, view(x, {n}), view(y, {n}), view(z, {n})).empty());
    for (size_t i = 0; i < x.size(); ++i) {
      float expected = std::fmod(x[i], y[i]);
      EXPECT_TRUE(z[i] == expected || (std::isnan(z[i]) && std::isnan(expected)))
          << x[i] << " % " << y[i] << " = " << z[i] << ", expected " << expected;
      EXPECT_TRUE(std::isnan(expected) || std::signbit(z[i]) == std::signbit(expected)) << i;
    }
  }
}

struct CountedSteps {
  void operator()(Block &b, Scalar<i64> step, InOut<i64, 1> y) const {
    for (Index i : b.range(1, 4, cast<index_t>(step)))
      b.atomic(Add, y.at(0), cast<i64>(i));
  }
};

TEST(TilePrograms, TheSumOfIndexAndStepMayOverflow) {
  std::vector<Target> targets(std::begin(gpus), std::end(gpus));
  targets.push_back(Target::native());
  targets.push_back(Target::interpreter());
  for (const Target &target : targets) {
    auto kernel = compile(CountedSteps{}, target);
    for (auto [step, sum] : {std::pair<i64, i64>(1, 6), {2, 4}, {3, 1}, {INT64_MAX, 1}}) {
      std::vector<i64> y = {0};
      kernel(step, view(y, {1}));
      EXPECT_EQ(y[0], sum) << "with a step of " << step;
    }
  }
}

} // namespace
