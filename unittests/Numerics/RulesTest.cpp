//===- RulesTest.cpp - How numbers behave, on every CPU target ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One test for each rule of docs/reference/numerics.md, through the public interface, in
// native code and in the interpreter.
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

#include <gtest/gtest.h>

#include <cmath>

using namespace penstock;

namespace {

class Rules : public testing::TestWithParam<Target::Kind> {
protected:
  Target target() const { return {GetParam()}; }

  /// function(x) for each element; x is a tile of A, the result has type B.
  template <class B, class A, class Function>
  std::vector<B> map(const std::vector<A> &x, Function function) const {
    auto kernel = compile(
        [=](Block &b, In<A, 1> X, Out<B, 1> Y) {
          auto x = b.local<A>(64);
          auto y = b.local<B>(64);
          b.copy(X.at(0), x);
          b.set(y, function(x));
          b.copy(y, Y.at(0));
        },
        target(), {.name = "map"});
    int64_t n = static_cast<int64_t>(x.size());
    std::vector<B> y(x.size());
    kernel(view(x, {n}), view(y, {n}));
    return y;
  }
  template <class B, class A> std::vector<B> convert(const std::vector<A> &x) const {
    return map<B>(x, [](auto x) { return cast<B>(x); });
  }

  /// The product of a 1 x K and a K x 1 matrix.
  template <class A, class C>
  C dot(const std::vector<A> &a, const std::vector<A> &b, GemmOptions options = {}) const {
    auto kernel = compile(
        [=](Block &block, In<A, 2> X, In<A, 2> Y, Out<C, 2> Z) {
          auto x = block.shared<A>(16, 16);
          auto y = block.shared<A>(16, 16);
          auto z = block.local<C>(16, 16);
          block.copy(X.at(0, 0), x);
          block.copy(Y.at(0, 0), y);
          block.fill(z, 0);
          block.gemm(x, transposed(y), z, options);
          block.copy(z, Z.at(0, 0));
        },
        target(), {.name = "dot"});
    int64_t k = static_cast<int64_t>(a.size());
    std::vector<C> c(1);
    kernel(view(a, {1, k}), view(b, {1, k}), view(c, {1, 1}));
    return c[0];
  }

  template <class T> T reduced(Reduction kind, const std::vector<T> &x, double fill) const {
    auto kernel = compile(
        [=](Block &b, In<T, 2> X, Out<T, 1> Y) {
          auto x = b.local<T>(1, 64);
          auto y = b.local<T>(1);
          b.copy(X.at(0, 0), x, {.fill = fill});
          b.reduce(kind, x, 1, y);
          b.copy(y, Y.at(0));
        },
        target(), {.name = "reduced"});
    int64_t n = static_cast<int64_t>(x.size());
    std::vector<T> y(1);
    kernel(view(x, {1, n}), view(y, {1}));
    return y[0];
  }
};

template <class T> std::vector<double> wide(const std::vector<T> &values) {
  return {values.begin(), values.end()};
}

using Values = std::vector<double>;

} // namespace

// Accumulation.

TEST_P(Rules, GemmOfHalfSumsInFloat) {
  // In f16, 2048 + 1 is 2048, and 65504 + 65504 infinity.
  EXPECT_EQ((dot<f16, f32>({2048, 1}, {1, 1})), 2049);
  EXPECT_EQ((dot<f16, f32>({65504, 65504}, {1, 1})), 131008);
  EXPECT_EQ((dot<bf16, f32>({256, 1}, {1, 1})), 257);
}

TEST_P(Rules, GemmOfBytesSumsInInteger) {
  EXPECT_EQ((dot<i8, i32>({-128, 127}, {-128, 127})), 16384 + 16129);
}

TEST_P(Rules, Tf32RoundsOperandsOnly) {
  // 1 + 2^-11 is halfway between two TF32 numbers and goes to the even one.
  std::vector<f32> a = {1 + 0x1p-11f}, b = {1};
  EXPECT_EQ((dot<f32, f32>(a, b)), 1 + 0x1p-11f);
  EXPECT_EQ((dot<f32, f32>(a, b, {.tf32 = true})), 1);
}

