//===- Float.cpp - Number formats that the host does not have -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file is compiled with -frounding-math: the directed modes set the
// host's rounding mode around one operation.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Float.h"

#include <algorithm>
#include <cfenv>
#include <cmath>

namespace penstock::emu {
namespace {

class RoundingScope {
public:
  explicit RoundingScope(Round round) : saved(fegetround()) {
    int mode = round == Round::Zero   ? FE_TOWARDZERO
               : round == Round::Down ? FE_DOWNWARD
               : round == Round::Up   ? FE_UPWARD
                                      : FE_TONEAREST;
    if (mode != saved)
      fesetround(mode);
    else
      changed = false;
  }
  ~RoundingScope() {
    if (changed)
      fesetround(saved);
  }

private:
  int saved;
  bool changed = true;
};

/// Keeps the compiler from moving arithmetic across fesetround.
template <class T> T pin(T value) {
  volatile T copy = value;
  return copy;
}

} // namespace

uint32_t encodeFloat(double value, const FloatFormat &format, Round round, bool saturate) {
  unsigned mantissa = format.mantissaBits;
  uint32_t sign = std::signbit(value) ? 1u << (format.exponentBits + mantissa) : 0;
  uint32_t maxExponent = (1u << format.exponentBits) - 1;
  uint32_t allOnes = (maxExponent << mantissa) | ((1u << mantissa) - 1);
  uint32_t largest = format.hasInfinity ? (maxExponent << mantissa) - 1
                     : format.hasNaN    ? allOnes - 1
                                        : allOnes;
  if (std::isnan(value)) {
    if (!format.hasNaN)
      return largest; // formats without NaN take the largest value
    return format.hasInfinity && mantissa > 2 ? allOnes : allOnes;
  }
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  bool negative = sign != 0;
  if (!std::isinf(magnitude)) {
    int exponent;
    std::frexp(magnitude, &exponent); // magnitude in [0.5, 1) * 2^exponent
    int biased = exponent - 1 + format.bias;
    int shift = biased >= 1 ? exponent - 1 - int(mantissa) : 1 - format.bias - int(mantissa);
    double scaled = std::ldexp(magnitude, -shift); // units in the last place
    double floor = std::floor(scaled);
    double rest = scaled - floor;
    bool up = false;
    switch (round) {
    case Round::Nearest:
      up = rest > 0.5 || (rest == 0.5 && std::fmod(floor, 2) != 0);
      break;
    case Round::NearestAway:
      up = rest >= 0.5;
      break;
    case Round::Zero:
      break;
    case Round::Down:
      up = negative && rest > 0;
      break;
    case Round::Up:
      up = !negative && rest > 0;
      break;
    }
    uint64_t units = uint64_t(floor) + up;
    // A carry out of the mantissa moves into the exponent by itself.
    uint64_t bits = biased >= 1 ? (uint64_t(biased - 1) << mantissa) + units : units;
    if (bits <= largest)
      return sign | uint32_t(bits);
  }
  if (saturate || !format.hasInfinity)
    return sign | largest;
  bool toInfinity = std::isinf(magnitude) || round == Round::Nearest ||
                    round == Round::NearestAway || (round == Round::Up && !negative) ||
                    (round == Round::Down && negative);
  return sign | (toInfinity ? maxExponent << mantissa : largest);
}

float decodeFloat(uint32_t bits, const FloatFormat &format) {
  unsigned mantissaBits = format.mantissaBits;
  uint32_t maxExponent = (1u << format.exponentBits) - 1;
  bool negative = bits >> (format.exponentBits + mantissaBits) & 1;
  uint32_t exponent = bits >> mantissaBits & maxExponent;
  uint32_t mantissa = bits & ((1u << mantissaBits) - 1);
  double value;
  if (format.hasInfinity && exponent == maxExponent)
    value = mantissa ? NAN : INFINITY;
  else if (format.hasNaN && !format.hasInfinity && exponent == maxExponent &&
           mantissa == (1u << mantissaBits) - 1)
    value = NAN;
  else if (exponent == 0)
    value = std::ldexp(double(mantissa), 1 - format.bias - int(mantissaBits));
  else
    value = std::ldexp(double((1u << mantissaBits) | mantissa),
                       int(exponent) - format.bias - int(mantissaBits));
  return float(negative ? -value : value);
}

float decodeUE8M0(uint8_t bits) { return bits == 0xff ? NAN : std::ldexp(1.0f, int(bits) - 127); }

uint8_t encodeUE8M0(float value, bool up) {
  if (std::isnan(value))
    return 0xff;
  float magnitude = std::fabs(value);
  if (magnitude == 0)
    return 0;
  if (std::isinf(magnitude))
    return 0xfe;
  int exponent;
  float fraction = std::frexp(magnitude, &exponent);
  int biased = exponent - 1 + 127 + (up && fraction > 0.5f);
  return uint8_t(std::clamp(biased, 0, 254));
}

uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return 0x7fff;
  if (magnitude >= 0x477ff000) // 65520 and above round to infinity
    return uint16_t(sign | 0x7c00);
  if (magnitude >= 0x38800000) { // normal
    uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return uint16_t(sign | ((rounded - 0x38000000) >> 13));
  }
  if (magnitude < 0x33000000) // below half of the least subnormal
    return uint16_t(sign);
  unsigned exponent = magnitude >> 23;
  uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
  unsigned shift = 126 - exponent;
  uint32_t half = 1u << (shift - 1);
  uint32_t units = mantissa >> shift;
  uint32_t rest = mantissa & ((1u << shift) - 1);
  if (rest > half || (rest == half && (units & 1)))
    ++units;
  return uint16_t(sign | units);
}

