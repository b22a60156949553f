//===- ScaledTest.cpp - Explicit products with scales ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp loads operands and scales by TMA, another copies the scales to tensor memory and
// multiplies. Each bug leaves out one synchronization of the ring between them.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

enum class InScaled { None, ReleasedAtIssue, NoWaitForLoads, NoWaitForProducts, PaddingExpected };

/// Bits of a value of T.
template <class T>
constexpr int bitsOf = std::is_same_v<T, f4e2m1x2> ? 4
                       : detail::isSixBit<T>       ? 6
                                                   : 8;

template <class T, class S, class U = T> struct Scaled {
  InScaled bug = InScaled::None;
  int block_m = 128, block_n = 128, block_k = 256, stages = 2; ///< block_k counts values
  /// Pairs of 4-bit values lie as they are, others that are not bytes are padded to bytes.
  static constexpr bool dense = bitsOf<T> == 4 && bitsOf<U> == 4;
  static constexpr int block = std::is_same_v<S, f8e4m3> ? 16 : 32;
  bool is(InScaled one) const { return bug == one; }

  void operator()(Block &b, In<T, 2> A, In<U, 2> B, In<S, 4> SA, In<S, 4> SB, Out<f32, 2> C) const {
    const int inA = block_k * bitsOf<T> / 8, inB = block_k * bitsOf<U> / 8; // of the tensors
    const int groups = block_k / (4 * block), inTile = dense ? block_k / 2 : block_k;
    const int m128 = block_m / 128, n128 = block_n / 128;
    auto tiles = ceil_div(A.size(1), inA);
    b.grid(1);
    b.threads(block_m); // a row for each
    auto As = b.shared<T>(stages, block_m, inTile);
    auto Bs = b.shared<U>(stages, block_n, inTile);
    auto Ss = b.shared<S>(stages * m128, groups, 32, 16);
    auto Ts = b.shared<S>(stages * n128, groups, 32, 16);
    auto scale_a = b.tcgen05.alloc<S>(m128, groups, 32, 16);
    auto scale_b = b.tcgen05.alloc<S>(n128, groups, 32, 16);
    auto acc = b.tcgen05.alloc<f32>(block_m, block_n);
    auto full = b.mbarrier.alloc(stages), empty = b.mbarrier.alloc(stages);
    auto [done] = b.mbarrier.alloc<1>({1});
    auto ofA = [&](const Index &slot) {
      return slice(Ss, {slot * m128, 0, 0, 0}, {m128, groups, 32, 16});
    };
    auto ofB = [&](const Index &slot) {
      return slice(Ts, {slot * n128, 0, 0, 0}, {n128, groups, 32, 16});
    };
    b.warp(0, [&] {
      Var<int> slot(b, 0);
      Var<unsigned> phase(b, mbarrier::producer_phase);
      for (Index k : b.range(tiles)) {
        Index s = Scalar<int>(slot);
        b.mbarrier.wait(empty[s], phase);
        int64_t bytes = block_m * inA + block_n * inB + (m128 + n128) * groups * 512;
        if (is(InScaled::PaddingExpected))
          bytes = As[0].bytes() + Bs[0].bytes() + (m128 + n128) * groups * 512;
        b.elect_one([&] { b.mbarrier.arrive_expect(full[s], bytes); }); // [expect]
        b.tma.load(A.at(0, k * inA), As[s], full[s], {.padded = !dense && bitsOf<T> < 8});
        b.tma.load(B.at(0, k * inB), Bs[s], full[s], {.padded = !dense && bitsOf<U> < 8});
        b.tma.load(SA.at(0, k * groups, 0, 0), ofA(s), full[s]); // [load scales]
        b.tma.load(SB.at(0, k * groups, 0, 0), ofB(s), full[s]);
        slot = (slot + 1) % stages;
        phase ^= slot == 0;
      }
    });
    b.warp(1, [&] {
      Var<int> slot(b, 0);
      Var<unsigned> phase(b, mbarrier::consumer_phase);
      for (Index k : b.range(tiles)) {
        Index s = Scalar<int>(slot);
        if (!is(InScaled::NoWaitForLoads))
          b.mbarrier.wait(full[s], phase);
        b.tcgen05.copy(ofA(s), scale_a); // [copy scales]
        b.tcgen05.copy(ofB(s), scale_b);
        TensorMmaOptions scales{.accumulate = k != 0, .scale_a = scale_a, .scale_b = scale_b};
        b.tcgen05.mma(As[s], transposed(Bs[s]), acc, scales); // [multiply]
        if (is(InScaled::ReleasedAtIssue))
          b.elect_one([&] { b.mbarrier.arrive(empty[s]); });
        else
          b.tcgen05.commit(empty[s]);
        slot = (slot + 1) % stages;
        phase ^= slot == 0;
      }
      b.tcgen05.commit(done);
    });
    if (!is(InScaled::NoWaitForProducts))
      b.mbarrier.wait(done, 0u);
    b.when(tiles > 0, [&] {
      for (int n = 0; n < block_n; n += 64) {
        auto result = b.tcgen05.load(slice(acc, {0, n}, {block_m, 64})); // [read sums]
        b.tcgen05.wait_load();
        b.copy(result, C.at(0, n));
      }
    });
    b.sync();
    b.tcgen05.dealloc(scale_a);
    b.tcgen05.dealloc(scale_b);
    b.tcgen05.dealloc(acc);
  }
};

