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

/// Returns whether warps should have whole rows of the accumulator of \p product. They should if an
/// operation on it, or on a register tile used together with it,
/// - reduces along rows, as softmax does: the reduction then needs no other warp;
/// - computes the left operand of another MMA: a warp needs whole rows of it;
/// - uses the layout of another accumulator: only divisions by rows agree;
/// - takes a slice: every warp then has its columns.
bool needsWholeRows(tile::GemmOp product);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLACEMENT_WHOLEROWS_H
