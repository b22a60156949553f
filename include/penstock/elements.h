//===- elements.h - Element types of tiles and tensors ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The narrow floating-point types as host types: they hold bits, convert to and
// from float with rounding to nearest even, and name element types in
// `In<f16, 2>`. Wider types are aliases of C++ types.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ELEMENTS_H
#define PENSTOCK_ELEMENTS_H

#include "penstock/export.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace penstock {

// Artifacts store these numbers; new elements come last.
enum class Element : uint8_t {
  f16,
  bf16,
  f32,
  f64,
  f8e4m3,
  f8e5m2,
  i1,
  i8,
  i16,
  i32,
  i64,
  index,
  f8e8m0,
  f4e2m1x2,
  i4x2,
  f6e2m3_packed,
  f6e3m2_packed
};

namespace detail {

template <class To, class From> To bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// A binary floating-point format with the given widths. `finite` formats have
/// no infinity and one NaN (all ones); they overflow to NaN, as e4m3fn does.
template <int ExponentBits, int MantissaBits, bool Finite> struct Format {
  static constexpr int bias = (1 << (ExponentBits - 1)) - 1;
  static constexpr uint32_t exponentMask = (1u << ExponentBits) - 1;
  static constexpr uint32_t mantissaMask = (1u << MantissaBits) - 1;
  static constexpr uint32_t signBit = 1u << (ExponentBits + MantissaBits);
  static constexpr uint32_t infinityBits = exponentMask << MantissaBits;
  static constexpr uint32_t nanBits =
      Finite ? infinityBits | mantissaMask : infinityBits | (1u << (MantissaBits - 1));
  /// The largest finite magnitude.
  static constexpr uint32_t largestBits = Finite ? nanBits - 1 : infinityBits - 1;

  static uint32_t fromFloat(float value) {
    uint32_t in = bits<uint32_t>(value);
    uint32_t sign = in >> 31 ? signBit : 0;
    uint32_t magnitude = in & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
      return sign | nanBits;
    if (magnitude == 0x7f800000u)
      return sign | (Finite ? nanBits : infinityBits);
    int exponent = static_cast<int>(magnitude >> 23) - 127;
    uint64_t mantissa = magnitude & 0x7fffffu;
    if (magnitude >> 23)
      mantissa |= 0x800000u;
    else
      exponent = -126;
    // Shift the 24-bit significand so that one unit is the target's last bit.
    int shift = 23 - MantissaBits;
    int target = exponent + bias;
    if (target < 1) {
      shift += 1 - target;
      target = 1;
    }
    if (shift > 40)
      return sign;
    uint64_t kept = mantissa >> shift;
    uint64_t rest = mantissa & ((uint64_t(1) << shift) - 1);
    uint64_t half = uint64_t(1) << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));
    // A carry out of the mantissa moves into the exponent by itself.
    uint64_t result = (uint64_t(target - 1) << MantissaBits) + kept;
    if (result > largestBits)
      return sign | (Finite ? nanBits : infinityBits);
    return sign | static_cast<uint32_t>(result);
  }

  static float toFloat(uint32_t in) {
    uint32_t sign = in & signBit ? 0x80000000u : 0;
    uint32_t magnitude = in & (signBit - 1);
    if (Finite ? magnitude == nanBits : magnitude > infinityBits)
      return bits<float>(sign | 0x7fc00000u);
    if (!Finite && magnitude == infinityBits)
      return bits<float>(sign | 0x7f800000u);
    uint32_t exponent = magnitude >> MantissaBits;
    uint32_t mantissa = magnitude & mantissaMask;
    float unit = 1.0f;
    int power = (exponent ? static_cast<int>(exponent) : 1) - bias - MantissaBits;
    unit = bits<float>(static_cast<uint32_t>(power + 127) << 23);
    if (power < -126) // bfloat16's subnormals are float's
      unit = bits<float>(1u << (power + 149));
    float significand = static_cast<float>(exponent ? mantissa | (mantissaMask + 1) : mantissa);
    return bits<float>(bits<uint32_t>(significand * unit) | sign);
  }
};

/// Powers of two from 2^-127 to 2^127, and NaN (255). No sign, no zero, no infinity.
struct PowerFormat {
  /// Rounds the magnitude to the nearest power of two, ties upward; zero becomes 2^-127, infinity
  /// becomes NaN. PyTorch's float8_e8m0fnu converts the same way.
  static uint32_t fromFloat(float value) {
    uint32_t in = bits<uint32_t>(value) & 0x7fffffffu, exponent = in >> 23;
    if (exponent == 255)
      return 255;
    uint32_t rest = in & 0x7fffffu, half = 0x400000u;
    // Without the implicit bit, half is 2^-127 itself, which is not rounded up.
    return exponent + (exponent ? rest >= half : rest > half);
  }
  static float toFloat(uint32_t in) {
    return bits<float>(in == 255 ? 0x7fc00000u : in ? in << 23 : 0x400000u);
  }
};

