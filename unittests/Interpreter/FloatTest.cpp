//===- FloatTest.cpp - Floating point and conversions against plain C++ ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Harness.h"
#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace penstock;
using namespace penstock::test;
using llvm::APFloat;

namespace {

/// Bits of a type and its numbers, with LLVM's arithmetic as the reference.
template <class T> struct Floating;
#define FLOATING(TYPE, BITS, SEMANTICS)                                                            \
  template <> struct Floating<TYPE> {                                                              \
    using Bits = BITS;                                                                             \
    static const llvm::fltSemantics &semantics() { return APFloat::SEMANTICS(); }                  \
  };
FLOATING(f16, uint16_t, IEEEhalf)
FLOATING(bf16, uint16_t, BFloat)
FLOATING(f8e4m3, uint8_t, Float8E4M3FN)
FLOATING(f8e5m2, uint8_t, Float8E5M2)
FLOATING(float, uint32_t, IEEEsingle)
FLOATING(double, uint64_t, IEEEdouble)

template <class T> uint64_t bitsOf(T value) {
  typename Floating<T>::Bits bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
template <class T> T withBits(uint64_t bits) {
  auto narrow = static_cast<typename Floating<T>::Bits>(bits);
  T value;
  std::memcpy(static_cast<void *>(&value), &narrow, sizeof narrow);
  return value;
}
template <class T> APFloat exact(T value) {
  return APFloat(Floating<T>::semantics(), llvm::APInt(sizeof(T) * 8, bitsOf(value)));
}
template <class T> void expectNumber(T actual, APFloat expected) {
  if (expected.isNaN())
    ASSERT_TRUE(exact(actual).isNaN());
  else
    ASSERT_EQ(bitsOf(actual), expected.bitcastToAPInt().getZExtValue());
}

/// Zeros, infinities, NaN, the smallest and largest numbers, and random ones.
template <class T> std::vector<T> numbers() {
  const llvm::fltSemantics &semantics = Floating<T>::semantics();
  std::vector<T> values;
  for (bool negative : {false, true})
    for (const APFloat &value :
         {APFloat::getZero(semantics, negative), APFloat::getLargest(semantics, negative),
          APFloat::getSmallest(semantics, negative),
          APFloat::getSmallestNormalized(semantics, negative),
          APFloat::getNaN(semantics, negative)})
      values.push_back(withBits<T>(value.bitcastToAPInt().getZExtValue()));
  if (APFloat::semanticsHasInf(semantics))
    for (bool negative : {false, true})
      values.push_back(
          withBits<T>(APFloat::getInf(semantics, negative).bitcastToAPInt().getZExtValue()));
  for (float value : {1.0f, -1.0f, 0.5f, 1.5f, 2.5f, 3.0f, -7.0f, 100.0f})
    values.push_back(T(value));
  std::mt19937_64 random(5);
  for (int i = 0; i < 30; ++i)
    values.push_back(withBits<T>(random()));
  return values;
}

template <class T> void pairsOfNumbers(Tensor<T> &a, Tensor<T> &b) {
  std::vector<T> values = numbers<T>(), x, y;
  for (T left : values)
    for (T right : values) {
      x.push_back(left);
      y.push_back(right);
    }
  a = Tensor<T>::with(x);
  b = Tensor<T>::with(y);
}

template <class T> void testFloats() {
  constexpr Element element = detail::ElementOf<T>::value;
  SCOPED_TRACE(mlirName(element));
  constexpr auto nearest = APFloat::rmNearestTiesToEven;
  std::pair<const char *, APFloat (*)(APFloat, APFloat)> ops[] = {
      {"arith.addf",
       [](APFloat a, APFloat b) {
         a.add(b, nearest);
         return a;
       }},
      {"arith.subf",
       [](APFloat a, APFloat b) {
         a.subtract(b, nearest);
         return a;
       }},
      {"arith.mulf",
       [](APFloat a, APFloat b) {
         a.multiply(b, nearest);
         return a;
       }},
      {"arith.divf",
       [](APFloat a, APFloat b) {
         a.divide(b, nearest);
         return a;
       }},
      {"arith.remf",
       [](APFloat a, APFloat b) {
         a.mod(b);
         return a;
       }},
      {"arith.maximumf", [](APFloat a, APFloat b) { return maximum(a, b); }},
      {"arith.minimumf", [](APFloat a, APFloat b) { return minimum(a, b); }},
      {"arith.maxnumf", [](APFloat a, APFloat b) { return maximumnum(a, b); }},
      {"arith.minnumf", [](APFloat a, APFloat b) { return minimumnum(a, b); }},
  };
  Tensor<T> A({0}), B({0});
  pairsOfNumbers(A, B);
  for (auto [op, expected] : ops) {
    SCOPED_TRACE(op);
    Tensor<T> C({A.length});
    runClean(binaryText(op, element, element, mlirName(element)), {A, B, C});
    for (int64_t i = 0; i < A.length; ++i) {
      SCOPED_TRACE(std::to_string(double(A(i))) + ", " + std::to_string(double(B(i))));
      expectNumber(C(i), expected(exact(A(i)), exact(B(i))));
      if (testing::Test::HasFatalFailure())
        return;
    }
  }
  // Negation flips the sign of everything.
  Tensor<T> C({A.length});
  runClean(unaryText("arith.negf", element, element, mlirName(element)), {A, B, C});
  for (int64_t i = 0; i < A.length; ++i)
    expectNumber(C(i), neg(exact(A(i))));
}

TEST(Arith, FloatsF16) { testFloats<f16>(); }
TEST(Arith, FloatsBF16) { testFloats<bf16>(); }
TEST(Arith, FloatsE4M3) { testFloats<f8e4m3>(); }
TEST(Arith, FloatsE5M2) { testFloats<f8e5m2>(); }
TEST(Arith, FloatsF32) { testFloats<float>(); }
TEST(Arith, FloatsF64) { testFloats<double>(); }

TEST(Arith, CompareFloats) {
  using Ord = bool (*)(float, float);
  auto nan = [](float a, float b) { return std::isnan(a) || std::isnan(b); };
  std::pair<const char *, Ord> ordered[] = {
      {"eq", [](float a, float b) { return a == b; }},
      {"gt", [](float a, float b) { return a > b; }},
      {"ge", [](float a, float b) { return a >= b; }},
      {"lt", [](float a, float b) { return a < b; }},
      {"le", [](float a, float b) { return a <= b; }},
      {"ne", [](float a, float b) { return a < b || a > b; }}};
  std::vector<std::pair<std::string, std::function<bool(float, float)>>> all = {
      {"false", [](float, float) { return false; }},
      {"true", [](float, float) { return true; }},
      {"ord", [=](float a, float b) { return !nan(a, b); }},
      {"uno", [=](float a, float b) { return nan(a, b); }}};
  for (auto [name, function] : ordered) {
    Ord plain = function;
    all.emplace_back(std::string("o") + name, plain);
    all.emplace_back(std::string("u") + name,
                     [=](float a, float b) { return nan(a, b) || plain(a, b); });
  }
  ASSERT_EQ(all.size(), 16u);
  Tensor<float> A({0}), B({0});
  pairsOfNumbers(A, B);
  for (auto &[name, expected] : all) {
    Tensor<bool> C({A.length});
    runClean(binaryText("arith.cmpf " + name + ",", Element::f32, Element::i1, "f32"), {A, B, C});
    for (int64_t i = 0; i < A.length; ++i)
      ASSERT_EQ(C(i), expected(A(i), B(i))) << name << " " << A(i) << ", " << B(i);
  }
}

//===----------------------------------------------------------------------===//
// Choices and conversions
//===----------------------------------------------------------------------===//

TEST(Arith, Select) {
  const char *text = R"(
func.func @select(%c: i1, %x: f16, %y: f16, %C: !g1f16) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %z = arith.select %c, %x, %y : f16
  tile.store %z, %C[%c0] : f16, !g1f16
  return
})";
  Program program(text);
  Tensor<f16> C({1});
  program.runClean({scalar(true), scalar(f16(1.5f)), scalar(f16(-3.0f)), C});
  EXPECT_EQ(float(C(0)), 1.5f);
  program.runClean({scalar(false), scalar(f16(1.5f)), scalar(f16(-3.0f)), C});
  EXPECT_EQ(float(C(0)), -3.0f);
}

