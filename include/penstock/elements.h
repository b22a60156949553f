//===- elements.h - Element types of tiles and tensors ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The narrow floating-point types as host types: they hold bits, convert to and
// from float with rounding to nearest even, and name element types in
// `In<f16, 2>`. Wider types are C++'s own under short names.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ELEMENTS_H
#define PENSTOCK_ELEMENTS_H

#include "penstock/export.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace penstock {

enum class Element : uint8_t { f16, bf16, f32, f64, f8e4m3, f8e5m2, i1, i8, i16, i32, i64, index };

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
#undef PENSTOCK_ELEMENT

template <class T>
inline constexpr bool isFloating =
    std::is_floating_point_v<T> || std::is_same_v<T, f16> || std::is_same_v<T, bf16> ||
    std::is_same_v<T, f8e4m3> || std::is_same_v<T, f8e5m2>;
template <class T>
inline constexpr bool isInteger =
    std::is_same_v<T, index_t> || (std::is_integral_v<T> && !std::is_same_v<T, bool>);

} // namespace detail
} // namespace penstock

#endif // PENSTOCK_ELEMENTS_H