/// A host type that holds one narrow number.
template <class Bits, class F> struct Narrow {
  Bits raw = 0;

  Narrow() = default;
  Narrow(float value) : raw(static_cast<Bits>(F::fromFloat(value))) {}
  operator float() const { return F::toFloat(raw); }
};

} // namespace detail

struct f16 : detail::Narrow<uint16_t, detail::Format<5, 10, false>> {
  using Narrow::Narrow;
};
struct bf16 : detail::Narrow<uint16_t, detail::Format<8, 7, false>> {
  using Narrow::Narrow;
};
struct f8e4m3 : detail::Narrow<uint8_t, detail::Format<4, 3, true>> {
  using Narrow::Narrow;
};
struct f8e5m2 : detail::Narrow<uint8_t, detail::Format<5, 2, false>> {
  using Narrow::Narrow;
};
/// A power of two: the scale of a block of values.
struct f8e8m0 : detail::Narrow<uint8_t, detail::PowerFormat> {
  using Narrow::Narrow;
};

/// Two 4-bit floating-point values (0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives) in a byte; the
/// lower half has the lower index. Tensors count bytes along their last dimension.
struct f4e2m1x2 {
  uint8_t raw = 0;

  /// Two zeros, or two numbers that are rounded to f4e2m1.
  f4e2m1x2() = default;
  f4e2m1x2(float low, float high)
      : raw(static_cast<uint8_t>(fromFloat(low) | fromFloat(high) << 4)) {}
  /// Returns the first value.
  float low() const { return toFloat(raw & 15u); }
  /// Returns the second value.
  float high() const { return toFloat(raw >> 4); }

private:
  /// Rounds to nearest even; saturates beyond 6, and converts NaN to the largest magnitude.
  static uint32_t fromFloat(float value) {
    using Format = detail::Format<2, 1, false>;
    uint32_t in = detail::bits<uint32_t>(value), sign = in >> 31 << 3;
    float magnitude = detail::bits<float>(in & 0x7fffffffu);
    if (!(magnitude < 4.0f)) // Format has infinities there
      return sign | (magnitude <= 5.0f ? 6u : 7u);
    return sign | Format::fromFloat(magnitude);
  }
  static float toFloat(uint32_t in) {
    constexpr float magnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    return in & 8u ? -magnitudes[in & 7u] : magnitudes[in & 7u];
  }
};

/// Two signed 4-bit integers in a byte; the lower half has the lower index. Tensors count bytes
/// along their last dimension.
struct i4x2 {
  uint8_t raw = 0;

  i4x2() = default;
  /// Stores values from -8 to 7; of other values, the low four bits.
  i4x2(int low, int high) : raw(static_cast<uint8_t>((low & 15) | (high & 15) << 4)) {}
  /// Returns the first value.
  int low() const { return ((raw & 15) ^ 8) - 8; }
  /// Returns the second value.
  int high() const { return ((raw >> 4) ^ 8) - 8; }
};

namespace detail {

/// A floating-point format of 6 bits without infinities and NaN. All values are multiples of the
/// smallest one.
template <int ExponentBits, int MantissaBits> struct SixBitFormat {
  static constexpr int bias = (1 << (ExponentBits - 1)) - 1;
  static constexpr float smallest = 1.0f / float(1 << (bias + MantissaBits - 1));
  static constexpr uint32_t largestBits = 31;

  /// Rounds to nearest even; saturates, and converts NaN to the largest magnitude.
  static uint32_t fromFloat(float value) {
    uint32_t in = bits<uint32_t>(value), sign = in >> 31 << 5;
    float magnitude = bits<float>(in & 0x7fffffffu);
    if (!(magnitude < toFloat(largestBits)))
      return sign | largestBits;
    // Steps between values double with each exponent but the first.
    float step = smallest;
    uint32_t first = 0;
    for (; magnitude >= step * float(2 << MantissaBits); step *= 2)
      first += 1u << MantissaBits;
    float steps = magnitude / step;
    auto kept = static_cast<uint32_t>(steps);
    float rest = steps - static_cast<float>(kept);
    return sign | (first + kept + (rest > 0.5f || (rest == 0.5f && (kept & 1))));
  }
  static float toFloat(uint32_t in) {
    uint32_t exponent = in >> MantissaBits & ((1u << ExponentBits) - 1);
    uint32_t significand = in & ((1u << MantissaBits) - 1);
    if (exponent)
      significand = (significand | 1u << MantissaBits) << (exponent - 1);
    float magnitude = static_cast<float>(significand) * smallest;
    return in & 32u ? -magnitude : magnitude;
  }
};

} // namespace detail

