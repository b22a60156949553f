//===- Views.h - Addresses of views of shared tiles -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_THREADS_VIEWS_H
#define PENSTOCK_TARGET_NVPTX_THREADS_VIEWS_H

#include "Layout/Distribution.h"
#include "mlir/IR/Value.h"

namespace penstock::nvptx {

struct LoweringContext;

/// A view of a tile: its allocation or tensor, and where the view starts.
struct View {
  mlir::Value root;
  llvm::SmallVector<mlir::Value> offsets; ///< i32, one for each dimension of the root
  llvm::SmallVector<unsigned> dims;       ///< the root's dimension of each of the view's
  llvm::SmallVector<int64_t> shape;
};

View viewOf(LoweringContext &c, mlir::Value memref);

/// The first row of a view that an engine copies: bytes from the start of the block's shared
/// memory, or multiples of them, and the address.
mlir::Value engineOffset(LoweringContext &c, const View &view, int64_t unit = 1);
mlir::Value engineAddress(LoweringContext &c, const View &view);

/// The offset of a view of rank 1, which may be a row of a plain tile.
mlir::Value rowOffset(LoweringContext &c, const View &view);

mlir::Value sharedPointer(LoweringContext &c, mlir::Value offset);
mlir::Value sharedAddress(LoweringContext &c, mlir::Value offset); ///< as engines take it, 32 bits

/// The address of an mbarrier, as engines take it.
mlir::Value barrierAddress(LoweringContext &c, mlir::Value barriers, mlir::Value index);

/// Bytes of shared memory: a computed and a constant part.
struct SharedOffset {
  mlir::Value bytes;
  int64_t constant = 0;
};

/// The start of a view's slot: one computed part for all tiles with slots of this size.
SharedOffset slotStart(LoweringContext &c, const View &view);
/// The offset of an element of a shared view inside of its slot, at \p at plus constants.
SharedOffset offsetInSlot(LoweringContext &c, const View &view, llvm::ArrayRef<mlir::Value> at,
                          llvm::ArrayRef<int64_t> offset);

/// The address of an element of a shared view, at \p at plus constants. \p at is the
/// thread's part of a coordinate of \p layout, if there is one.
mlir::Value sharedElement(LoweringContext &c, const View &view, llvm::ArrayRef<mlir::Value> at,
                          llvm::ArrayRef<int64_t> offset,
                          const layout::Distribution *layout = nullptr);

/// Returns the number of registers of a layout that go to or come from a shared view at once.
int64_t together(LoweringContext &c, const layout::Distribution &layout, mlir::Value tile);

/// Returns how many neighbors from register \p offset on may come from a shared view at once.
int64_t neighborsFrom(LoweringContext &c, const layout::Distribution &layout, mlir::Value tile,
                      llvm::ArrayRef<int64_t> offset);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_THREADS_VIEWS_H