/// Operands and scales of few bits, whose sums are exact in f32.
template <class T, class S, class U = T> struct Data {
  using Kernel = Scaled<T, S, U>;
  static constexpr size_t alignment = 32; ///< of 6-bit values
  int64_t m, n, k, groups;
  std::vector<T> a;
  std::vector<U> b;
  std::vector<double> valuesA, valuesB;
  std::vector<S> sa, sb;
  std::vector<f32> c;
  unsigned state = 5;

  Data(const Kernel &kernel, int64_t tiles)
      : m(kernel.block_m), n(kernel.block_n), k(tiles * kernel.block_k),
        groups(k / (4 * Kernel::block)), a(size_t(m * bytesOf<T>()) + alignment),
        b(size_t(n * bytesOf<U>()) + alignment), sa(size_t(m / 128 * groups * 512)),
        sb(size_t(n / 128 * groups * 512)), c(size_t(m * n), -77) {
    fill(a, valuesA, m);
    fill(b, valuesB, n);
    for (auto *scales : {&sa, &sb})
      for (S &scale : *scales)
        scale = S(Kernel::block == 16 ? float(next() % 6 + 2) / 4 : float(1 << next() % 4) / 2);
  }
  template <class E> int64_t bytesOf() const { return k * bitsOf<E> / 8; }
  template <class E> static E *first(std::vector<E> &operand) {
    auto address = reinterpret_cast<uintptr_t>(operand.data());
    return operand.data() + (alignment - address % alignment) % alignment;
  }
  template <class E> void fill(std::vector<E> &operand, std::vector<double> &values, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < k; ++i) {
        float number = value();
        values.push_back(double(number));
        E *row = first(operand) + r * bytesOf<E>();
        if constexpr (bitsOf<E> == 6)
          set_packed_value(row, i, number);
        else if constexpr (bitsOf<E> == 4)
          row[i / 2] = i % 2 ? E(row[i / 2].low(), number) : E(number, 0);
        else
          row[i] = E(number);
      }
  }
  unsigned next() { return (state = state * 1664525 + 1013904223) >> 16; }
  float value() {
    constexpr float magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    return magnitudes[next() % 8] * (next() % 2 ? -1.0f : 1.0f);
  }
  double at(const std::vector<double> &values, const std::vector<S> &scales, int64_t r,
            int64_t i) const {
    int64_t j = i / Kernel::block;
    size_t offset =
        size_t(((r / 128 * groups + j / 4) * 32 + r % 32) * 16 + r / 32 % 4 * 4 + j % 4);
    return double(float(scales[offset])) * values[size_t(r * k + i)];
  }
  template <class K> std::vector<Diagnostic> launch(const K &kernel, Timing timing) {
    LaunchOptions options;
    options.completion = timing.completion;
    options.seed = timing.seed;
    return kernel.try_launch(options, view(first(a), {m, bytesOf<T>()}),
                             view(first(b), {n, bytesOf<U>()}), view(sa, {m / 128, groups, 32, 16}),
                             view(sb, {n / 128, groups, 32, 16}), view(c, {m, n}));
  }
  int64_t wrong() const {
    int64_t count = 0;
    std::vector<double> right;
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < k; ++i)
        right.push_back(at(valuesB, sb, j, i));
    for (int64_t r = 0; r < m; ++r) {
      std::vector<double> left;
      for (int64_t i = 0; i < k; ++i)
        left.push_back(at(valuesA, sa, r, i));
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < k; ++i)
          sum += left[size_t(i)] * right[size_t(j * k + i)];
        count += c[size_t(r * n + j)] != float(sum);
      }
    }
    return count;
  }
};

