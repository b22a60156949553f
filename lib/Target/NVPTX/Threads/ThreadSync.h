//===- ThreadSync.h - Synchronization of the threads of a scope -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_THREADS_THREADSYNC_H
#define PENSTOCK_TARGET_NVPTX_THREADS_THREADSYNC_H

#include "mlir/IR/Operation.h"

namespace penstock::nvptx {

struct ExecutionScope;
struct LoweringContext;

/// The block's named barriers. The first is that of all threads.
struct NamedBarriers {
  int64_t next = 1;
};

/// Takes the next of the block's named barriers for an operation.
mlir::LogicalResult takeBarrier(LoweringContext &c, mlir::Operation *op);

/// Records that a named barrier synchronizes the threads of a scope.
void nameSync(LoweringContext &c, int64_t barrier);

/// Synchronizes the threads of a scope.
void syncThreads(LoweringContext &c, const ExecutionScope &by);

/// Synchronizes the threads of all blocks of a cluster.
void syncCluster(LoweringContext &c);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_THREADS_THREADSYNC_H
