//===- SharedStorage.h - Contents of a block's shared memory ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_THREADS_SHAREDSTORAGE_H
#define PENSTOCK_TARGET_NVPTX_THREADS_SHAREDSTORAGE_H

#include "Runtime/DeviceKernel.h"
#include "Target/NVPTX/Placement/SharedTiles.h"

#include <map>

namespace penstock::nvptx {

struct ExecutionScope;
struct LoweringContext;

/// Offsets of what lies in shared memory.
struct SharedStorage {
  llvm::DenseMap<mlir::Value, SharedAllocation> tiles;
  llvm::DenseMap<mlir::Value, int64_t> barriers; ///< of nv.mbarrier.alloc
  /// For conversions and reductions, by the first warp of a scope.
  std::map<int64_t, int64_t> scratch;
  mlir::Value base;                      ///< !llvm.ptr<3>
  mlir::Value base32;                    ///< the same as engines take it
  mlir::Block *initialization = nullptr; ///< of barriers, by one thread; null: there are none
};

/// Assigns offsets, and checks that everything fits.
mlir::LogicalResult placeShared(LoweringContext &c);

/// Initializes all mbarriers by one thread; nothing if there are none.
void initializeBarriers(LoweringContext &c);

/// The offset of the scratch memory of a scope.
int64_t scratchOf(LoweringContext &c, const ExecutionScope &by);

/// Names a piece of storage in the result, as the user does.
void nameStorage(LoweringContext &c, mlir::Operation *alloc, StorageName::Kind kind, int64_t first,
                 int64_t size, int64_t slot);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_THREADS_SHAREDSTORAGE_H
