//===- Picture.h - Layouts as pictures --------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who holds an element, and which bank it lies in, is easier seen than computed.
// The pictures of docs/layouts.md are made here.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LAYOUT_PICTURE_H
#define PENSTOCK_LAYOUT_PICTURE_H

#include "Draw/Grid.h"
#include "Layout/LayoutOf.h"

namespace penstock::layout {

/// The part that is drawn; a count of 0 means all from there on.
struct Excerpt {
  int64_t fromRow = 0, rows = 0;
  int64_t fromCol = 0, cols = 0;
};

/// Elements by thread, labelled with the thread (T) and the register (r) that holds
/// each; an element that nobody holds is grey, one that several hold has a "+".
draw::Grid threadPicture(const Fragment &, const Excerpt & = {});

/// The same of a layout (thread, register) -> row + rows * col.
draw::Grid threadPicture(const Layout &, int64_t rows, const Excerpt & = {});

/// Elements of a layout (row, col) -> byte by the bank of shared memory that has
/// them. Neighbours in a row that always share a word are one cell.
draw::Grid bankPicture(const SwizzledLayout &, const Excerpt & = {});

/// Offsets of a layout (row, col); one of another rank is drawn as one row.
draw::Grid offsetPicture(const Layout &, const Excerpt & = {});

} // namespace penstock::layout

#endif // PENSTOCK_LAYOUT_PICTURE_H
