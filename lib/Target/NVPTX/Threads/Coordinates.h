//===- Coordinates.h - Coordinates of the elements of a thread --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_THREADS_COORDINATES_H
#define PENSTOCK_TARGET_NVPTX_THREADS_COORDINATES_H

#include "Layout/Distribution.h"
#include "mlir/IR/Value.h"

namespace penstock::nvptx {

struct ExecutionScope;
struct LoweringContext;

/// The thread's part of coordinates. With \p inPlace, LLVM computes addresses where they are used:
/// otherwise it hoists the coordinates of all registers out of a loop, and registers spill.
llvm::SmallVector<mlir::Value> baseOf(LoweringContext &c, const layout::Distribution &layout,
                                      const ExecutionScope &by, bool inPlace = false);

/// Returns whether a register holds an element of the tile; null if all do.
mlir::Value holdsElement(LoweringContext &c, const layout::Distribution &layout,
                         llvm::ArrayRef<mlir::Value> base, llvm::ArrayRef<int64_t> offset);

/// Returns whether the thread holds the first of several copies; null if there is one.
mlir::Value holdsFirstCopy(LoweringContext &c, const layout::Distribution &layout,
                           const ExecutionScope &by);

/// Calls \p body for every \p step -th register of a layout, with the sum of two
/// coordinates, one computed and one constant, and with the layout unless a loop
/// computes the first.
void forElements(LoweringContext &c, const layout::Distribution &layout,
                 llvm::ArrayRef<mlir::Value> base, int64_t step,
                 llvm::function_ref<void(llvm::ArrayRef<mlir::Value>, llvm::ArrayRef<int64_t>,
                                         const layout::Distribution *)>
                     body);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_THREADS_COORDINATES_H
