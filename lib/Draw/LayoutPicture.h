//===- LayoutPicture.h - Layouts as pictures --------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pictures of the owner and the bank of each element, as in docs/contributing/layouts.md.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DRAW_LAYOUTPICTURE_H
#define PENSTOCK_DRAW_LAYOUTPICTURE_H

#include "Draw/Grid.h"
#include "Layout/LayoutOf.h"

namespace penstock::draw {

/// The part that is drawn; a count of 0 means all from there on.
struct Excerpt {
  int64_t fromRow = 0, rows = 0;
  int64_t fromCol = 0, cols = 0;
};

/// Elements by thread, labeled with the thread (T) and the register (r) that holds
/// each; an element that no thread holds is gray, one that several hold has a "+".
Grid threadPicture(const layout::Fragment &, const Excerpt & = {});

/// The same of a layout (thread, register) -> row + rows * col.
Grid threadPicture(const layout::Layout &, int64_t rows, const Excerpt & = {});

/// Elements of a layout (row, col) -> byte by the bank of shared memory that has
/// them. Neighbors in a row that always share a word are one cell.
Grid bankPicture(const layout::SwizzledLayout &, const Excerpt & = {});

/// Offsets of a layout (row, col); one of another rank is drawn as one row.
Grid offsetPicture(const layout::Layout &, const Excerpt & = {});

} // namespace penstock::draw

#endif // PENSTOCK_DRAW_LAYOUTPICTURE_H