TEST_P(Rules, ReduceCombinesInTheTargetsType) {
  // In f16 the sum would overflow, and lose the last addend.
  auto kernel = compile(
      [](Block &b, In<f16, 2> X, Out<f32, 1> Y) {
        auto x = b.local<f16>(1, 64);
        auto y = b.local<f32>(1);
        b.copy(X.at(0, 0), x);
        b.reduce(Sum, x, 1, y);
        b.copy(y, Y.at(0));
      },
      target());
  std::vector<f16> x(64, f16(2048.0f));
  std::vector<f32> y(1);
  x[63] = 1.0f;
  kernel(view(x, {1, 64}), view(y, {1}));
  EXPECT_EQ(y[0], 63 * 2048 + 1);
}

TEST_P(Rules, ReduceWidensIntegers) {
  // Along rows and along columns; in i32 the sums would wrap, and the signs count.
  auto kernel = compile(
      [](Block &b, In<i32, 2> X, In<i8, 2> Z, Out<i64, 1> rows_, Out<i64, 1> columns_,
         Out<i32, 1> bytes_, Out<i64, 1> least_) {
        auto x = b.local<i32>(8, 64);
        auto z = b.local<i8>(8, 64);
        auto rows = b.local<i64>(8), columns = b.local<i64>(64), least = b.local<i64>(8);
        auto bytes = b.local<i32>(8);
        b.copy(X.at(0, 0), x);
        b.copy(Z.at(0, 0), z);
        b.reduce(Sum, x, 1, rows);
        b.reduce(Sum, x, 0, columns);
        b.reduce(Sum, z, 1, bytes);
        b.reduce(Min, x, 1, least);
        b.reduce(Sum, x, 1, rows, {.accumulate = true});
        b.copy(rows, rows_.at(0));
        b.copy(columns, columns_.at(0));
        b.copy(bytes, bytes_.at(0));
        b.copy(least, least_.at(0));
      },
      target(), {.name = "widened"});
  std::vector<i32> x(8 * 64), bytes(8);
  std::vector<i8> z(8 * 64);
  std::vector<i64> rows(8), columns(64), least(8), expectedRows(8), expectedColumns(64),
      expectedLeast(8, std::numeric_limits<i64>::max());
  std::vector<i32> expectedBytes(8);
  for (int i = 0; i < 8 * 64; ++i) {
    x[size_t(i)] = (i % 64 < 48 ? 2000000000 : -2000000000) + (i % 3 ? -i : i);
    z[size_t(i)] = i8(i % 5 == 4 ? 127 : -100);
    expectedRows[size_t(i / 64)] += 2 * i64(x[size_t(i)]);
    expectedColumns[size_t(i % 64)] += x[size_t(i)];
    expectedBytes[size_t(i / 64)] += z[size_t(i)];
    expectedLeast[size_t(i / 64)] = std::min(expectedLeast[size_t(i / 64)], i64(x[size_t(i)]));
  }
  kernel(view(x, {8, 64}), view(z, {8, 64}), view(rows, {8}), view(columns, {64}), view(bytes, {8}),
         view(least, {8}));
  EXPECT_EQ(rows, expectedRows);
  EXPECT_EQ(columns, expectedColumns);
  EXPECT_EQ(bytes, expectedBytes);
  EXPECT_EQ(least, expectedLeast);
}

TEST_P(Rules, CopiesWithinOneTileReadBeforeTheyWrite) {
  // Rows 0 .. 2 move to rows 1 .. 3; then the tile is transposed in place.
  auto kernel = compile(
      [](Block &b, In<f32, 2> X, Out<f32, 2> Y, Out<f32, 2> Z) {
        auto t = b.local<f32>(4, 4);
        b.copy(X.at(0, 0), t);
        b.copy(slice(t, {0, 0}, {3, 4}), slice(t, {1, 0}, {3, 4}));
        b.copy(t, Y.at(0, 0));
        b.copy(transposed(t), t);
        b.copy(t, Z.at(0, 0));
      },
      target(), {.name = "overlapping"});
  std::vector<float> x(16), y(16), z(16);
  for (int i = 0; i < 16; ++i)
    x[i] = static_cast<float>(i);
  kernel(view(x, {4, 4}), view(y, {4, 4}), view(z, {4, 4}));
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c) {
      float moved = x[(r ? r - 1 : 0) * 4 + c];
      EXPECT_EQ(y[r * 4 + c], moved);
      EXPECT_EQ(z[c * 4 + r], moved);
    }
}

