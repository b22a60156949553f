//===- RoundedFormulas.h - Quotients and roots of f32 -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequences of instructions for reciprocals, quotients and square roots of f32 that are rounded
// to nearest, for all arguments. ptxas calls a function for arguments outside of the common
// range, which costs registers and a convergence barrier for each call site.
//
// The sequences only rely on the error bounds that the PTX ISA states for rcp.approx.ftz.f32 (1
// ULP) and rsqrt.approx.ftz.f32 (relative error 2^-22.9). RoundedFormulasTest.cpp executes the
// templates below with every approximation within these bounds.
//
// Target defines the types Single (f32), Double (f64) and Condition, and the functions that the
// sequences call on it. All comparisons are ordered: false if an operand is NaN.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_LLVM_ROUNDEDFORMULAS_H
#define PENSTOCK_TARGET_NVPTX_LLVM_ROUNDEDFORMULAS_H

#include <limits>

namespace penstock::nvptx {

template <class Target> class RoundedFormulas {
public:
  using Single = typename Target::Single;
  using Double = typename Target::Double;
  using Condition = typename Target::Condition;

  explicit RoundedFormulas(Target &target) : t(target) {}

  /// Returns 1 / b.
  Single reciprocal(Single b) {
    Single y = nearReciprocal(b);
    return t.ifElse(t.notLess(t.abs(y), t.single(leastResult)), y,
                    [&] { return byDoubles(t.single(1), b); });
  }

  /// Returns a / b.
  Single quotient(Single a, Single b) { return quotient(a, b, nearReciprocal(b)); }

  /// Returns a / b of a normal constant \p b. \p y is 1 / b rounded to nearest, also normal.
  Single quotient(Single a, Single b, Single y) {
    Single q = t.mul(a, y);
    Single rest = t.fma(t.neg(b), q, a);
    Single result = t.fma(rest, y, q);
    Condition common = t.both(t.notLess(t.abs(result), t.single(leastResult)),
                              t.notLess(t.abs(a), t.single(leastDividend)));
    return t.ifElse(common, result, [&] { return byDoubles(a, b); });
  }

  /// Returns the square root of x.
  Single root(Single x) {
    constexpr float largest = std::numeric_limits<float>::max();
    Condition common = t.both(t.notLess(x, t.single(leastSquare)), t.notLess(t.single(largest), x));
    return t.ifElse(common, commonRoot(x), [&] {
      // Results are normal for all x but zero, so that scaling back is exact.
      Single scaled = t.mul(commonRoot(t.mul(x, t.single(0x1p64f))), t.single(0x1p-32f));
      Condition itself = t.either(t.equal(x, t.single(0)),
                                  t.equal(x, t.single(std::numeric_limits<float>::infinity())));
      return t.select(itself, x, scaled);
    });
  }

private:
  /// The least magnitude of results that are computed in f32.
  static constexpr float leastResult = 0x1p-125f;
  /// Below these, remainders may have bits below the smallest subnormal number.
  static constexpr float leastDividend = 0x1p-100f, leastSquare = 0x1p-100f;

  /// Returns 1 / b, if it is at least leastResult. Otherwise the result is smaller or NaN:
  /// rcp.approx.ftz is infinite for zeros and subnormal numbers, and zero if 1 / b is subnormal.
  Single nearReciprocal(Single b) {
    Single y = t.approximateReciprocal(b);
    Single e = t.fma(t.neg(b), y, t.single(1)); // exact
    // 1 / b = y (1 + e + e^2 + ..). Adding e alone gives a tie for the largest significand, and
    // so does e + e^2 rounded to nearest.
    return t.fma(y, t.fmaUp(e, e, e), y);
  }

  /// Returns the root of a finite x that is at least leastSquare, and NaN for negative normal
  /// numbers.
  Single commonRoot(Single x) {
    Single y = t.approximateReciprocalRoot(x);
    Single g = t.mul(x, y), h = t.mul(y, t.single(0.5f));
    Single e = t.fma(t.neg(g), h, t.single(0.5f));
    g = t.fma(g, e, g);
    h = t.fma(h, e, h);
    return t.fma(t.fma(t.neg(g), g, x), h, g);
  }

  /// Returns a / b of any numbers. Quotients of two f32 that are not halfway between two f32 are
  /// further than 2^-50 from such a point, relatively, so that an f64 within 2^-52 rounds to the
  /// correct f32, including subnormal numbers and infinity.
  Single byDoubles(Single a, Single b) {
    // 1 / b of a scaled b is a normal number.
    Condition isSmall = t.notLess(t.single(1), t.abs(b));
    Single scale = t.select(isSmall, t.single(0x1p24f), t.single(0x1p-24f));
    Double y = t.mul(t.widen(t.approximateReciprocal(t.mul(b, scale))), t.widen(scale));
    Double dividend = t.widen(a), minusDivisor = t.neg(t.widen(b));
    Double first = t.mul(dividend, y);
    Double rest = t.fma(minusDivisor, first, dividend);
    Double second = t.fma(rest, y, first);
    Double third = t.fma(t.fma(minusDivisor, second, dividend), y, second);
    // Zeros, infinities and NaN: the first product is the quotient, and the rest is zero or NaN.
    return t.narrow(t.select(t.differ(rest, t.wide(0)), third, first));
  }

  Target &t;
};

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_LLVM_ROUNDEDFORMULAS_H
