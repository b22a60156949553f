//===- PairedProduct.h - Products of two blocks -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to nv-share-copies and nv-write-plans.
//
// On Blackwell, a block of a pair multiplies for both: its product reads the left operand
// of each block, and one half of the right operand from each, and adds to the accumulators
// of both. So each block loads half of the right operand.
//
// The plan stays that of one block. Copies of both blocks complete the barriers of the first one,
// which expects their bytes, and alone issues products. Its commits arrive at the barriers of
// both, so that each block's own waits release its slots: a slot of the second block is
// free when the product of the first one has read it, and the role that loads awaits the last
// products there. A copy of the second block cannot come a
// phase early: it follows such a commit, which follows the wait for the phase before.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_ROLES_PAIREDPRODUCT_H
#define PENSTOCK_TARGET_NVPTX_ROLES_PAIREDPRODUCT_H

#include "Target/NVPTX/Plans/LoopPlans.h"

namespace penstock::nvptx {

/// Makes a pair of a cluster of two blocks whose copies of right operands have been found to be the
/// same. Returns why that is not possible; empty if it is.
std::string pairBlocks(mlir::func::FuncOp kernel);

class PairedProduct {
public:
  /// Nothing if the blocks of the kernel are not paired.
  static std::optional<PairedProduct> of(const PipelineLoop &loop);

  /// Returns whether a block copies half of a tile.
  bool isHalved(mlir::Value tile) const { return tile == halved; }
  /// Returns whether only the first block executes the steps of a role.
  bool multiplies(const sched::PlanRole &role) const;
  /// The factor from the bytes that a copy of the plan brings to those of both blocks.
  int64_t factorOf(mlir::Operation *copy) const;

  /// Prepares values that follow from the rank of this block.
  void writeRank(mlir::OpBuilder &b, mlir::Location loc);
  /// i1: this block is the first one, or the second.
  mlir::Value isFirst() const { return first; }
  mlir::Value isSecond() const { return second; }
  /// The first row of this block's half of the tile that a copy fills.
  mlir::Value rowOf(mlir::OpBuilder &b, mlir::Location loc) const;

  /// For `explain`.
  std::string describe() const;

private:
  const PipelineLoop *loop = nullptr;
  mlir::Value halved;
  mlir::Value rank, first, second;
};

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_ROLES_PAIREDPRODUCT_H
