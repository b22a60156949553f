//===- WholeRows.h - Accumulators whose rows stay in one warp ---*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PLACEMENT_WHOLEROWS_H
#define PENSTOCK_TARGET_NVPTX_PLACEMENT_WHOLEROWS_H

#include "Dialect/Tile/TileDialect.h"

namespace penstock::nvptx {

/// Returns whether warps should have whole rows of the accumulator of \p product. Some operation
/// on it, or on register tiles that are used together with it,
/// - reduces along rows, as softmax does, which then stays inside of a warp;
/// - computes the left operand of another MMA, of which a warp needs whole rows;
/// - has the layout of another accumulator, of which only divisions by rows agree;
/// - takes a slice, whose columns all warps have.
bool needsWholeRows(tile::GemmOp product);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLACEMENT_WHOLEROWS_H