TEST_P(Rules, ResultsDoNotDependOnThreads) {
  auto kernel = compile(
      [](Block &b, In<f32, 2> X, Out<f32, 1> Y) {
        Index i = b.grid(X.size(0));
        auto x = b.local<f32>(1, 64);
        auto y = b.local<f32>(1);
        b.copy(X.at(i, 0), x);
        b.reduce(Sum, x, 1, y);
        b.copy(y, Y.at(i));
      },
      target());
  std::vector<f32> x(100 * 64), one(100), four(100);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(static_cast<f32>(i));
  kernel.launch({.threads = 1}, view(x, {100, 64}), view(one, {100}));
  kernel.launch({.threads = 4}, view(x, {100, 64}), view(four, {100}));
  EXPECT_EQ(one, four);
}

// Each operation rounds once; nothing is fused or reordered.

TEST_P(Rules, ProductsAreNotFusedWithSums) {
  // x * x - 1 - 2^-11 is 2^-24 if the product is not rounded, else 0.
  f32 x = 1 + 0x1p-12f;
  EXPECT_EQ((wide(map<f32>(std::vector<f32>{x}, [](auto x) { return x * x - (1 + 0x1p-11f); }))),
            Values{0});
}

TEST_P(Rules, SumsAreNotReordered) {
  EXPECT_EQ((wide(map<f32>(std::vector<f32>{1}, [](auto x) { return (x + 1e8f) - 1e8f; }))),
            Values{0});
  EXPECT_EQ((wide(map<f32>(std::vector<f32>{3}, [](auto x) { return x * (1.0f / 3) * 3; }))),
            (Values{3.0f * (1.0f / 3) * 3}));
}

TEST_P(Rules, DivisionIsCorrectlyRounded) {
  std::vector<f32> x = {1, 2, 5, 7, 10};
  auto y = map<f32>(x, [](auto x) { return x / 3; });
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(y[i], x[i] / 3);
}

TEST_P(Rules, HalfArithmeticRoundsToHalf) {
  EXPECT_EQ(
      (wide(map<f16>(std::vector<f16>{2048.0f, 2050.0f}, [](auto x) { return (x + 1) - x; }))),
      (Values{0, 2})); // 2051 is halfway and goes to 2052
}

TEST_P(Rules, FunctionsOfHalfRoundToHalf) {
  std::vector<f16> x = {1.0f, -3.0f, 12.0f, -20.0f};
  auto y = map<f16>(x, [](auto x) { return exp(x); });
  auto z = map<bf16>(std::vector<bf16>{1.0f, 2.5f}, [](auto x) { return erf(x); });
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(float(y[i]), float(f16(std::exp(float(x[i])))));
  EXPECT_EQ(float(z[0]), float(bf16(std::erf(1.0f))));
  EXPECT_EQ(float(z[1]), float(bf16(std::erf(2.5f))));
}

TEST_P(Rules, SubnormalNumbersAreKept) {
  EXPECT_EQ(
      (wide(map<f32>(std::vector<f32>{0x1p-149f, 0x1p-126f}, [](auto x) { return x * 0.5f + x; }))),
      (Values{0x1p-149, 0x1.8p-126})); // half of the smallest rounds to zero
}

// NaN, infinity and zero.

