//===- Numbers.cpp - Arithmetic of element types --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Interpreter/Numbers.h"

#include <cmath>
#include <limits>

namespace penstock::interpreter {
namespace {

/// A float that rounds to any narrower type as \p value itself does: cut off
/// toward zero, with the last bit set if anything was lost ("round to odd").
/// Rounding to float first and then again would round some ties twice.
float stickyFloat(double value) {
  float near = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(near) == value)
    return near;
  if (std::fabs(static_cast<double>(near)) > std::fabs(value))
    near = std::nextafterf(near, 0.0f);
  return detail::bits<float>(detail::bits<uint32_t>(near) | 1u);
}

/// The same for an integer's magnitude in a double.
double stickyDouble(uint64_t magnitude) {
  int excess = 0;
  while (magnitude >> excess >> 53)
    ++excess;
  uint64_t kept = magnitude >> excess;
  if (kept << excess != magnitude)
    kept |= 1;
  return std::ldexp(static_cast<double>(kept), excess);
}

} // namespace

bool isFloat(Element element) {
  switch (element) {
  case Element::f16:
  case Element::bf16:
  case Element::f32:
  case Element::f64:
  case Element::f8e4m3:
  case Element::f8e5m2:
  case Element::f8e8m0:
    return true;
  default:
    return false;
  }
}

unsigned widthOf(Element element) {
  switch (element) {
  case Element::i1:
    return 1;
  case Element::f8e4m3:
  case Element::f8e5m2:
  case Element::f8e8m0:
  case Element::i8:
  case Element::f4e2m1x2:
  case Element::i4x2:
  case Element::f6e2m3_packed:
  case Element::f6e3m2_packed:
    return 8;
  case Element::f16:
  case Element::bf16:
  case Element::i16:
    return 16;
  case Element::f32:
  case Element::i32:
    return 32;
  case Element::f64:
  case Element::i64:
  case Element::index:
    return 64;
  }
  return 64;
}

unsigned byteWidthOf(Element element) { return (widthOf(element) + 7) / 8; }

int64_t wrap(uint64_t value, unsigned width) {
  unsigned unused = 64 - width;
  return static_cast<int64_t>(value << unused) >> unused;
}

uint64_t unsignedOf(int64_t value, unsigned width) {
  unsigned unused = 64 - width;
  return static_cast<uint64_t>(value) << unused >> unused;
}

double roundTo(Element element, double value) {
  switch (element) {
  case Element::f16:
    return f16(stickyFloat(value));
  case Element::bf16:
    return bf16(stickyFloat(value));
  case Element::f8e4m3:
    return f8e4m3(stickyFloat(value));
  case Element::f8e5m2:
    return f8e5m2(stickyFloat(value));
  case Element::f8e8m0:
    return f8e8m0(stickyFloat(value));
  case Element::f32:
    return static_cast<float>(value);
  default:
    return value;
  }
}

double fromUnsigned(Element element, uint64_t value) {
  if (element == Element::f64)
    return static_cast<double>(value);
  return roundTo(element, stickyDouble(value));
}

double fromSigned(Element element, int64_t value) {
  if (value >= 0)
    return fromUnsigned(element, static_cast<uint64_t>(value));
  return -fromUnsigned(element, ~static_cast<uint64_t>(value) + 1);
}

int64_t toSigned(double value, unsigned width) {
  if (std::isnan(value))
    return 0;
  double limit = std::ldexp(1.0, static_cast<int>(width) - 1);
  int64_t least = wrap(uint64_t(1) << (width - 1), width);
  if (value >= limit)
    return ~least;
  if (value < -limit)
    return least;
  return static_cast<int64_t>(value);
}

int64_t toUnsigned(double value, unsigned width) {
  if (std::isnan(value) || value <= -1.0)
    return 0;
  if (value >= std::ldexp(1.0, static_cast<int>(width)))
    return -1;
  return wrap(static_cast<uint64_t>(std::trunc(value)), width);
}

