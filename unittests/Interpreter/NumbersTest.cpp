//===- NumbersTest.cpp - Numbers of each type against APFloat and plain C++
//===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's APFloat is an implementation of the same formats that shares nothing
// with ours.
//
//===----------------------------------------------------------------------===//
#include "Interpreter/Numbers.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace penstock;
using namespace penstock::interpreter;
using llvm::APFloat;

namespace {

constexpr auto nearest = APFloat::rmNearestTiesToEven;

struct Type {
  Element element;
  const llvm::fltSemantics &semantics;
};
const Type types[] = {{Element::f16, APFloat::IEEEhalf()},
                      {Element::bf16, APFloat::BFloat()},
                      {Element::f8e4m3, APFloat::Float8E4M3FN()},
                      {Element::f8e5m2, APFloat::Float8E5M2()},
                      {Element::f32, APFloat::IEEEsingle()}};

double toDouble(APFloat value) {
  bool lost;
  value.convert(APFloat::IEEEdouble(), nearest, &lost);
  return value.convertToDouble();
}

double reference(const Type &type, double value) {
  APFloat number(value);
  bool lost;
  number.convert(type.semantics, nearest, &lost);
  return toDouble(number);
}

void expectSame(double actual, double expected, const char *what, double in) {
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(actual)) << what << " of " << in;
    return;
  }
  ASSERT_EQ(actual, expected) << what << " of " << in;
  ASSERT_EQ(std::signbit(actual), std::signbit(expected)) << what;
}

TEST(Numbers, EveryPatternDecodesAndEncodes) {
  for (const Type &type : types) {
    if (type.element == Element::f32)
      continue;
    for (uint64_t bits = 0; bits < uint64_t(1) << widthOf(type.element); ++bits) {
      double expected = toDouble(APFloat(type.semantics, llvm::APInt(widthOf(type.element), bits)));
      Scalar value = decode(type.element, bits);
      expectSame(value.real, expected, "decode", double(bits));
      if (!std::isnan(expected))
        ASSERT_EQ(encode(type.element, value), bits);
    }
  }
}

TEST(Numbers, RoundsOnceToNearestEven) {
  std::mt19937_64 random(1);
  for (const Type &type : types) {
    int bits = type.element == Element::f32 ? 16 : widthOf(type.element);
    for (int i = 0; i < 200000; ++i) {
      // A number of the type, the tie above it, and the double next to the tie:
      // rounding through float first would take that for the tie itself.
      uint64_t pattern = random() & ((uint64_t(1) << bits) - 1);
      if (type.element == Element::f32)
        pattern = random() & 0xffffffffu;
      double low = decode(type.element, pattern).real;
      double high = decode(type.element, pattern + 1).real;
      double tie = low + (high - low) / 2;
      for (double value : {low, tie, std::nextafter(tie, low), std::nextafter(tie, high),
                           low * 1.0e3, low / 3.0, std::ldexp(low, int(random() % 600) - 300)})
        expectSame(roundTo(type.element, value), reference(type, value), "round", value);
    }
  }
}

TEST(Numbers, IntegersRoundOnce) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100000; ++i) {
    uint64_t value = random() >> (random() % 64);
    if (i % 3 == 0) // close to a tie in float
      value = (value | 1) << (random() % 30) ^ 1;
    EXPECT_EQ(fromUnsigned(Element::f64, value), static_cast<double>(value));
    EXPECT_EQ(fromUnsigned(Element::f32, value), static_cast<float>(value));
    EXPECT_EQ(fromSigned(Element::f32, static_cast<int64_t>(value)),
              static_cast<float>(static_cast<int64_t>(value)));
    for (const Type &type : types) {
      for (bool isSigned : {false, true}) {
        APFloat number(type.semantics);
        number.convertFromAPInt(llvm::APInt(64, value), isSigned, nearest);
        expectSame(isSigned ? fromSigned(type.element, int64_t(value))
                            : fromUnsigned(type.element, value),
                   toDouble(number), "integer", double(value));
      }
    }
  }
}

TEST(Numbers, ToIntegersSaturates) {
  double inputs[] = {0.0,     -0.0,     0.5,    -0.5,  -0.99,  1.5,      -1.5,      126.9,
                     127.0,   127.9,    128.0,  255.9, 256.0,  -128.0,   -128.9,    -129.0,
                     32767.,  -32768.5, 65536,  2.1e9, -2.2e9, 4.3e9,    9.2e18,    9.3e18,
                     -9.3e18, 1.8e19,   1.9e19, 1e300, -1e300, INFINITY, -INFINITY, NAN};
  for (double value : inputs)
    for (unsigned width : {1u, 8u, 16u, 32u, 64u}) {
      bool exact;
      for (bool isSigned : {true, false}) {
        llvm::APSInt expected(width, !isSigned);
        // APFloat saturates too, and gives 0 for NaN.
        APFloat(value).convertToInteger(expected, APFloat::rmTowardZero, &exact);
        EXPECT_EQ(isSigned ? toSigned(value, width) : toUnsigned(value, width),
                  llvm::APInt(expected).getSExtValue())
            << value << " to " << (isSigned ? "i" : "u") << width;
      }
    }
}

TEST(Numbers, FusedMultiplyAddRoundsOnce) {
  std::mt19937_64 random(3);
  for (const Type &type : types)
    for (int i = 0; i < 100000; ++i) {
      unsigned width = widthOf(type.element);
      APFloat numbers[3] = {APFloat(0.0), APFloat(0.0), APFloat(0.0)};
      double values[3];
      for (int j = 0; j < 3; ++j) {
        uint64_t bits = random() & ((uint64_t(1) << width) - 1);
        numbers[j] = APFloat(type.semantics, llvm::APInt(width, bits));
        values[j] = decode(type.element, bits).real;
      }
      APFloat expected = numbers[0];
      expected.fusedMultiplyAdd(numbers[1], numbers[2], nearest);
      expectSame(fusedMultiplyAdd(type.element, values[0], values[1], values[2]),
                 toDouble(expected), "fma", values[0]);
    }
  // Ties that a second rounding would get wrong: 1 + 2^-8 + a little, in bf16.
  double tiny = std::ldexp(1.0, -100);
  EXPECT_EQ(
      fusedMultiplyAdd(Element::bf16, 1.0 + std::ldexp(1.0, -4), 1.0 + std::ldexp(1.0, -4), tiny),
      reference(types[1], 1.12890625 + 1e-9));
}

TEST(Numbers, Wraps) {
  for (unsigned width : {1u, 8u, 16u, 32u, 64u})
    for (int64_t value : {int64_t(0), int64_t(1), int64_t(-1), int64_t(127), int64_t(128),
                          int64_t(255), int64_t(256), int64_t(-129), INT64_MAX, INT64_MIN}) {
      llvm::APInt bits = llvm::APInt(64, uint64_t(value)).trunc(width);
      EXPECT_EQ(wrap(uint64_t(value), width), bits.getSExtValue());
      EXPECT_EQ(unsignedOf(value, width), bits.getZExtValue());
    }
}

TEST(Numbers, Garbage) {
  for (const Type &type : types)
    EXPECT_TRUE(std::isnan(decode(type.element, garbage(type.element)).real));
  EXPECT_EQ(garbage(Element::i8), 0xcdu);
  EXPECT_EQ(garbage(Element::i64), 0xcdcdcdcdcdcdcdcdu);
  EXPECT_EQ(decode(Element::i1, garbage(Element::i1)).integer, -1);
}

} // namespace
