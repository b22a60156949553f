//===- LayoutOf.h - Hardware layouts in the algebra -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The closed formulas of this library, which code generators use, as layouts of
// Layout.h, which can be compared, composed, printed and drawn.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LAYOUT_LAYOUTOF_H
#define PENSTOCK_LAYOUT_LAYOUTOF_H

#include "Layout/Layout.h"
#include "Layout/SharedTile.h"
#include "Layout/TensorMemory.h"

namespace penstock::layout {

/// (thread, register) -> row + rows * col. Nothing if some registers hold nothing,
/// or if the digits of thread or register are no hierarchy.
std::optional<Layout> layoutOf(const Fragment &);

/// (row, col) -> byte.
SwizzledLayout layoutOf(const SharedTile &);

/// (row, col) of a CTA -> address in tensor memory.
Layout layoutOf(const TensorAccumulator &);

} // namespace penstock::layout

#endif // PENSTOCK_LAYOUT_LAYOUTOF_H
