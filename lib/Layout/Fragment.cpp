//===- Fragment.cpp - Elements in registers -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/Fragment.h"

#include <algorithm>
#include <cassert>

namespace penstock::layout {
namespace {

using Term = Fragment::Term;

constexpr int64_t warpThreads = 32;
constexpr int64_t warpgroupThreads = 128;
constexpr int64_t wgmmaRows = 64;

int64_t sum(const std::vector<Term> &terms, int64_t index) {
  int64_t value = 0;
  for (const Term &term : terms)
    value += term.of(index);
  return value;
}

} // namespace

Coordinate Fragment::at(int64_t thread, int64_t reg) const {
  Coordinate base = baseOf(thread), offset = offsetOf(reg);
  return {base.row + offset.row, base.col + offset.col};
}

Coordinate Fragment::baseOf(int64_t thread) const {
  return {sum(rowTerms, thread), sum(colTerms, thread)};
}

Coordinate Fragment::offsetOf(int64_t reg) const {
  return {sum(rowRegisterTerms, reg), sum(colRegisterTerms, reg)};
}

bool Fragment::contains(Coordinate c) const {
  return c.row >= 0 && c.row < rows && c.col >= 0 && c.col < cols;
}

bool Fragment::isFull() const {
  // Bases and offsets are independent, so their largest ones meet somewhere.
  Coordinate base, offset;
  for (int64_t thread = 0; thread < threads; ++thread) {
    Coordinate c = baseOf(thread);
    base = {std::max(base.row, c.row), std::max(base.col, c.col)};
  }
  for (int64_t reg = 0; reg < registers; ++reg) {
    Coordinate c = offsetOf(reg);
    offset = {std::max(offset.row, c.row), std::max(offset.col, c.col)};
  }
  return base.row + offset.row < rows && base.col + offset.col < cols;
}

int64_t Fragment::run() const {
  auto holds = [&](int64_t length) {
    if (registers % length != 0 || cols % length != 0)
      return false;
    for (const Term &term : colTerms)
      if (term.mod > 1 && term.stride % length != 0)
        return false;
    for (int64_t reg = 0; reg < registers; ++reg) {
      Coordinate first = offsetOf(reg / length * length), here = offsetOf(reg);
      if (here.row != first.row || here.col != first.col + reg % length || first.col % length != 0)
        return false;
    }
    return true;
  };
  int64_t length = 1;
  while (length < registers && holds(2 * length))
    length *= 2;
  return length;
}

Fragment wgmmaAccumulator(int64_t rows, int64_t cols, int64_t warpgroups) {
  if (warpgroups == 0)
    warpgroups = rows / wgmmaRows;
  assert(warpgroups > 0 && rows % (wgmmaRows * warpgroups) == 0 && cols % 8 == 0);
  int64_t own = rows / warpgroups;
  int64_t each = cols / 2; // registers of one m64nN
  Fragment f;
  f.rows = rows;
  f.cols = cols;
  f.threads = warpgroups * warpgroupThreads;
  f.registers = own / wgmmaRows * each;
  // Four threads have the columns of a row in pairs; a warp has 16 rows, which a
  // thread sees as two, eight apart.
  f.rowTerms = {{4, 8, 1}, {warpThreads, 4, 16}, {warpgroupThreads, warpgroups, own}};
  f.colTerms = {{1, 4, 2}};
  f.rowRegisterTerms = {{2, 2, 8}, {each, own / wgmmaRows, wgmmaRows}};
  f.colRegisterTerms = {{1, 2, 1}, {4, cols / 8, 8}};
  return f;
}

Fragment wgmmaOperandA(int64_t cols, int elementBits) {
  assert(elementBits == 8 || elementBits == 16 || elementBits == 32);
  // Elements that share a register.
  int64_t pack = 32 / elementBits;
  assert(cols > 0 && cols % (8 * pack) == 0);
  Fragment f;
  f.rows = wgmmaRows;
  f.cols = cols;
  f.threads = warpgroupThreads;
  f.registers = cols / 2;
  f.rowTerms = {{4, 8, 1}, {warpThreads, 4, 16}};
  f.colTerms = {{1, 4, pack}};
  f.rowRegisterTerms = {{pack, 2, 8}};
  f.colRegisterTerms = {{1, pack, 1}, {2 * pack, cols / (4 * pack), 4 * pack}};
  return f;
}

Fragment tensorMemoryRows(int64_t rows, int64_t cols) {
  assert(rows == 128 || rows == 64);
  Fragment f = oneRowPerThread(128, cols);
  f.rows = rows;
  if (rows == 64) // the upper half of each warp is sent below the tile
    f.rowTerms = {{1, 16, 1}, {16, 2, 64}, {warpThreads, 4, 16}};
  return f;
}

Fragment oneRowPerThread(int64_t rows, int64_t cols) {
  Fragment f;
  f.rows = rows;
  f.cols = cols;
  f.threads = rows;
  f.registers = cols;
  f.rowTerms = {{1, rows, 1}};
  f.colRegisterTerms = {{1, cols, 1}};
  return f;
}

} // namespace penstock::layout
