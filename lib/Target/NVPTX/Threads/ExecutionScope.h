//===- ExecutionScope.h - Threads that execute an operation -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_THREADS_EXECUTIONSCOPE_H
#define PENSTOCK_TARGET_NVPTX_THREADS_EXECUTIONSCOPE_H

#include "Dialect/NV/NVDialect.h"
#include "mlir/IR/Value.h"

namespace penstock::nvptx {

struct LoweringContext;

/// The threads that execute what is being lowered.
struct ExecutionScope {
  nv::ThreadScope scope;
  mlir::Value leader;        ///< i1: the thread that issues copies and products
  int64_t barrier = 0;       ///< the named barrier of the scope
  mlir::Value group = {};    ///< i32: the warpgroup among those of the scope, if something uses it
  bool electsIssuer = false; ///< instructions elect the thread of the warp that issues them
};

/// The number of a thread in its scope.
mlir::Value threadInScope(LoweringContext &c, const ExecutionScope &by);

/// Returns whether this thread is the elected one of its warp, where the whole warp executes.
mlir::Value electedThread(LoweringContext &c);

/// The number of a thread's warpgroup in a scope of several where an operation uses it; else null.
mlir::Value warpgroupOf(LoweringContext &c, mlir::Operation *scope, int64_t firstWarp,
                        int64_t warps);

/// Emits PTX of one thread: `@issuer` in \p text is the predicate of the thread that issues it.
void issuePtx(LoweringContext &c, const ExecutionScope &by, llvm::StringRef text,
              llvm::ArrayRef<mlir::Value> operands);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_THREADS_EXECUTIONSCOPE_H