/// Converts every value and compares with \p expected.
template <class From, class To>
void testConversion(const char *op, const std::vector<From> &values,
                    const std::function<void(From, To)> &check) {
  constexpr Element from = detail::ElementOf<From>::value;
  constexpr Element to = detail::ElementOf<To>::value;
  SCOPED_TRACE(std::string(op) + " " + mlirName(from) + " to " + mlirName(to));
  Tensor<From> A = Tensor<From>::with(values);
  Tensor<To> C({A.length});
  runClean(unaryText(op, from, to, std::string(mlirName(from)) + " to " + mlirName(to)), {A, A, C});
  for (int64_t i = 0; i < A.length; ++i) {
    check(A(i), C(i));
    if (testing::Test::HasFatalFailure())
      return;
  }
}

template <class From, class To> void testFloatToFloat(const char *op) {
  testConversion<From, To>(op, numbers<From>(), [](From in, To out) {
    APFloat expected = exact(in);
    bool lost;
    expected.convert(Floating<To>::semantics(), APFloat::rmNearestTiesToEven, &lost);
    expectNumber(out, expected);
  });
}

TEST(Arith, ExtendAndTruncateFloats) {
  testFloatToFloat<f16, float>("arith.extf");
  testFloatToFloat<bf16, float>("arith.extf");
  testFloatToFloat<bf16, double>("arith.extf");
  testFloatToFloat<f8e4m3, f16>("arith.extf");
  testFloatToFloat<f8e5m2, bf16>("arith.extf");
  testFloatToFloat<f8e5m2, double>("arith.extf");
  testFloatToFloat<float, double>("arith.extf");
  testFloatToFloat<double, float>("arith.truncf");
  testFloatToFloat<double, f16>("arith.truncf");
  testFloatToFloat<double, bf16>("arith.truncf");
  testFloatToFloat<double, f8e4m3>("arith.truncf");
  testFloatToFloat<float, f16>("arith.truncf");
  testFloatToFloat<float, bf16>("arith.truncf");
  testFloatToFloat<float, f8e4m3>("arith.truncf");
  testFloatToFloat<float, f8e5m2>("arith.truncf");
  testFloatToFloat<f16, f8e4m3>("arith.truncf");
}

