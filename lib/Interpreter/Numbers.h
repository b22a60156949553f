//===- Numbers.h - Arithmetic of element types ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How numbers of each element type behave, without MLIR. Integers are held in
// an int64_t, sign-extended from their width, so that an i1 that is true is -1.
// Floating-point numbers are held in a double that has been rounded to their
// type: each operation computes in double and rounds once, to nearest even.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_INTERPRETER_NUMBERS_H
#define PENSTOCK_INTERPRETER_NUMBERS_H

#include "penstock/elements.h"

namespace penstock::interpreter {

/// One number. Which of the two members holds it follows from its type.
struct Scalar {
  int64_t integer = 0;
  double real = 0;

  static Scalar of(int64_t value) { return {value, 0}; }
  static Scalar of(double value) { return {0, value}; }
};

bool isFloat(Element element);
unsigned widthOf(Element element);     ///< in bits; an index has 64
unsigned byteWidthOf(Element element); ///< in memory; an i1 takes a byte

/// The low \p width bits of \p value, sign-extended.
int64_t wrap(uint64_t value, unsigned width);
/// The low \p width bits of \p value, zero-extended.
uint64_t unsignedOf(int64_t value, unsigned width);

/// \p value as a number of type \p element, rounded once to nearest even.
double roundTo(Element element, double value);
/// An integer as a number of type \p element, rounded once to nearest even.
double fromSigned(Element element, int64_t value);
double fromUnsigned(Element element, uint64_t value);
/// Rounds toward zero; what does not fit becomes the nearest integer that does
/// and NaN becomes 0, as conversions on the GPU do.
int64_t toSigned(double value, unsigned width);
int64_t toUnsigned(double value, unsigned width);

/// a * b + c with one rounding.
double fusedMultiplyAdd(Element element, double a, double b, double c);
/// NaN if either is NaN; -0 is less than +0.
double maximum(double a, double b);
double minimum(double a, double b);
/// The other if one is NaN; -0 is less than +0.
double maximumNumber(double a, double b);
double minimumNumber(double a, double b);

/// Integers wrap and compare signed; max and min give NaN if either is NaN.
Scalar sum(Element element, Scalar a, Scalar b);
Scalar product(Element element, Scalar a, Scalar b);
Scalar greater(Element element, Scalar a, Scalar b);
Scalar lesser(Element element, Scalar a, Scalar b);

/// Rounds to the 10 mantissa bits of TF32, to nearest even.
float toTF32(float value);

/// Between a number and its bits in memory.
uint64_t encode(Element element, Scalar value);
Scalar decode(Element element, uint64_t bits);

/// Value of uninitialized memory: NaN, or bytes of 0xCD. Never zero, so that programs with a
/// missing write do not work by accident.
uint64_t garbage(Element element);

} // namespace penstock::interpreter

#endif // PENSTOCK_INTERPRETER_NUMBERS_H
