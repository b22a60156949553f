//===- TensorMemory.cpp - Layouts of tensor memory ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/TensorMemory.h"

#include <cassert>

namespace penstock::layout {

int64_t TensorAccumulator::columns() const { return ctas == 2 && m == 128 ? n / 2 : n; }

TensorCell TensorAccumulator::cellOf(int64_t row, int64_t col) const {
  assert(row >= 0 && row < rowsPerCta() && col >= 0 && col < n);
  // A lane for each row: all lanes of a CTA are in use.
  if (rowsPerCta() == 128)
    return {row, col};
  // Half as many rows as lanes. One CTA leaves the upper half of each warp's lanes
  // unused; two fill the upper 64 lanes with the right half of the columns.
  if (ctas == 1)
    return {row % 16 + 32 * (row / 16), col};
  return {row + 64 * (col / columns()), col % columns()};
}

const char *nameOf(TensorShape shape) {
  constexpr const char *names[] = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"};
  return names[unsigned(shape)];
}

Fragment tensorMemoryPiece(TensorShape shape, int64_t repeat, int64_t halfSplit) {
  assert(repeat > 0 && halfSplit >= 0);
  Fragment f;
  f.rows = shape == TensorShape::S32x32b ? 32 : 16;
  f.threads = 32;
  switch (shape) {
  case TensorShape::S32x32b:
    f.cols = f.registers = repeat;
    f.rowTerms = {{1, 32, 1}};
    f.colRegisterTerms = {{1, repeat, 1}};
    break;
  case TensorShape::S16x64b:
    f.cols = 2 * repeat;
    f.registers = repeat;
    f.rowTerms = {{4, 8, 1}, {1, 2, 8}};
    f.colTerms = {{2, 2, 1}};
    f.colRegisterTerms = {{1, repeat, 2}};
    break;
  case TensorShape::S16x128b:
    f.cols = 4 * repeat;
    f.registers = 2 * repeat;
    f.rowTerms = {{4, 8, 1}};
    f.colTerms = {{1, 4, 1}};
    f.rowRegisterTerms = {{1, 2, 8}};
    f.colRegisterTerms = {{2, repeat, 4}};
    break;
  case TensorShape::S16x256b:
    f.cols = 8 * repeat;
    f.registers = 4 * repeat;
    f.rowTerms = {{4, 8, 1}};
    f.colTerms = {{1, 4, 2}};
    f.rowRegisterTerms = {{2, 2, 8}};
    f.colRegisterTerms = {{1, 2, 1}, {4, repeat, 8}};
    break;
  case TensorShape::S16x32bx2: {
    int64_t split = halfSplit ? halfSplit : repeat;
    f.cols = split + repeat;
    f.registers = repeat;
    f.rowTerms = {{1, 16, 1}};
    f.colTerms = {{16, 2, split}};
    f.colRegisterTerms = {{1, repeat, 1}};
    break;
  }
  }
  return f;
}

} // namespace penstock::layout