template <class T> void testIntegerToFloat() {
  using U = std::make_unsigned_t<T>;
  auto check = [](bool isSigned) {
    return [=](T in, auto out) {
      APFloat expected(Floating<decltype(out)>::semantics());
      llvm::APInt bits(sizeof(T) * 8, U(in));
      expected.convertFromAPInt(bits, isSigned, APFloat::rmNearestTiesToEven);
      expectNumber(out, expected);
    };
  };
  testConversion<T, float>("arith.sitofp", interesting<T>(), check(true));
  testConversion<T, float>("arith.uitofp", interesting<T>(), check(false));
  testConversion<T, double>("arith.sitofp", interesting<T>(), check(true));
  testConversion<T, double>("arith.uitofp", interesting<T>(), check(false));
  testConversion<T, f16>("arith.sitofp", interesting<T>(), check(true));
  testConversion<T, bf16>("arith.uitofp", interesting<T>(), check(false));
  testConversion<T, f8e4m3>("arith.sitofp", interesting<T>(), check(true));
}

TEST(Arith, IntegersToFloats) {
  testIntegerToFloat<int8_t>();
  testIntegerToFloat<int16_t>();
  testIntegerToFloat<int32_t>();
  testIntegerToFloat<int64_t>();
  auto is = [](float yes) { return [=](bool in, float out) { ASSERT_EQ(out, in ? yes : 0.0f); }; };
  testConversion<bool, float>("arith.sitofp", {false, true}, is(-1.0f));
  testConversion<bool, float>("arith.uitofp", {false, true}, is(1.0f));
}

template <class From, class To> void testFloatToInteger() {
  using U = std::make_unsigned_t<To>;
  testConversion<From, To>("arith.fptosi", numbers<From>(), [](From in, To out) {
    double value = std::trunc(double(in));
    double limit = std::ldexp(1.0, sizeof(To) * 8 - 1);
    To expected = std::isnan(value) ? To(0)
                  : value >= limit  ? std::numeric_limits<To>::max()
                  : value < -limit  ? std::numeric_limits<To>::min()
                                    : To(value);
    ASSERT_EQ(out, expected) << value;
  });
  testConversion<From, To>("arith.fptoui", numbers<From>(), [](From in, To out) {
    double value = std::trunc(double(in));
    double limit = std::ldexp(1.0, sizeof(To) * 8);
    U expected = std::isnan(value) || value <= 0 ? U(0)
                 : value >= limit                ? std::numeric_limits<U>::max()
                                                 : U(value);
    ASSERT_EQ(U(out), expected) << value;
  });
}

