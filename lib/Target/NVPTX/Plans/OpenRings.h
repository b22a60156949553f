//===- OpenRings.h - Pipelined loops inside of a loop over tiles -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to nv-write-plans. A persistent kernel enters its pipelined loop once for
// each tile. If all roles synchronized between two tiles, loads and MMAs would stop
// during the epilogue. Instead, rings stay live across tiles: each role continues with
// its current slot and phase. An accumulator in tensor memory becomes a separate ring
// between the MMA warp and the compute warps, which read it after the loop.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PLANS_OPENRINGS_H
#define PENSTOCK_TARGET_NVPTX_PLANS_OPENRINGS_H

#include "Analysis/Loop/PipelineLoop.h"
#include "Scheduling/Plan/Plan.h"
#include "Target/NVPTX/Plans/PlanPoints.h"

namespace penstock::nvptx {

/// Operations that access a memref, also through views of it.
void usersOf(mlir::Value memref, llvm::SmallVectorImpl<mlir::Operation *> &users);

/// The columns of version \p slot, an index, of a tile that holds \p versions side by side.
mlir::Value columnsOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value all, int64_t versions,
                      mlir::Value slot);

/// Returns whether roles need not synchronize between two runs of a loop, if its plan allows it:
/// the loop is entered again, and nothing outside of it uses memory that its roles share, but for
/// one accumulator that is read after it.
bool mayStayOpen(const PipelineLoop &loop);

/// Accumulators that runs of a loop fill in turn.
class AccumulatorRing {
public:
  /// The ring of a loop whose rings stay open; none if no accumulator is in tensor memory.
  /// \p warps execute what follows the loop. \p paired: the first of two blocks fills the
  /// accumulators of both.
  static std::optional<AccumulatorRing> of(PipelineLoop &loop, const sched::Plan &inner,
                                           int64_t warps, bool paired);

  /// Why there is no plan; nothing may be written then.
  const std::vector<Diagnostic> &diagnostics() const { return plan.diagnostics; }
  /// A line for each role, for `explain`.
  std::string describe() const;
  bool isFilledBy(const sched::PlanRole &role) const { return role.name == plan.roles[0].name; }
  /// Points of a role before and after its part of the loop.
  void writeBefore(const sched::PlanRole &role, mlir::OpBuilder &at);
  void writeAfter(const sched::PlanRole &role, mlir::OpBuilder &at);
  /// Points of the compute warps, around all that follows the loop.
  void writeEpilogue();

private:
  AccumulatorRing(PipelineLoop &loop, mlir::Value accumulator, sched::Plan plan, bool paired);
  /// Returns whether threads of both blocks of a pair arrive at a barrier, which the first awaits.
  bool isWide(sched::BarrierId barrier) const;
  /// Gives each version its columns, and counts runs.
  void makeVersions(mlir::Value accumulator);
  /// Points of a role of the plan before or after its statement.
  void write(mlir::OpBuilder &at, unsigned role, bool before);

  PipelineLoop *loop;
  sched::Plan plan; ///< of the loop around: role 0 fills, role 1 reads
  bool paired;
  mlir::OpBuilder b;
  std::vector<mlir::Value> barriers;
  mlir::Value run; ///< its number
};

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLANS_OPENRINGS_H
