//===- RoundedFormulasTest.cpp - Quotients and roots of f32 on GPUs -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes the sequences that GPU kernels contain, and compares results with the host's division
// and square root, bit by bit. rcp.approx.ftz and rsqrt.approx.ftz may return any number within
// the bounds of the PTX ISA: each test tries all of them.
//
// The common path depends on exponents only by its thresholds, so that one exponent of each
// significand suffices. Quotients have too many pairs of significands. With a reciprocal rounded to
// nearest, the first product is within 1.5 ULP of the quotient, its correction has a relative error
// of 2^-24, and the remainder may be rounded by one unit of its last place: before the last
// rounding, the result is within 5 / (b 2^25) of the quotient a / b of 24-bit integers. It rounds
// incorrectly only if the quotient is that close to a point halfway between two numbers.
// closeToHalfway() lists more than these quotients.
//
// With PENSTOCK_ALL_NUMBERS set, tests take all numbers instead of a sample.
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/LLVM/RoundedFormulas.h"
#include "Emulator/Float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>

using namespace penstock;

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();

float fromBits(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t toBits(float value) { return std::bit_cast<uint32_t>(value); }

uint32_t sampled(uint32_t step) { return std::getenv("PENSTOCK_ALL_NUMBERS") ? 1 : step; }

/// Moves a number away from zero by \p steps ULP, or towards it.
float moved(float value, int steps) { return fromBits(toBits(value) + uint32_t(steps)); }

/// Executes a sequence on the host.
struct Machine {
  using Single = float;
  using Double = double;
  using Condition = bool;

  /// Error of the approximations in ULP, as far as the ISA allows it.
  int error = 0;

  float single(float value) { return value; }
  double wide(double value) { return value; }
  template <class T> T neg(T x) { return -x; }
  float abs(float x) { return std::fabs(x); }
  template <class T> T mul(T x, T y) { return x * y; }
  template <class T> T fma(T x, T y, T z) { return std::fma(x, y, z); }
  float fmaUp(float x, float y, float z) { return emu::fmaRounded(x, y, z, emu::Round::Up); }
  double widen(float x) { return x; }
  float narrow(double x) { return static_cast<float>(x); }
  bool notLess(float x, float y) { return x >= y; }
  bool equal(float x, float y) { return x == y; }
  bool differ(double x, double y) { return x < y || x > y; }
  bool both(bool x, bool y) { return x && y; }
  bool either(bool x, bool y) { return x || y; }
  template <class T> T select(bool condition, T x, T y) { return condition ? x : y; }
  template <class Rare> float ifElse(bool common, float result, Rare rare) {
    return common ? result : rare();
  }

  float approximateReciprocal(float x) {
    x = flushed(x);
    float y = 1 / x;
    if (!std::isnormal(y) && !std::isnormal(x))
      return y;
    float other = moved(y, error);
    int exponent = 0;
    bool power = std::fabs(std::frexp(x, &exponent)) == 0.5f; // 1 / x is a power of two
    double unit = std::ldexp(1.0, (power ? 1 : 0) - exponent - 23);
    // The product has 48 bits, so that it and the difference are exact.
    bool allowed = std::fabs(static_cast<double>(other) * x - 1) <= std::fabs(x * unit);
    return flushed(allowed ? other : y);
  }

  float approximateReciprocalRoot(float x) {
    x = flushed(x);
    double exact = 1 / std::sqrt(static_cast<double>(x));
    auto y = static_cast<float>(exact);
    if (!std::isnormal(y))
      return y;
    float other = moved(y, error);
    return std::fabs(other / exact - 1) <= std::exp2(-22.9) ? other : y;
  }

private:
  static float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }
};

using Formulas = nvptx::RoundedFormulas<Machine>;

/// Counts results that differ, and prints the first ones.
struct Differences {
  int64_t compared = 0, wrong = 0;

  void compare(float result, float expected, const Machine &machine, float a, float b = 0) {
    ++compared;
    bool same = std::isnan(expected) ? std::isnan(result) : toBits(result) == toBits(expected);
    if (same || ++wrong > 5)
      return;
    ADD_FAILURE() << std::hexfloat << "of " << a << " and " << b
                  << ", with an approximation off by " << machine.error << " ULP: " << result
                  << ", expected " << expected;
  }

  ~Differences() {
    EXPECT_EQ(wrong, 0);
    std::printf("compared: %lld\n", static_cast<long long>(compared));
  }
};

void compareReciprocal(Differences &found, float x) {
  for (int error : {-1, 0, 1}) {
    Machine machine{error};
    found.compare(Formulas(machine).reciprocal(x), 1 / x, machine, x);
  }
}

void compareQuotient(Differences &found, float a, float b) {
  for (int error : {-1, 0, 1}) {
    Machine machine{error};
    found.compare(Formulas(machine).quotient(a, b), a / b, machine, a, b);
  }
  if (!std::isnormal(b) || !std::isnormal(1 / b))
    return;
  Machine machine;
  found.compare(Formulas(machine).quotient(a, b, 1 / b), a / b, machine, a, b);
}

void compareRoot(Differences &found, float x) {
  for (int error : {-3, -2, -1, 0, 1, 2, 3}) {
    Machine machine{error};
    found.compare(Formulas(machine).root(x), std::sqrt(x), machine, x);
  }
}

/// Numbers at which a path of a sequence begins or ends, and their neighbors.
std::vector<float> edges() {
  std::vector<float> values = {0.0f, infinite, NAN, 3, 10, 0x1.fffffep+0f, 0x1.fffffep+127f};
  for (int exponent = -149; exponent <= 127; ++exponent) {
    float power = std::ldexp(1.0f, exponent);
    for (int steps : {-2, -1, 0, 1, 2})
      values.push_back(moved(power, steps));
    values.push_back(power * 1.5f);
  }
  size_t positive = values.size();
  for (size_t i = 0; i < positive; ++i)
    values.push_back(-values[i]);
  return values;
}