TEST(Arith, FloatsToIntegers) {
  testFloatToInteger<float, int8_t>();
  testFloatToInteger<float, int16_t>();
  testFloatToInteger<float, int32_t>();
  testFloatToInteger<float, int64_t>();
  testFloatToInteger<double, int32_t>();
  testFloatToInteger<double, int64_t>();
  testFloatToInteger<f16, int8_t>();
  testFloatToInteger<bf16, int64_t>();
  testFloatToInteger<f8e4m3, int8_t>();
  testFloatToInteger<f8e5m2, int16_t>();
}

template <class From, class To> void testWiden() {
  using UFrom = std::make_unsigned_t<From>;
  testConversion<From, To>("arith.extsi", interesting<From>(),
                           [](From in, To out) { ASSERT_EQ(out, To(in)); });
  testConversion<From, To>("arith.extui", interesting<From>(),
                           [](From in, To out) { ASSERT_EQ(out, To(UFrom(in))); });
  testConversion<To, From>("arith.trunci", interesting<To>(),
                           [](To in, From out) { ASSERT_EQ(out, From(in)); });
}

TEST(Arith, WidenAndNarrowIntegers) {
  testWiden<int8_t, int16_t>();
  testWiden<int8_t, int64_t>();
  testWiden<int16_t, int32_t>();
  testWiden<int32_t, int64_t>();
  testConversion<bool, int32_t>("arith.extsi", {false, true},
                                [](bool in, int32_t out) { ASSERT_EQ(out, in ? -1 : 0); });
  testConversion<bool, int32_t>("arith.extui", {false, true},
                                [](bool in, int32_t out) { ASSERT_EQ(out, in ? 1 : 0); });
  testConversion<int32_t, bool>("arith.trunci", {0, 1, 2, 3, -1},
                                [](int32_t in, bool out) { ASSERT_EQ(out, (in & 1) != 0); });
}

TEST(Arith, Bitcasts) {
  auto same = [](auto in, auto out) { ASSERT_EQ(std::memcmp(&in, &out, sizeof in), 0); };
  testConversion<int32_t, float>("arith.bitcast", {0, 1, -1 << 31, 0x3f800000, 0x7f800000}, same);
  testConversion<float, int32_t>("arith.bitcast", {0.0f, -0.0f, 1.5f, -3e38f}, same);
  testConversion<f16, int16_t>("arith.bitcast", {f16(1.5f), f16(-2.0f)}, same);
  testConversion<int8_t, f8e4m3>("arith.bitcast", {0, 1, -2, 100}, same);
  testConversion<int64_t, double>("arith.bitcast", {0, 1, 1ll << 62}, same);
  testConversion<bf16, f16>("arith.bitcast", {bf16(1.0f), bf16(-0.5f)}, same);
}

TEST(Arith, IndexCasts) {
  const char *text = R"(
func.func @casts(%x: i8, %C: !g1i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %big = arith.constant 4294967298 : index
  %signed = arith.index_cast %x : i8 to index
  %unsigned = arith.index_castui %x : i8 to index
  %cut = arith.index_cast %big : index to i32
  %a = arith.index_cast %signed : index to i64
  %b = arith.index_cast %unsigned : index to i64
  %c = arith.extsi %cut : i32 to i64
  tile.store %a, %C[%c0] : i64, !g1i64
  tile.store %b, %C[%c1] : i64, !g1i64
  tile.store %c, %C[%c2] : i64, !g1i64
  return
})";
  Tensor<i64> C({3});
  runClean(text, {scalar(int8_t(-3)), C});
  EXPECT_EQ(C(0), -3);
  EXPECT_EQ(C(1), 253);
  EXPECT_EQ(C(2), 2);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// The functions are computed in more precision than the type has, so the
