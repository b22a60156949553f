//===- PlanPoints.h - Operations for points of plans ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to nv-write-plans: the operations that a point of a plan becomes, once it is
// known which barrier, slot and phase it is about.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PLANS_PLANPOINTS_H
#define PENSTOCK_TARGET_NVPTX_PLANS_PLANPOINTS_H

#include "Scheduling/Plan/Plan.h"
#include "Target/NVPTX/Plans/SlotCounters.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace penstock::nvptx {

/// Returns the arrivals of a phase if one thread of each warp arrives for its warp.
int64_t arrivalsByWarp(const sched::Plan &plan, sched::BarrierId barrier);

class PointWriter {
public:
  explicit PointWriter(mlir::OpBuilder &b) : b(b) {}

  /// Allocates barriers at the start of the kernel.
  static std::vector<mlir::Value> allocate(mlir::OpBuilder &b, mlir::Location loc,
                                           mlir::func::FuncOp kernel,
                                           llvm::ArrayRef<sched::PlanBarrier> barriers);

  void fence(mlir::Location loc, sched::FenceKind kind);
  void waitGroup(mlir::Location loc, const sched::PlanPoint &point, int64_t pending);
  void closeGroup(mlir::Location loc, sched::Engine engine);
  /// \p leader: one thread waits, not all. \p cluster: for arrivals of other blocks.
  void wait(mlir::Location loc, mlir::Value barriers, SlotCounters::Position at, bool leader,
            bool cluster = false);
  /// Adds an arrival of the leader, or of one thread of each warp, at each of \p blocks of the
  /// cluster or, if there are none, at this block. It expects \p bytes, if given.
  /// \p relaxed: engines have finished reading the slot that it frees; see nv.mbarrier.arrive.
  void arrive(mlir::Location loc, mlir::Value barriers, mlir::Value slot, mlir::Value bytes,
              bool leader, mlir::ValueRange blocks = {}, bool relaxed = false);
  /// Adds an arrival that follows the completion of all operations issued to \p engine. \p blocks:
  /// mask, or null.
  void commit(mlir::Location loc, sched::Engine engine, mlir::Value barriers, mlir::Value slot,
              mlir::Value blocks = {});
  mlir::Value asIndex(mlir::Location loc, mlir::Value i32);

private:
  void byLeader(mlir::Location loc, bool leader, llvm::function_ref<void()> write);

  mlir::OpBuilder &b;
};

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLANS_PLANPOINTS_H