TEST(RoundedFormulas, ReciprocalsOfAllSignificands) {
  Differences found;
  for (uint32_t bits = 0; bits < 1u << 23; bits += sampled(5))
    compareReciprocal(found, fromBits(0x3f800000 | bits));
  compareReciprocal(found, 0x1.fffffep+0f);
  compareReciprocal(found, -0x1.fffffep+0f);
}

// Results of the two largest exponents are subnormal; subnormal arguments are flushed to zero by
// the approximation.
TEST(RoundedFormulas, ReciprocalsAtTheEndsOfTheRange) {
  Differences found;
  for (uint32_t exponent : {0u, 1u, 251u, 252u, 253u, 254u, 255u})
    for (uint32_t bits = 0; bits < 1u << 23; bits += sampled(61)) {
      compareReciprocal(found, fromBits(exponent << 23 | bits));
      compareReciprocal(found, fromBits(0x80000000 | exponent << 23 | bits));
    }
  for (float x : edges())
    compareReciprocal(found, x);
}

TEST(RoundedFormulas, RootsOfAllSignificands) {
  Differences found;
  for (uint32_t bits = 0; bits < 1u << 24; bits += sampled(13)) // both parities of the exponent
    compareRoot(found, fromBits(0x3f800000 + bits));
}

TEST(RoundedFormulas, RootsAtTheEndsOfTheRange) {
  Differences found;
  for (uint32_t exponent : {0u, 1u, 26u, 27u, 28u, 253u, 254u})
    for (uint32_t bits = 0; bits < 1u << 23; bits += sampled(127))
      compareRoot(found, fromBits(exponent << 23 | bits));
  for (float x : edges())
    compareRoot(found, x);
}

/// Calls \p each with a divisor b and all dividends a whose exact quotient is at most 16 / (b 2^25)
/// from a point halfway between two numbers. Such a point is T / 2^25 for quotients below one, and
/// T / 2^24 for others, with an odd integer T: then a 2^25 - b T is a small integer.
template <class Each> void closeToHalfway(uint32_t divisor, Each each) {
  int zeros = std::countr_zero(divisor);
  int64_t odd = divisor >> zeros, most = 16 >> zeros; // the integer is a multiple of 2^zeros
  for (int shift : {24, 25}) {
    // The inverse of 2^(shift - zeros) modulo the odd part of the divisor.
    int64_t inverse = 1 % odd;
    for (int i = zeros; i < shift; ++i)
      inverse = (inverse % 2 ? inverse + odd : inverse) / 2;
    for (int64_t difference = -most; difference <= most; ++difference) {
      if (difference == 0) // halfway takes more bits than a quotient has
        continue;
      int64_t dividend = ((inverse * difference) % odd + odd) % odd;
      if (dividend < 1 << 23)
        dividend += ((1 << 23) - dividend + odd - 1) / odd * odd;
      for (; dividend < 1 << 24; dividend += odd)
        if ((dividend >= divisor) == (shift == 24))
          each(static_cast<float>(dividend), static_cast<float>(divisor));
    }
  }
}

TEST(RoundedFormulas, QuotientsCloseToHalfway) {
  Differences found;
  for (uint32_t divisor = 1 << 23; divisor < 1 << 24; divisor += sampled(101))
    closeToHalfway(divisor, [&](float a, float b) { compareQuotient(found, a, b); });
}

// Its reciprocal is the only one that differs if e^2 is not added.
TEST(RoundedFormulas, QuotientsOfTheLargestSignificand) {
  Differences found;
  for (uint32_t bits = 0; bits < 1u << 23; bits += sampled(17))
    compareQuotient(found, fromBits(0x3f800000 | bits), 0x1.fffffep+0f);
}

TEST(RoundedFormulas, QuotientsOfEdges) {
  Differences found;
  std::vector<float> values = edges();
  uint32_t step = sampled(3);
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t k = i % step; k < values.size(); k += step)
      compareQuotient(found, values[i], values[k]);
}

TEST(RoundedFormulas, QuotientsOfRandomNumbers) {
  Differences found;
  std::mt19937 random(1);
  int64_t pairs = sampled(100) == 1 ? 100000000 : 1000000;
  for (int64_t i = 0; i < pairs; ++i) {
    uint32_t a = random(), b = random();
    if (i % 2) // quotients of the common path
      a = (a & 0x0fffffff) | 0x38000000, b = (b & 0x0fffffff) | 0x38000000;
    Machine machine{static_cast<int>(i % 3) - 1};
    found.compare(Formulas(machine).quotient(fromBits(a), fromBits(b)), fromBits(a) / fromBits(b),
                  machine, fromBits(a), fromBits(b));
  }
}

// A quotient with k bits below the smallest number: exactly halfway for k = 1.
TEST(RoundedFormulas, QuotientsThatAreSubnormal) {
  Differences found;
  std::mt19937 random(2);
  for (int64_t i = 0; i < (sampled(100) == 1 ? 10000000 : 100000); ++i) {
    uint32_t divisor = random() >> (12 + random() % 12) | 1,
             quotient = random() >> (20 + random() % 12);
    int below = static_cast<int>(random() % 4), exponent = static_cast<int>(random() % 120);
    auto b = std::ldexp(static_cast<float>(divisor), exponent - 20);
    auto a = static_cast<float>(
        std::ldexp(static_cast<double>(divisor) * quotient, exponent - 20 - 149 - below));
    compareQuotient(found, i % 2 ? a : -a, b);
    compareQuotient(found, moved(a, 1), b);
  }
}

} // namespace
