//===- TileLayouts.h - Distributions of work --------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules by which layouts are chosen and by which operations are lowered are
// the same ones; they are here.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PLACEMENT_TILELAYOUTS_H
#define PENSTOCK_TARGET_NVPTX_PLACEMENT_TILELAYOUTS_H

#include "Dialect/NV/NVDialect.h"
#include "Layout/Distribution.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace penstock::nvptx {

/// Returns the vector width of accesses along a row: at most 16 bytes, and a divisor of the row.
int64_t vectorOf(mlir::MemRefType type);

/// Returns the coalesced layout of \p shape over \p threads threads.
layout::Distribution naturalLayout(llvm::ArrayRef<int64_t> shape, int64_t threads, int64_t vector);

/// The number of threads of a scope.
int64_t threadsOf(const nv::ThreadScope &scope);

/// The layout of an input that runs along some dimensions of \p full, in order.
layout::Distribution sliceAlong(layout::Distribution full, llvm::ArrayRef<int64_t> dims);

/// The registers of a slice of a tile; nothing if they are not the same of all threads.
std::optional<layout::Distribution::Part> partOf(mlir::memref::SubViewOp slice,
                                                 const layout::Distribution &full);

/// Returns the distribution of the work of a map, reduction, copy or fill: that of its register
/// tile, or a coalesced one. \p layoutOf returns the layouts of register tiles.
layout::Distribution
workLayout(mlir::Operation *op, int64_t threads,
           llvm::function_ref<const layout::Distribution *(mlir::Value)> layoutOf);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLACEMENT_TILELAYOUTS_H
