//===- Reciprocals.h - Division by launch constants -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch computes a multiplier and a shift for each divisor; blocks multiply. With words of w
// bits (32 or 64), a divisor d >= 1 and k = floor(log2 d):
//
//   m = floor((2^(w+k) - 1) / d),   n / d = ((n + 1) * m) >> (w + k)   for 0 <= n < 2^(w-1)
//
// m = 2^(w+k) / d - f with 0 < f <= 1, so the product divided by 2^(w+k) is (n+1)/d - e, with
// e = (n+1) f / 2^(w+k). It is below floor(n/d) + 1, because e > 0 and (n+1)/d is at most that. It
// is at least floor(n/d), because (n+1)/d >= floor(n/d) + 1/d and e <= 1/d: that is where
// n + 1 <= 2^(w-1) is needed, with d < 2^(k+1). m needs w bits, as d >= 2^k.
//
// With w = 64, n = 2^63 is right, too, so that this divides the absolute values of all integers:
// (2^63 + 1) d <= 2^(64+k) holds for k < 63, where d <= 2^(k+1) - 1, and for d = 2^63.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TRANSFORMS_LAUNCH_RECIPROCALS_H
#define PENSTOCK_TRANSFORMS_LAUNCH_RECIPROCALS_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace penstock {

struct Reciprocal {
  mlir::Value multiplier, shift; ///< as i64
};

/// Computes the reciprocal of an i64 divisor for 32-bit or 64-bit dividends. Treats a divisor of 0
/// as
/// 1. With 64 bits, uses the absolute value. With 32 bits, clamps the divisor to 2^31, because all
/// larger divisors give the same quotients.
Reciprocal reciprocalOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value divisor, unsigned bits);

/// Returns the value of a division or remainder, by multiplication. Unsigned ones have a dividend
/// and a divisor below 2^(bits - 1), except that a divisor of 32 bits may be 2^31; signed ones have
/// 64 bits, and are not defined for -2^63 / -1.
mlir::Value multiplyInstead(mlir::OpBuilder &b, mlir::Operation *division, Reciprocal reciprocal);

} // namespace penstock

#endif // PENSTOCK_TRANSFORMS_LAUNCH_RECIPROCALS_H
