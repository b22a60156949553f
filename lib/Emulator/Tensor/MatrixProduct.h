//===- MatrixProduct.h - Products of matrices of floats ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_TENSOR_MATRIXPRODUCT_H
#define PENSTOCK_EMULATOR_TENSOR_MATRIXPRODUCT_H

namespace penstock::emu {

/// d[m][n] = sum over k of a[m][k] * b[k][n], k in increasing order, plus d if \p accumulate.
/// \p a is M x K and \p b is K x N, both dense; rows of \p d are \p stride apart. M is a multiple
/// of 4.
void multiply(const float *a, const float *b, float *d, unsigned stride, unsigned m, unsigned n,
              unsigned k, bool accumulate);

/// The same for 16 rows as a warp has them in registers: d[4 * j + 2 * h + e] has, for each lane t,
/// row t / 4 + 8 * h and column 8 * j + 2 * (t % 4) + e. N is a multiple of 8.
void multiplyFragments(const float *a, const float *b, float *const *d, unsigned n, unsigned k,
                       bool accumulate);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_TENSOR_MATRIXPRODUCT_H
