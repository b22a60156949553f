//===- IndexBounds.h - Bounds of indices -----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums of indices wrap around in theory. Bounds of all terms exclude that: sizes of tensors and
// numbers of blocks have 31 bits, as launches check.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PLACEMENT_INDEXBOUNDS_H
#define PENSTOCK_TARGET_NVPTX_PLACEMENT_INDEXBOUNDS_H

#include "mlir/IR/Value.h"

#include <optional>

namespace penstock::nvptx {

/// The values that an integer can have, all of them far from wrapping around in 64 bits.
struct Bounds {
  int64_t low, high;
};

/// Returns bounds of an index or an integer, if any are known.
std::optional<Bounds> boundsOf(mlir::Value value);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLACEMENT_INDEXBOUNDS_H