TEST_P(Rules, NaNAndInfinityFollowIeee) {
  auto y = map<f32>(std::vector<f32>{0, 1, -1, infinity}, [](auto x) { return x / (x * 0); });
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], infinity);
  EXPECT_EQ(y[2], infinity); // -1 / -0
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST_P(Rules, MaxAndMinPassNaNOn) {
  auto y = map<f32>(std::vector<f32>{NAN, 1, -2}, [](auto x) { return max(x, 0); });
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 1);
  EXPECT_EQ(y[2], 0);
  EXPECT_TRUE(std::isnan(reduced<f32>(Max, {1, NAN, 2}, -infinity)));
  EXPECT_TRUE(std::isnan(reduced<f32>(Min, {NAN, 1}, infinity)));
  EXPECT_EQ(reduced<f32>(Max, {-3, -infinity, -2}, -infinity), -2);
}

// Rows as long as several vectors, which are reduced once more if there is NaN, or the result is
// a zero. They end at an edge of the tensor, so that the copy is not part of the loop.
TEST_P(Rules, ExtremesOfLongRows) {
  constexpr int columns = 60, tile = 64;
  for (Reduction kind : {Max, Min}) {
    auto kernel = compile(
        [=](Block &b, In<f32, 2> X, InOut<f32, 1> Y) {
          auto x = b.local<f32>(1, tile);
          auto y = b.local<f32>(1);
          b.copy(X.at(0, 0), x, {.fill = kind == Max ? -infinity : infinity});
          b.copy(Y.at(0), y);
          b.reduce(kind, x, 1, y, {.accumulate = true});
          b.copy(y, Y.at(0));
        },
        target());
    f32 sign = kind == Max ? 1 : -1, start = kind == Max ? -infinity : infinity;
    auto run = [&](f32 others, int at, f32 value, f32 first) {
      std::vector<f32> x(columns, others), y = {first};
      x[size_t(at)] = value;
      kernel(view(x, {1, columns}), view(y, {1}));
      return y[0];
    };
    for (int at : {0, 15, 16, 40, columns - 1}) {
      EXPECT_EQ(run(-3 * sign, at, -2 * sign, start), -2 * sign) << at;
      EXPECT_EQ(run(-3 * sign, at, sign * infinity, start), sign * infinity) << at;
      for (uint32_t bits : {0x7fc00000u, 0xffc00000u})
        EXPECT_TRUE(std::isnan(run(5, at, detail::bits<f32>(bits), start))) << at;
      f32 zero = run(-sign * 0.0f, at, sign * 0.0f, start);
      EXPECT_EQ(detail::bits<uint32_t>(zero), detail::bits<uint32_t>(sign * 0.0f)) << at;
    }
    EXPECT_TRUE(std::isnan(run(1, 3, 2, NAN)));
    EXPECT_EQ(run(1, 3, 2, sign * 7), sign * 7);
  }
}

TEST_P(Rules, CopiesKeepTheBitsOfNaN) {
  auto kernel = compile(
      [](Block &b, In<f32, 1> X, Out<f32, 1> Y) {
        auto x = b.local<f32>(2);
        b.copy(X.at(0), x);
        b.copy(x, Y.at(0));
      },
      target());
  std::vector<f32> x = {detail::bits<f32>(0x7fc12345u), detail::bits<f32>(0xffabcdefu)}, y(2);
  kernel(view(x, {2}), view(y, {2}));
  EXPECT_EQ(detail::bits<uint32_t>(y[0]), 0x7fc12345u);
  EXPECT_EQ(detail::bits<uint32_t>(y[1]), 0xffabcdefu);
}

TEST_P(Rules, MaxOrdersZeros) {
  auto up = map<f32>(std::vector<f32>{-0.0f, 0.0f}, [](auto x) { return max(x, -0.0f); });
  EXPECT_TRUE(std::signbit(up[0]));
  EXPECT_FALSE(std::signbit(up[1]));
  auto down = map<f32>(std::vector<f32>{-0.0f, 0.0f}, [](auto x) { return min(x, 0.0f); });
  EXPECT_TRUE(std::signbit(down[0]));
  EXPECT_FALSE(std::signbit(down[1]));
}