Target blackwell() { return Target::sm_100a().emulated(); }

template <class T, class S, class U> void expectProduct(Scaled<T, S, U> kernel, int64_t tiles) {
  auto compiled = try_compile(kernel, blackwell());
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  for (Timing timing : timings) {
    Data<T, S, U> data(kernel, tiles);
    auto found = data.launch(compiled.kernel, timing);
    EXPECT_TRUE(found.empty()) << timing.name << "\n" << to_text(found);
    EXPECT_EQ(data.wrong(), 0) << timing.name;
  }
}

using MxF8 = Scaled<f8e4m3, f8e8m0>;
using MxF8Wide = Scaled<f8e5m2, f8e8m0>;
using MxF4 = Scaled<f4e2m1x2, f8e8m0>;
using NvF4 = Scaled<f4e2m1x2, f8e4m3>;
using MxF6 = Scaled<f6e2m3_packed, f8e8m0, f6e3m2_packed>;
using MxF8ByF6 = Scaled<f8e4m3, f8e8m0, f6e2m3_packed>;
using MxF4ByF6 = Scaled<f4e2m1x2, f8e8m0, f6e3m2_packed>;

TEST(ScaledProducts, AreRight) {
  expectProduct(MxF8{.block_k = 128}, 3);
  expectProduct(MxF8{.block_k = 256}, 2);
  expectProduct(MxF8Wide{.block_k = 128}, 2);
  expectProduct(MxF4{}, 3);
  expectProduct(MxF4{.block_k = 512}, 1);
  expectProduct(NvF4{}, 3);
  expectProduct(NvF4{.block_k = 64}, 5);
}

TEST(ScaledProducts, ArePaddedByTma) {
  expectProduct(MxF6{.block_k = 128}, 3);
  expectProduct(MxF6{.block_n = 256}, 2);
  expectProduct(MxF8ByF6{.block_k = 128}, 2);
  expectProduct(MxF4ByF6{.block_k = 128}, 2);
}

// Barriers count the bytes of values: one that expects the padding never completes.
TEST(ScaledProducts, DoNotExpectPadding) {
  MxF6 kernel{.bug = InScaled::PaddingExpected, .block_k = 128};
  auto refused = try_compile(kernel, blackwell());
  EXPECT_FALSE(bool(refused));
  auto compiled = try_compile(kernel, blackwell(), {.check_barriers = false});
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  Data<f6e2m3_packed, f8e8m0, f6e3m2_packed> data(kernel, 2);
  auto found = data.launch(compiled.kernel, timings[0]);
  EXPECT_FALSE(found.empty());
}

// Parts of 128 rows and columns have scales of their own.
TEST(ScaledProducts, AreRightInSeveralParts) {
  expectProduct(MxF8{.block_n = 256, .block_k = 256}, 2);
  expectProduct(NvF4{.block_m = 256}, 2);
  expectProduct(MxF4{.block_n = 256, .block_k = 128}, 2);
}

TEST(ScaledProducts, AreAssembled) {
  expectAssembled(MxF8{.block_k = 128}, Target::sm_100a());
  expectAssembled(MxF4{}, Target::sm_100a());
  expectAssembled(NvF4{.block_n = 256}, Target::sm_100a());
  expectAssembled(MxF6{.block_k = 128}, Target::sm_100a());
}

