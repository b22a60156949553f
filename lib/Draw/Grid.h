//===- Grid.h - A table of colored cells ------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For pictures of which element lies where: rows and columns of small cells with a
// number, which decides the color, and a label.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DRAW_GRID_H
#define PENSTOCK_DRAW_GRID_H

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::draw {

struct Grid {
  struct Cell {
    /// Decides the color: four tints of each of eight hues, then again. A thread, a
    /// bank, ...; a negative number leaves the cell white.
    int64_t number = -1;
    /// One or two short lines.
    std::string label, second;
    /// Said when the reader points at the cell.
    std::string detail;
  };

  std::string title;
  std::string subtitle;
  /// Beside the rows and above the columns.
  std::string rowsAre, colsAre;
  std::vector<std::string> rowNames, colNames;
  /// All of the first row, then of the second, ...
  std::vector<Cell> cells;
  /// Heavier lines after each so many rows and columns; 0 for none.
  int64_t rowGroup = 0, colGroup = 0;
  int cellWidth = 34, cellHeight = 30; ///< pixels

  int64_t rows() const { return int64_t(rowNames.size()); }
  int64_t cols() const { return int64_t(colNames.size()); }
  Cell &at(int64_t row, int64_t col) { return cells[size_t(row * cols() + col)]; }
  const Cell &at(int64_t row, int64_t col) const { return cells[size_t(row * cols() + col)]; }
};

/// Each cell is one element of class "cell" with its position and number as attributes.
std::string toSvg(const Grid &);

} // namespace penstock::draw

#endif // PENSTOCK_DRAW_GRID_H
