//===- ClusterShares.h - Copies that blocks of a cluster share --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan is that of one block. The blocks of a cluster run it in step, and each writes
// its part of a shared copy to all of them. So a block may refill a slot only when all
// of them have read it: every barrier that its loading role awaits counts the arrivals
// of all blocks that it shares with. Whatever orders a reader before a refill in one
// block ends in such a wait, and orders the same reader of the other blocks, too.
//
// An arrival of another block cannot come a phase early: it follows a read of the same
// iteration, which has waited for the part that this block copied after its own wait.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_ROLES_CLUSTERSHARES_H
#define PENSTOCK_TARGET_NVPTX_ROLES_CLUSTERSHARES_H

#include "Dialect/Tile/TileDialect.h"
#include "Target/NVPTX/Plans/LoopPlans.h"

#include <set>

namespace penstock::nvptx {

/// Rows of shared memory after which a swizzle repeats: parts of a copy are multiples.
constexpr int64_t swizzledRows = 8;

class ClusterShares {
public:
  /// The copies that blocks share in a loop; nothing if there are none, or if some barrier counts
  /// copies of one block only.
  static std::optional<ClusterShares> of(const PipelineLoop &loop, const LoopPlan &plan);

  /// Returns whether a barrier of the plan counts the arrivals of all blocks that share.
  bool isWide(sched::BarrierId barrier) const { return wide.count(barrier) != 0; }
  /// The arrivals that a wide barrier counts: one for each warp, not for each thread, of this and
  /// other blocks.
  int64_t arrivalsAt(const sched::Plan &plan, sched::BarrierId barrier) const;

  /// For `explain`.
  std::string describe(const PipelineLoop &loop, const sched::Plan &plan) const;

  /// Prepares values that follow from the rank of this block.
  void writeRank(mlir::OpBuilder &b, mlir::Location loc);
  /// Ranks of the blocks that share with this one.
  llvm::SmallVector<mlir::Value> ranks(mlir::OpBuilder &b, mlir::Location loc) const;
  /// The same as a mask.
  mlir::Value mask(mlir::OpBuilder &b, mlir::Location loc) const;

  /// The part of a shared copy that this block makes, and where it goes.
  struct Part {
    mlir::Value first; ///< row of the tile
    int64_t rows = 0;
    mlir::Value blocks; ///< mask
  };
  /// Nothing: the copy is not shared.
  std::optional<Part> partOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *copy) const;

private:
  using Extents = llvm::SmallVector<int64_t>;

  /// The number of blocks that share copies with this one, and itself.
  int64_t blocks() const;
  int64_t stride(int64_t dim) const;
  /// The number of blocks that share a copy.
  int64_t partsOf(llvm::ArrayRef<int64_t> along) const;
  /// To the blocks that share with this one, and 0, along each extent.
  std::set<Extents> distances() const;
  /// A mask of the blocks whose position differs from that of this one along some extents only.
  mlir::Value maskOf(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<int64_t> along) const;

  Extents cluster;          ///< blocks along each extent of the grid
  std::set<Extents> groups; ///< extents along which copies are shared
  std::set<sched::BarrierId> wide;
  llvm::SmallVector<mlir::Value> own; ///< i32: position of this block along each extent
};

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_ROLES_CLUSTERSHARES_H
