//===- HostFloat.h - Small floating types, by their definition --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the bits of a small type mean, from sign, exponent and mantissa; and the
// nearest code to a value, by search among the codes. Plain on purpose: the
// emulator is compared with this.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TEST_EMULATOR_KERNELS_HOSTFLOAT_H
#define PENSTOCK_TEST_EMULATOR_KERNELS_HOSTFLOAT_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace kernels {

struct SmallFloat {
  int exponentBits, mantissaBits;
  bool infinities; ///< as IEEE: the largest exponent is infinity and NaN
  bool nans;       ///< without infinities: the largest code is NaN

  int bits() const { return 1 + exponentBits + mantissaBits; }
  double value(uint32_t code) const {
    uint32_t mantissa = code & ((1u << mantissaBits) - 1);
    uint32_t exponent = code >> mantissaBits & ((1u << exponentBits) - 1);
    double sign = code >> (bits() - 1) & 1 ? -1 : 1;
    int bias = (1 << (exponentBits - 1)) - 1;
    bool top = exponent == (1u << exponentBits) - 1;
    if (infinities && top)
      return mantissa ? std::numeric_limits<double>::quiet_NaN()
                      : sign * std::numeric_limits<double>::infinity();
    if (nans && top && mantissa == (1u << mantissaBits) - 1)
      return std::numeric_limits<double>::quiet_NaN();
    if (exponent == 0)
      return sign * std::ldexp(double(mantissa), 1 - bias - mantissaBits);
    return sign * std::ldexp(1 + std::ldexp(double(mantissa), -mantissaBits), int(exponent) - bias);
  }
  /// To nearest even, and to the largest finite value beyond it.
  uint32_t nearest(double x) const {
    uint32_t signBit = std::signbit(x) ? 1u << (bits() - 1) : 0;
    double magnitude = std::fabs(x);
    // Codes without their sign grow with their values: halve until two
    // neighbors enclose the magnitude.
    uint32_t low = 0, high = (1u << (bits() - 1)) - 1;
    while (!std::isfinite(value(high)))
      --high;
    if (magnitude >= value(high))
      return high | signBit;
    while (high - low > 1) {
      uint32_t middle = (low + high) / 2;
      (value(middle) <= magnitude ? low : high) = middle;
    }
    double below = magnitude - value(low), above = value(high) - magnitude;
    uint32_t best = below < above ? low : above < below ? high : low % 2 ? high : low;
    return best | signBit;
  }
};

inline constexpr SmallFloat f16{5, 10, true, true}, bf16{8, 7, true, true};
inline constexpr SmallFloat e4m3{4, 3, false, true}, e5m2{5, 2, true, true};
inline constexpr SmallFloat e2m3{2, 3, false, false}, e3m2{3, 2, false, false};
inline constexpr SmallFloat e2m1{2, 1, false, false};

inline uint16_t halfBits(float x) { return std::bit_cast<uint16_t>(_Float16(x)); }
inline float halfValue(uint16_t bits) { return float(std::bit_cast<_Float16>(bits)); }
inline uint16_t bf16Bits(float x) { return uint16_t(std::bit_cast<uint32_t>(x) >> 16); }

} // namespace kernels

#endif // PENSTOCK_TEST_EMULATOR_KERNELS_HOSTFLOAT_H