/// A byte of densely packed 6-bit values: four take three bytes, the first one the lowest bits.
/// Values have 2 bits of exponent (multiples of 1/8 up to 7.5) or 3 (of 1/16 up to 28). Tensors
/// count bytes along their last dimension; `packed_value` and `set_packed_value` access values.
struct f6e2m3_packed {
  using Format = detail::SixBitFormat<2, 3>;
  uint8_t raw = 0;
};
struct f6e3m2_packed {
  using Format = detail::SixBitFormat<3, 2>;
  uint8_t raw = 0;
};

/// Returns a value of a row of f6e2m3_packed or f6e3m2_packed.
template <class P> float packed_value(const P *row, int64_t index) {
  const P *first = row + index / 4 * 3;
  uint32_t word = first[0].raw | uint32_t(first[1].raw) << 8 | uint32_t(first[2].raw) << 16;
  return P::Format::toFloat(word >> (6 * (index % 4)) & 63u);
}
/// Sets a value of a row, rounded to nearest even; saturates, and converts NaN to the largest
/// magnitude.
template <class P> void set_packed_value(P *row, int64_t index, float value) {
  P *first = row + index / 4 * 3;
  for (int bit = 0, at = int(6 * (index % 4)); bit < 6; ++bit, ++at) {
    auto mask = static_cast<uint8_t>(1u << (at % 8));
    bool set = P::Format::fromFloat(value) >> bit & 1u;
    uint8_t &byte = first[at / 8].raw;
    byte = static_cast<uint8_t>(set ? byte | mask : byte & ~mask);
  }
}

using f32 = float;
using f64 = double;
using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;

/// The type of sizes, offsets and loop indices inside a kernel.
struct index_t {};

namespace detail {

template <class T> struct ElementOf {
  static constexpr bool known = false;
};
#define PENSTOCK_ELEMENT(TYPE, NAME)                                                               \
  template <> struct ElementOf<TYPE> {                                                             \
    static constexpr bool known = true;                                                            \
    static constexpr Element value = Element::NAME;                                                \
  };
PENSTOCK_ELEMENT(f16, f16)
PENSTOCK_ELEMENT(bf16, bf16)
PENSTOCK_ELEMENT(float, f32)
PENSTOCK_ELEMENT(double, f64)
PENSTOCK_ELEMENT(f8e4m3, f8e4m3)
PENSTOCK_ELEMENT(f8e5m2, f8e5m2)
PENSTOCK_ELEMENT(bool, i1)
PENSTOCK_ELEMENT(int8_t, i8)
PENSTOCK_ELEMENT(int16_t, i16)
PENSTOCK_ELEMENT(int32_t, i32)
PENSTOCK_ELEMENT(uint32_t, i32)
PENSTOCK_ELEMENT(int64_t, i64)
PENSTOCK_ELEMENT(index_t, index)
PENSTOCK_ELEMENT(f8e8m0, f8e8m0)
PENSTOCK_ELEMENT(f4e2m1x2, f4e2m1x2)
PENSTOCK_ELEMENT(i4x2, i4x2)
PENSTOCK_ELEMENT(f6e2m3_packed, f6e2m3_packed)
PENSTOCK_ELEMENT(f6e3m2_packed, f6e3m2_packed)
#undef PENSTOCK_ELEMENT

template <class T>
inline constexpr bool isFloating =
    std::is_floating_point_v<T> || std::is_same_v<T, f16> || std::is_same_v<T, bf16> ||
    std::is_same_v<T, f8e4m3> || std::is_same_v<T, f8e5m2> || std::is_same_v<T, f8e8m0>;
template <class T>
inline constexpr bool isInteger =
    std::is_same_v<T, index_t> || (std::is_integral_v<T> && !std::is_same_v<T, bool>);
/// True for bytes of densely packed 6-bit values.
template <class T>
inline constexpr bool isSixBit =
    std::is_same_v<T, f6e2m3_packed> || std::is_same_v<T, f6e3m2_packed>;
/// True for bytes that pack values of fewer than 8 bits.
template <class T>
inline constexpr bool isPacked =
    std::is_same_v<T, f4e2m1x2> || std::is_same_v<T, i4x2> || isSixBit<T>;
/// True for operands that can have scales.
template <class T>
inline constexpr bool isScalable = std::is_same_v<T, f8e4m3> || std::is_same_v<T, f8e5m2> ||
                                   std::is_same_v<T, f4e2m1x2> || isSixBit<T>;

} // namespace detail
} // namespace penstock

#endif // PENSTOCK_ELEMENTS_H