TEST_P(Rules, ComparisonsWithNaNAreFalseExceptUnequal) {
  std::vector<f32> x = {NAN, 1};
  auto chosen = [&](auto condition) {
    return wide(map<f32>(x, [=](auto x) { return where(condition(x), x * 0 + 1, 0); }));
  };
  // x * 0 is NaN in the first place, so a condition that holds there shows.
  for (double first :
       {chosen([](auto x) { return x < 2; })[0], chosen([](auto x) { return x >= 2; })[0],
        chosen([](auto x) { return x == x; })[0]})
    EXPECT_EQ(first, 0);
  EXPECT_TRUE(std::isnan(chosen([](auto x) { return x != x; })[0]));
  EXPECT_EQ(chosen([](auto x) { return x == x; })[1], 1);
}

// Conversions.

TEST_P(Rules, NarrowingRoundsToNearestEven) {
  std::vector<f32> x = {1 + 0x1p-11f, 1 + 0x3p-11f, 0x1p-25f, 0x3p-26f, -0.0f};
  EXPECT_EQ(wide(convert<f16>(x)), (Values{1, 1 + 0x1p-9, 0, 0x1p-24, 0}));
  EXPECT_EQ(wide(convert<bf16>(std::vector<f32>{1 + 0x1p-8f, 1 + 0x3p-8f})),
            (Values{1, 1 + 0x1p-6}));
  EXPECT_EQ(wide(convert<f8e4m3>(std::vector<f32>{1.0625f, 1.1875f, 0x1p-9f, 0x1p-10f})),
            (Values{1, 1.25, 0x1p-9, 0}));
}

TEST_P(Rules, OverflowIsInfinityOrNaNAndNeverSaturates) {
  std::vector<f32> x = {65519, 65520, -1e9f};
  EXPECT_EQ(wide(convert<f16>(x)), (Values{65504, INFINITY, -INFINITY}));
  EXPECT_EQ(wide(convert<f8e5m2>(std::vector<f32>{61439, 61440, -INFINITY})),
            (Values{57344, INFINITY, -INFINITY}));
  auto y = convert<f8e4m3>(std::vector<f32>{464, 464.1f, -1e9f, infinity, NAN});
  EXPECT_EQ(float(y[0]), 448); // halfway to what would be 480
  for (size_t i = 1; i < y.size(); ++i)
    EXPECT_TRUE(std::isnan(float(y[i]))) << i;
}

TEST_P(Rules, IntegersRoundOnceToFloats) {
  std::vector<i32> x = {16777217, -16777217, 2049, 70000};
  EXPECT_EQ(wide(convert<f32>(x)), (Values{16777216, -16777216, 2049, 70000}));
  EXPECT_EQ(wide(convert<f16>(x)), (Values{INFINITY, -INFINITY, 2048, INFINITY}));
}

TEST_P(Rules, NarrowIntegersWrap) {
  EXPECT_EQ(wide(convert<i8>(std::vector<i32>{127, 128, 70000, -129})),
            (Values{127, -128, 112, 127}));
}

INSTANTIATE_TEST_SUITE_P(Cpu, Rules,
                         testing::Values(Target::Kind::Native, Target::Kind::Interpreter),
                         [](const auto &info) {
                           return info.param == Target::Kind::Native ? "Native" : "Interpreter";
                         });

// A double is rounded to f32 on its way to a narrower type in native code; the
// interpreter rounds once. They differ by one unit in the last place, and only
// for values that lie within 2^-25 of the middle between two numbers.
TEST(RulesOfDouble, NarrowingGoesThroughFloatInNativeCode) {
  for (auto [target, want] :
       {std::pair(Target::native(), 1.0), std::pair(Target::interpreter(), 1 + 0x1p-10)}) {
    auto kernel = compile(
        [](Block &b, In<f64, 1> X, Out<f16, 1> Y) {
          auto x = b.local<f64>(1);
          b.copy(X.at(0), x);
          b.copy(x, Y.at(0));
        },
        target);
    std::vector<f64> x = {1 + 0x1p-11 + 0x1p-40};
    std::vector<f16> y(1);
    kernel(view(x, {1}), view(y, {1}));
    EXPECT_EQ(double(y[0]), want);
  }
}