class ScaledBugs : public ::testing::TestWithParam<Case<InScaled>> {};
TEST_P(ScaledBugs, AreCaught) {
  NvF4 kernel{.bug = GetParam().bug};
  if (GetParam().early.code) {
    auto refused = try_compile(kernel, blackwell());
    EXPECT_FALSE(bool(refused));
    expectFinding(refused.diagnostics, GetParam().early, __FILE__);
  }
  auto compiled = try_compile(kernel, blackwell(), {.check_barriers = false});
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  for (Timing timing : timings) {
    Data<f4e2m1x2, f8e4m3> data(kernel, GetParam().tiles);
    auto found = data.launch(compiled.kernel, timing);
    expectFinding(found, GetParam().run, __FILE__);
  }
}
constexpr Case<InScaled> scaledCases[] = {
    {InScaled::ReleasedAtIssue,
     "ReleasedAtIssue",
     {2101, "load scales", "copy scales"},
     {1612, "load scales", "copy scales"}},
    {InScaled::NoWaitForLoads,
     "NoWaitForLoads",
     {2101, "copy scales", "load scales"},
     {1612, "copy scales", "load scales"}},
    {InScaled::NoWaitForProducts,
     "NoWaitForProducts",
     {2101, "read sums", "multiply"},
     {1612, "read sums", "multiply"}},
};
INSTANTIATE_TEST_SUITE_P(All, ScaledBugs, ::testing::ValuesIn(scaledCases), nameOf<InScaled>);

/// Expects a refusal with its reason.
template <class K> void expectRefused(K kernel, unsigned code, const char *text) {
  auto refused = try_compile(kernel, blackwell(), {.name = "refused"});
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.diagnostics[0].code, code) << to_text(refused.diagnostics);
  EXPECT_NE(refused.diagnostics[0].message.find(text), std::string::npos)
      << to_text(refused.diagnostics);
}

TEST(ScaledProducts, AreRefusedWithoutTheirScales) {
  expectRefused(
      [](Block &b, In<f4e2m1x2, 2>) {
        b.grid(1);
        b.threads(128);
        auto As = b.shared<f4e2m1x2>(128, 128);
        auto acc = b.tcgen05.alloc<f32>(128, 128);
        b.warp(0, [&] { b.tcgen05.mma(As, transposed(As), acc); });
        b.tcgen05.dealloc(acc);
      },
      1764, "a product of `As` (128x128 f4e2m1x2, shared) without scales");
  expectRefused(
      [](Block &b, In<f8e4m3, 2>) {
        b.grid(1);
        b.threads(128);
        auto As = b.shared<f8e4m3>(128, 128);
        auto scales = b.tcgen05.alloc<f8e8m0>(1, 2, 32, 16);
        auto acc = b.tcgen05.alloc<f32>(128, 128);
        b.warp(0, [&] {
          b.tcgen05.mma(As, transposed(As), acc, {.scale_a = scales, .scale_b = scales});
        });
        b.tcgen05.dealloc(scales);
        b.tcgen05.dealloc(acc);
      },
      1764, "with the scales `scales` (1x2x32x16 f8 e8m0, tensor)");
}

/// One MMA by the threads of a block: 128 x 128 with 256 values of k.
template <class T, class S> struct ThreadsScale {
  int threads = 128;
  static constexpr int block = std::is_same_v<S, f8e4m3> ? 16 : 32, depth = 256;
  static constexpr int bytes = depth * bitsOf<T> / 8, groups = depth / (4 * block);

  void operator()(Block &b, In<T, 2> A, In<T, 2> B, In<S, 4> SA, In<S, 4> SB, Out<f32, 2> C) const {
    b.grid(1);
    b.threads(threads);
    auto As = b.shared<T>(128, bytes), Bs = b.shared<T>(128, bytes);
    auto Ss = b.shared<S>(1, groups, 32, 16), Ts = b.shared<S>(1, groups, 32, 16);
    auto acc = b.local<f32>(128, 128);
    b.copy(A.at(0, 0), As);
    b.copy(B.at(0, 0), Bs);
    b.copy(SA.at(0, 0, 0, 0), Ss);
    b.copy(SB.at(0, 0, 0, 0), Ts);
    b.fill(acc, 0);
    b.sync();
    b.gemm(As, transposed(Bs), acc, {.scale_a = Ss, .scale_b = Ts});
    b.copy(acc, C.at(0, 0));
  }
};

