//===- MatrixProduct.cpp - Products of matrices of floats -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Tensor/MatrixProduct.h"
#include "Emulator/Wide.h"

#include <cstring>
#include <vector>

namespace penstock::emu {

PENSTOCK_WIDE
void multiply(const float *a, const float *b, float *d, unsigned stride, unsigned m, unsigned n,
              unsigned k, bool accumulate) {
  // Sums of 4 rows and 32 columns stay in registers. The product of two operands of a tensor core
  // is exact in f32, so it does not matter whether it is fused with the addition.
  typedef float Vector __attribute__((vector_size(64)));
  constexpr unsigned rows = 4, width = 32;
  for (unsigned column = 0; column < n; column += width) {
    unsigned present = n - column < width ? n - column : width;
    for (unsigned row = 0; row < m; row += rows) {
      float *out = d + size_t(row) * stride + column;
      Vector sums[rows][2] = {};
      if (accumulate)
        for (unsigned r = 0; r < rows; ++r)
          memcpy(sums[r], out + size_t(r) * stride, present * 4);
      const float *line = a + size_t(row) * k;
      for (unsigned i = 0; i < k; ++i) {
        Vector values[2] = {};
        const float *from = b + size_t(i) * n + column;
        if (present == width)
          memcpy(values, from, sizeof values);
        else
          memcpy(values, from, present * 4);
#pragma GCC unroll 4
        for (unsigned r = 0; r < rows; ++r) {
          sums[r][0] += line[size_t(r) * k + i] * values[0];
          sums[r][1] += line[size_t(r) * k + i] * values[1];
        }
      }
      for (unsigned r = 0; r < rows; ++r)
        memcpy(out + size_t(r) * stride, sums[r], present * 4);
    }
  }
}

PENSTOCK_WIDE
void multiplyFragments(const float *a, const float *b, float *const *d, unsigned n, unsigned k,
                       bool accumulate) {
  typedef float Vector __attribute__((vector_size(64)));
  typedef float Line __attribute__((vector_size(32)));
  // Rows of A as the lanes need them: for each k two halves of 8 rows, four lanes each.
  static thread_local std::vector<float> spread;
  spread.resize(size_t(k) * 64);
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned i = 0; i < k; ++i)
      for (unsigned t = 0; t < 4; ++t)
        spread[size_t(i) * 64 + row * 4 + t] = a[size_t(row) * k + i];
  for (unsigned j = 0; j < n / 8; ++j) {
    Vector sums[2][4] = {}; // of even and odd columns
    if (accumulate)
      for (unsigned e = 0; e < 2; ++e) {
        memcpy(&sums[e][0], d[4 * j + e], 128);
        memcpy(&sums[e][2], d[4 * j + 2 + e], 128);
      }
    const float *lanes = spread.data();
    for (unsigned i = 0; i < k; ++i, lanes += 64) {
      Line line;
      memcpy(&line, b + size_t(i) * n + 8 * j, 32);
      Vector even =
          __builtin_shufflevector(line, line, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6);
      Vector odd =
          __builtin_shufflevector(line, line, 1, 3, 5, 7, 1, 3, 5, 7, 1, 3, 5, 7, 1, 3, 5, 7);
      Vector rows[4];
      memcpy(rows, lanes, sizeof rows);
#pragma GCC unroll 4
      for (unsigned q = 0; q < 4; ++q) {
        sums[0][q] += rows[q] * even;
        sums[1][q] += rows[q] * odd;
      }
    }
    for (unsigned e = 0; e < 2; ++e) {
      memcpy(d[4 * j + e], &sums[e][0], 128);
      memcpy(d[4 * j + 2 + e], &sums[e][2], 128);
    }
  }
}

} // namespace penstock::emu