double fmaToOdd(double a, double b, double c) {
  double sum = pin(std::fma(a, b, c));
  if (std::isnan(sum) || std::isinf(sum))
    return sum;
  // The product of two values of at most 26 bits is exact in double.
  double product = pin(a * b);
  double part = pin(sum - product);
  double error = (product - pin(sum - part)) + (c - part);
  if (error != 0 && !(std::bit_cast<uint64_t>(sum) & 1))
    sum = std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
  return sum;
}

#define PENSTOCK_ROUNDED2(NAME, T, EXPR)                                                           \
  T NAME(T a, T b, Round round) {                                                                  \
    RoundingScope scope(round);                                                                    \
    a = pin(a);                                                                                    \
    b = pin(b);                                                                                    \
    return pin(T(EXPR));                                                                           \
  }
PENSTOCK_ROUNDED2(addRounded, float, a + b)
PENSTOCK_ROUNDED2(mulRounded, float, a *b)
PENSTOCK_ROUNDED2(divRounded, float, a / b)
PENSTOCK_ROUNDED2(addRounded, double, a + b)
PENSTOCK_ROUNDED2(mulRounded, double, a *b)
PENSTOCK_ROUNDED2(divRounded, double, a / b)
#undef PENSTOCK_ROUNDED2

float fmaRounded(float a, float b, float c, Round round) {
  RoundingScope scope(round);
  return pin(std::fma(pin(a), pin(b), pin(c)));
}
double fmaRounded(double a, double b, double c, Round round) {
  RoundingScope scope(round);
  return pin(std::fma(pin(a), pin(b), pin(c)));
}
float sqrtRounded(float a, Round round) {
  RoundingScope scope(round);
  return pin(std::sqrt(pin(a)));
}
double sqrtRounded(double a, Round round) {
  RoundingScope scope(round);
  return pin(std::sqrt(pin(a)));
}
float narrowRounded(double a, Round round) {
  RoundingScope scope(round);
  return pin(float(pin(a)));
}
float intToFloatRounded(uint64_t bits, bool isSigned, Round round) {
  RoundingScope scope(round);
  bits = pin(bits);
  return pin(isSigned ? float(int64_t(bits)) : float(bits));
}
double intToDoubleRounded(uint64_t bits, bool isSigned, Round round) {
  RoundingScope scope(round);
  bits = pin(bits);
  return pin(isSigned ? double(int64_t(bits)) : double(bits));
}

} // namespace penstock::emu