/// Three warps have 48, 48 and 32 columns: 32 rows of scales begin at multiples of 16, and the
/// last ones would be beyond the tile.
TEST(ScaledProducts, AreMultipliedByThreadsOnGraphicsCards) {
  auto expectRight = [](auto kernel, auto t, auto s, float least) {
    using T = decltype(t);
    using S = decltype(s);
    using K = decltype(kernel);
    auto compiled = try_compile(kernel, Target::sm_120a().emulated());
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    EXPECT_NE(compiled.kernel.ptx().find("block_scale"), std::string::npos);
    constexpr int64_t k = K::depth, rows = 128;
    uint32_t seed = uint32_t(kernel.threads);
    auto next = [&](uint32_t below) {
      seed = seed * 1664525 + 1013904223;
      return (seed >> 16) % below;
    };
    std::vector<T> elements[2];
    std::vector<S> scales[2];
    std::vector<float> numbers[2];
    for (int side = 0; side < 2; ++side) {
      elements[side].resize(size_t(rows * K::bytes));
      scales[side].resize(size_t(K::groups) * 512);
      numbers[side].resize(size_t(rows * k));
      for (S &scale : scales[side])
        scale = least * float(1 << next(3));
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < k; ++i) {
          float value = float(next(5)) - 2;
          T &element = elements[side][size_t(row * K::bytes + i * bitsOf<T> / 8)];
          if constexpr (bitsOf<T> == 4)
            element = i % 2 ? T(element.low(), value) : T(value, 0);
          else
            element = value;
          int64_t block = i / K::block, word = (block / 4 * 32 + row % 32) * 4 + row / 32;
          numbers[side][size_t(row * k + i)] =
              value * float(scales[side][size_t(word * 4 + block % 4)]);
        }
    }
    std::vector<f32> c(size_t(rows * rows), -77);
    auto found = compiled.kernel.try_launch(
        {}, view(elements[0], {rows, K::bytes}), view(elements[1], {rows, K::bytes}),
        view(scales[0], {1, K::groups, 32, 16}), view(scales[1], {1, K::groups, 32, 16}),
        view(c, {rows, rows}));
    ASSERT_TRUE(found.empty()) << to_text(found);
    for (int64_t m = 0; m < rows; ++m)
      for (int64_t n = 0; n < rows; ++n) {
        float sum = 0;
        for (int64_t i = 0; i < k; ++i)
          sum += numbers[0][size_t(m * k + i)] * numbers[1][size_t(n * k + i)];
        ASSERT_EQ(c[size_t(m * rows + n)], sum) << kernel.threads << " threads, " << m << " " << n;
      }
  };
  for (int threads : {96, 128, 256, 512}) {
    expectRight(ThreadsScale<f8e5m2, f8e8m0>{threads}, f8e5m2(), f8e8m0(), 0.5f);
    expectRight(ThreadsScale<f4e2m1x2, f8e8m0>{threads}, f4e2m1x2(), f8e8m0(), 0.5f);
    expectRight(ThreadsScale<f4e2m1x2, f8e4m3>{threads}, f4e2m1x2(), f8e4m3(), 0.75f);
  }
  expectAssembled(ThreadsScale<f8e4m3, f8e8m0>(), Target::sm_120a());
  expectAssembled(ThreadsScale<f4e2m1x2, f8e8m0>(), Target::sm_120a());
  expectAssembled(ThreadsScale<f4e2m1x2, f8e4m3>(), Target::sm_120a());
  auto refused = try_compile(ThreadsScale<f6e2m3_packed, f8e8m0>(), Target::sm_120a());
  ASSERT_FALSE(bool(refused));
  EXPECT_NE(refused.diagnostics[0].message.find("operands of f8, or two of f4e2m1x2"),
            std::string::npos)
      << to_text(refused.diagnostics);
  auto hopper = try_compile(ThreadsScale<f8e4m3, f8e8m0>(), Target::sm_90a());
  ASSERT_FALSE(bool(hopper));
  EXPECT_EQ(hopper.diagnostics[0].code, 1764u) << to_text(hopper.diagnostics);
}

TEST(ScaledProducts, DoNotPadBytes) {
  expectRefused(
      [](Block &b, In<f8e4m3, 2> A) {
        b.grid(1);
        b.threads(128);
        auto As = b.shared<f8e4m3>(128, 128);
        auto [full] = b.mbarrier.alloc<1>({1});
        b.warp(0, [&] { b.tma.load(A.at(0, 0), As, full, {.padded = true}); });
      },
      1763, "TMA does not pad");
}

} // namespace
