//===- Float.h - Number formats that the host does not have -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between f32 and the narrow formats of tensor cores, with PTX's
// rounding. Every narrow format goes through one function that rounds a double
// to a sign, an exponent and a mantissa of given widths; f16 and bf16 have fast
// paths because kernels convert millions of them.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_FLOAT_H
#define PENSTOCK_EMULATOR_FLOAT_H

#include <bit>
#include <cstdint>

namespace penstock::emu {

enum class Round : uint8_t {
  Nearest, ///< ties to even
  Zero,
  Down,
  Up,
  NearestAway, ///< ties away from zero
};

struct FloatFormat {
  unsigned exponentBits;
  unsigned mantissaBits;
  int bias;
  bool hasInfinity; ///< the largest exponent means infinity and NaN
  bool hasNaN;      ///< without infinity: only the all-ones pattern is NaN
};

inline constexpr FloatFormat formatF16 = {5, 10, 15, true, true};
inline constexpr FloatFormat formatBF16 = {8, 7, 127, true, true};
inline constexpr FloatFormat formatE4M3 = {4, 3, 7, false, true};
inline constexpr FloatFormat formatE5M2 = {5, 2, 15, true, true};
inline constexpr FloatFormat formatE2M3 = {2, 3, 1, false, false};
inline constexpr FloatFormat formatE3M2 = {3, 2, 3, false, false};
inline constexpr FloatFormat formatE2M1 = {2, 1, 1, false, false};

/// Rounds \p value into \p format. Too large values become infinity or, with
/// \p saturate or in formats without infinity, the largest finite value.
uint32_t encodeFloat(double value, const FloatFormat &format, Round round, bool saturate);
float decodeFloat(uint32_t bits, const FloatFormat &format);

/// Powers of two, 0xff is NaN.
float decodeUE8M0(uint8_t bits);
uint8_t encodeUE8M0(float value, bool up);

inline float halfToFloat(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16;
  uint32_t magnitude = h & 0x7fff;
  if (magnitude >= 0x7c00)
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude >= 0x400)
    return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
  // Subnormal: an integer times 2^-24.
  float value = float(magnitude) * 5.9604644775390625e-8f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

uint16_t floatToHalf(float value);

inline float bf16ToFloat(uint16_t b) { return std::bit_cast<float>(uint32_t(b) << 16); }

inline uint16_t floatToBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fff;
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// Returns the tf32 value that a tensor core reads from a 32-bit register.
inline float truncateToTf32(uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000u); }

/// a * b + c rounded to double by "round to odd", so that one more rounding to
/// a narrower format gives the correctly rounded result.
double fmaToOdd(double a, double b, double c);

/// Operations with a directed rounding mode.
float addRounded(float a, float b, Round round);
float mulRounded(float a, float b, Round round);
float fmaRounded(float a, float b, float c, Round round);
float divRounded(float a, float b, Round round);
float sqrtRounded(float a, Round round);
double addRounded(double a, double b, Round round);
double mulRounded(double a, double b, Round round);
double fmaRounded(double a, double b, double c, Round round);
double divRounded(double a, double b, Round round);
double sqrtRounded(double a, Round round);
float narrowRounded(double a, Round round);
float intToFloatRounded(uint64_t bits, bool isSigned, Round round);
double intToDoubleRounded(uint64_t bits, bool isSigned, Round round);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_FLOAT_H
