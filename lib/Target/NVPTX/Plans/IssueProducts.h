//===- IssueProducts.h - Products as operations of engines ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PLANS_ISSUEPRODUCTS_H
#define PENSTOCK_TARGET_NVPTX_PLANS_ISSUEPRODUCTS_H

#include "Dialect/Tile/TileDialect.h"
#include "Scheduling/Problem/Problem.h"

#include <optional>

namespace penstock::nvptx {

/// Returns whether operations of an engine are also written outside of pipelined loops.
bool isTensorCore(sched::Engine engine);

/// Replaces a product, or a copy of an accumulator, by the operation that issues it. \p part: only
/// that part of the product's rows.
void writeIssue(mlir::OpBuilder &b, mlir::Operation *op, sched::Engine engine,
                mlir::Value isFirst = {}, std::optional<int64_t> part = {});

/// Writes all products and copies of accumulators that are left in a kernel, so that each is
/// complete before the next statement, and frees tensor memory at its end.
void writeInOrder(mlir::func::FuncOp kernel);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLANS_ISSUEPRODUCTS_H