/// reference may do the same with the C library's long double.
template <class T>
void testFunction(const char *op, long double (*function)(long double), double from, double to) {
  constexpr Element element = detail::ElementOf<T>::value;
  SCOPED_TRACE(op);
  std::vector<T> values;
  for (T value : numbers<T>())
    if (double(value) >= from && double(value) <= to)
      values.push_back(value);
  ASSERT_GE(values.size(), 5u);
  Tensor<T> A = Tensor<T>::with(values), C({A.length});
  runClean(unaryText(op, element, element, mlirName(element)), {A, A, C});
  for (int64_t i = 0; i < A.length; ++i) {
    double expected = static_cast<double>(function(double(A(i))));
    // One unit in the last place of double, for f64; exact for narrower types.
    double tolerance = sizeof(T) == 8 ? std::fabs(expected) * 4e-16 : 0.0;
    double rounded = sizeof(T) == 8 ? expected : double(T(float(expected)));
    if (std::isnan(rounded))
      ASSERT_TRUE(std::isnan(double(C(i)))) << double(A(i));
    else if (std::isinf(rounded))
      ASSERT_EQ(double(C(i)), rounded) << double(A(i));
    else
      ASSERT_NEAR(double(C(i)), rounded, tolerance) << double(A(i));
  }
}

template <class T> void testFunctions() {
  constexpr Element element = detail::ElementOf<T>::value;
  SCOPED_TRACE(mlirName(element));
  double all = INFINITY, trig = 1e6;
  testFunction<T>("math.exp", std::exp, -all, all);
  testFunction<T>("math.exp2", std::exp2, -all, all);
  testFunction<T>("math.log", std::log, -all, all);
  testFunction<T>("math.log2", std::log2, -all, all);
  testFunction<T>("math.sqrt", std::sqrt, -all, all);
  testFunction<T>("math.rsqrt", [](long double x) { return 1.0L / std::sqrt(x); }, -all, all);
  testFunction<T>("math.tanh", std::tanh, -all, all);
  testFunction<T>("math.erf", std::erf, -all, all);
  testFunction<T>("math.sin", std::sin, -trig, trig);
  testFunction<T>("math.cos", std::cos, -trig, trig);
  testFunction<T>("math.absf", [](long double x) { return x < 0 ? -x : x; }, -all, all);
  testFunction<T>("math.floor", std::floor, -all, all);
  testFunction<T>("math.ceil", std::ceil, -all, all);
  testFunction<T>(
      "math.roundeven",
      [](long double x) -> long double {
        long double below = std::floor(x), part = x - below;
        if (std::isinf(x))
          return x;
        if (part == 0.5L)
          return std::fmod(below, 2.0L) == 0 ? below : below + 1;
        return part < 0.5L ? below : below + 1;
      },
      -all, all);
}

TEST(Math, FunctionsF32) { testFunctions<float>(); }
TEST(Math, FunctionsF64) { testFunctions<double>(); }
TEST(Math, FunctionsF16) { testFunctions<f16>(); }
TEST(Math, FunctionsBF16) { testFunctions<bf16>(); }

TEST(Math, AbsoluteIntegers) {
  Tensor<i32> A = Tensor<i32>::with({0, 5, -5, INT32_MAX, INT32_MIN}), C({5});
  runClean(unaryText("math.absi", Element::i32, Element::i32, "i32"), {A, A, C});
  i32 expected[] = {0, 5, 5, INT32_MAX, INT32_MIN};
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(C(i), expected[i]);
}

TEST(Math, FusedMultiplyAdd) {
  const char *text = R"(
func.func @fma(%A: !g1f32, %B: !g1f32, %C: !g1f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %A, %c0 : !g1f32
  scf.for %i = %c0 to %n step %c1 {
    %a = tile.load %A[%i] : !g1f32 -> f32
    %b = tile.load %B[%i] : !g1f32 -> f32
    %c = tile.load %C[%i] : !g1f32 -> f32
    %r = math.fma %a, %b, %c : f32
    tile.store %r, %C[%i] : f32, !g1f32
  }
  return
})";
  Tensor<float> A({0}), B({0});
  pairsOfNumbers(A, B);
  Tensor<float> C({A.length}), before({A.length});
  for (int64_t i = 0; i < A.length; ++i)
    C(i) = before(i) = -A(i) * B(i); // so that fma gives the rounding error
  runClean(text, {A, B, C});
  for (int64_t i = 0; i < A.length; ++i) {
    APFloat expected = exact(A(i));
    expected.fusedMultiplyAdd(exact(B(i)), exact(before(i)), APFloat::rmNearestTiesToEven);
    expectNumber(C(i), expected);
  }
}

} // namespace
