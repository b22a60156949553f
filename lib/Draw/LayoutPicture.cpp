//===- LayoutPicture.cpp - Layouts as pictures ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Draw/LayoutPicture.h"

#include <algorithm>

using namespace penstock::layout;

namespace penstock::draw {
namespace {

constexpr int64_t banks = 32;
constexpr int64_t wordBytes = 4;

/// An empty grid of what is drawn of rows x cols, where \p pack columns are one cell.
Grid gridFor(int64_t rows, int64_t cols, const Excerpt &part, int64_t pack = 1) {
  Grid grid;
  grid.rowsAre = "row";
  grid.colsAre = "column";
  int64_t rowEnd = part.rows ? std::min(rows, part.fromRow + part.rows) : rows;
  int64_t colEnd = part.cols ? std::min(cols, part.fromCol + part.cols) : cols;
  for (int64_t row = part.fromRow; row < rowEnd; ++row)
    grid.rowNames.push_back(std::to_string(row));
  for (int64_t col = part.fromCol; col < colEnd; col += pack)
    grid.colNames.push_back(std::to_string(col));
  grid.cells.resize(size_t(grid.rows() * grid.cols()));
  return grid;
}

std::string positionOf(int64_t row, int64_t col) {
  return "row " + std::to_string(row) + ", column " + std::to_string(col);
}

/// \p at says which element a register holds.
template <class At>
Grid drawThreads(int64_t rows, int64_t cols, int64_t threads, int64_t registers,
                 const Excerpt &part, At at) {
  Grid grid = gridFor(rows, cols, part);
  for (int64_t t = 0; t < threads; ++t)
    for (int64_t r = 0; r < registers; ++r) {
      Coordinate c = at(t, r);
      int64_t row = c.row - part.fromRow, col = c.col - part.fromCol;
      if (row < 0 || row >= grid.rows() || col < 0 || col >= grid.cols())
        continue;
      Grid::Cell &cell = grid.at(row, col);
      if (cell.number >= 0) {
        if (cell.second.back() != '+')
          cell.second += '+';
        cell.detail += ", thread " + std::to_string(t) + " register " + std::to_string(r);
        continue;
      }
      cell.number = t;
      cell.label = "T" + std::to_string(t);
      cell.second = "r" + std::to_string(r);
      cell.detail = positionOf(c.row, c.col) + ": thread " + std::to_string(t) + " register " +
                    std::to_string(r);
    }
  return grid;
}

} // namespace

Grid threadPicture(const Fragment &f, const Excerpt &part) {
  return drawThreads(f.rows, f.cols, f.threads, f.registers, part,
                     [&](int64_t t, int64_t r) { return f.at(t, r); });
}

Grid threadPicture(const Layout &layout, int64_t rows, const Excerpt &part) {
  int64_t threads = layout.at(0).size(), registers = layout.size() / threads;
  int64_t cols = (layout.cosize() + rows - 1) / rows;
  return drawThreads(rows, cols, threads, registers, part, [&](int64_t t, int64_t r) {
    int64_t element = layout.apply(t + threads * r);
    return Coordinate{element % rows, element / rows};
  });
}

Grid bankPicture(const SwizzledLayout &layout, const Excerpt &part) {
  int64_t rows = layout.layout.at(0).size(), cols = layout.layout.size() / rows;
  auto wordOf = [&](int64_t row, int64_t col) {
    int64_t element = layout.layout.apply(row + rows * col);
    return layout.swizzle.apply(element * layout.elementBits / 8) / wordBytes;
  };
  int64_t pack = std::max<int64_t>(1, wordBytes * 8 / layout.elementBits);
  bool whole = cols % pack == 0 && part.fromCol % pack == 0 && part.cols % pack == 0;
  for (int64_t row = 0; whole && row < rows; ++row)
    for (int64_t col = 0; whole && col < cols; ++col)
      whole = wordOf(row, col) == wordOf(row, col / pack * pack);
  if (!whole)
    pack = 1;

  Grid grid = gridFor(rows, cols, part, pack);
  for (int64_t row = 0; row < grid.rows(); ++row)
    for (int64_t col = 0; col < grid.cols(); ++col) {
      int64_t elementRow = part.fromRow + row, elementCol = part.fromCol + col * pack;
      int64_t word = wordOf(elementRow, elementCol);
      Grid::Cell &cell = grid.at(row, col);
      cell.number = word % banks;
      cell.label = std::to_string(word % banks);
      cell.detail = positionOf(elementRow, elementCol) + ": byte " +
                    std::to_string(word * wordBytes) + ", bank " + std::to_string(word % banks);
    }
  grid.cellHeight = 24;
  return grid;
}

Grid offsetPicture(const Layout &layout, const Excerpt &part) {
  int64_t rows = layout.rank() == 2 ? layout.at(0).size() : 1;
  Grid grid = gridFor(rows, layout.size() / rows, part);
  for (int64_t row = 0; row < grid.rows(); ++row)
    for (int64_t col = 0; col < grid.cols(); ++col) {
      int64_t elementRow = part.fromRow + row, elementCol = part.fromCol + col;
      Grid::Cell &cell = grid.at(row, col);
      cell.number = layout.apply(elementRow + rows * elementCol);
      cell.label = std::to_string(cell.number);
      cell.detail = positionOf(elementRow, elementCol) + ": " + cell.label;
    }
  grid.cellHeight = 24;
  return grid;
}

} // namespace penstock::draw