double fusedMultiplyAdd(Element element, double a, double b, double c) {
  if (element == Element::f64)
    return std::fma(a, b, c);
  if (element == Element::f32)
    return std::fmaf(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
  // The product of two narrow numbers is exact in double. The sum may not be:
  // its error says in which direction bits were lost, and the sum is made odd
  // there so that the second rounding does not take it for a tie.
  double product = a * b;
  double sum = product + c;
  if (std::isfinite(sum)) {
    double part = sum - product;
    double error = (product - (sum - part)) + (c - part);
    if (error != 0) {
      if ((error > 0) != (sum > 0))
        sum = std::nextafter(sum, 0.0);
      sum = detail::bits<double>(detail::bits<uint64_t>(sum) | 1u);
    }
  }
  return roundTo(element, sum);
}

double maximumNumber(double a, double b) {
  if (std::isnan(a))
    return b;
  if (std::isnan(b))
    return a;
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

double minimumNumber(double a, double b) {
  if (std::isnan(a))
    return b;
  if (std::isnan(b))
    return a;
  if (a == b)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return maximumNumber(a, b);
}

double minimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return minimumNumber(a, b);
}

Scalar sum(Element element, Scalar a, Scalar b) {
  if (isFloat(element))
    return Scalar::of(roundTo(element, a.real + b.real));
  return Scalar::of(
      wrap(static_cast<uint64_t>(a.integer) + static_cast<uint64_t>(b.integer), widthOf(element)));
}

Scalar product(Element element, Scalar a, Scalar b) {
  if (isFloat(element))
    return Scalar::of(roundTo(element, a.real * b.real));
  return Scalar::of(
      wrap(static_cast<uint64_t>(a.integer) * static_cast<uint64_t>(b.integer), widthOf(element)));
}

Scalar greater(Element element, Scalar a, Scalar b) {
  if (isFloat(element))
    return Scalar::of(maximum(a.real, b.real));
  return a.integer > b.integer ? a : b;
}

Scalar lesser(Element element, Scalar a, Scalar b) {
  if (isFloat(element))
    return Scalar::of(minimum(a.real, b.real));
  return a.integer < b.integer ? a : b;
}

float toTF32(float value) {
  uint32_t in = detail::bits<uint32_t>(value);
  if ((in & 0x7f800000u) == 0x7f800000u)
    return value;
  // A carry out of the mantissa moves into the exponent by itself.
  in += 0xfffu + ((in >> 13) & 1u);
  return detail::bits<float>(in & ~0x1fffu);
}

uint64_t encode(Element element, Scalar value) {
  switch (element) {
  case Element::f16:
    return f16(stickyFloat(value.real)).raw;
  case Element::bf16:
    return bf16(stickyFloat(value.real)).raw;
  case Element::f8e4m3:
    return f8e4m3(stickyFloat(value.real)).raw;
  case Element::f8e5m2:
    return f8e5m2(stickyFloat(value.real)).raw;
  case Element::f8e8m0:
    return f8e8m0(stickyFloat(value.real)).raw;
  case Element::f32:
    return detail::bits<uint32_t>(static_cast<float>(value.real));
  case Element::f64:
    return detail::bits<uint64_t>(value.real);
  default:
    return unsignedOf(value.integer, widthOf(element));
  }
}

Scalar decode(Element element, uint64_t in) {
  switch (element) {
  case Element::f16: {
    f16 value;
    value.raw = static_cast<uint16_t>(in);
    return Scalar::of(double(float(value)));
  }
  case Element::bf16: {
    bf16 value;
    value.raw = static_cast<uint16_t>(in);
    return Scalar::of(double(float(value)));
  }
  case Element::f8e4m3: {
    f8e4m3 value;
    value.raw = static_cast<uint8_t>(in);
    return Scalar::of(double(float(value)));
  }
  case Element::f8e5m2: {
    f8e5m2 value;
    value.raw = static_cast<uint8_t>(in);
    return Scalar::of(double(float(value)));
  }
  case Element::f8e8m0: {
    f8e8m0 value;
    value.raw = static_cast<uint8_t>(in);
    return Scalar::of(double(float(value)));
  }
  case Element::f32:
    return Scalar::of(double(detail::bits<float>(static_cast<uint32_t>(in))));
  case Element::f64:
    return Scalar::of(detail::bits<double>(in));
  case Element::i1:
    // Hosts write any byte that is not zero for true.
    return Scalar::of(int64_t((in & 0xff) != 0 ? -1 : 0));
  default:
    return Scalar::of(wrap(in, widthOf(element)));
  }
}

uint64_t garbage(Element element) {
  if (isFloat(element))
    return encode(element, Scalar::of(std::numeric_limits<double>::quiet_NaN()));
  return element == Element::i1
             ? 1
             : unsignedOf(static_cast<int64_t>(0xcdcdcdcdcdcdcdcdu), widthOf(element));
}

} // namespace penstock::interpreter
