//===- ResolveSchedules.cpp - Check or choose schedules of loops ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/AutoStages.h"
#include "Analysis/Loop/EngineCosts.h"
#include "Analysis/Loop/PipelineLoop.h"
#include "Analysis/Loop/StatementSchedule.h"
#include "Analysis/Loop/TileMemory.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/Language.h"
#include "Dialect/Tile/Target.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Transforms/Passes.h"

namespace penstock {
#define GEN_PASS_DEF_RESOLVESCHEDULES
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

struct ResolveSchedules : penstock::impl::ResolveSchedulesBase<ResolveSchedules> {
  void runOnOperation() override {
    architecture = tile::targetOf(getOperation());
    bool ok = true;
    if (architecture)
      for (const penstock::Diagnostic &wrong : checkTileMemory(getOperation(), *architecture)) {
        tile::emit(getOperation().getLoc(), wrong);
        ok = false;
      }
    if (!ok)
      return signalPassFailure();
    chooseStages(getOperation(), architecture);
    getOperation().walk([&](scf::ForOp loop) {
      ok &= succeeded(tile::verifyScheduleNames(loop));
      // Text may have positions already; they are checked like a stated schedule.
      if (loop->hasAttr(tile::TileDialect::scheduleAttr))
        ok &= resolve(loop);
    });
    if (!ok)
      signalPassFailure();
  }

  bool resolve(scf::ForOp loop) {
    PipelineLoop body = analyzeLoop(loop);
    if (architecture)
      assignCapacity(body, *architecture);
    // The solver's schedule is stated on statements: a loop without any has nothing to check.
    if (body.annotations.solverSeconds)
      return solve(body) && (body.statements.empty() || resolve(loop));
    sched::PipelinedLoop resolved = resolveSchedule(body);
    for (const penstock::Diagnostic &diagnostic : resolved.diagnostics)
      tile::emit(loop.getLoc(), diagnostic);
    if (!resolved.schedule)
      return false;
    setSchedule(body, *resolved.schedule, resolved.problem.statements);
    return true;
  }

  /// States the schedule and the versions of the exact solver, which are then checked like
  /// those of a user.
  bool solve(PipelineLoop &body) {
    if (architecture)
      assignCosts(body, *architecture);
    sched::PipelinedLoop solved = resolveSchedule(body);
    for (const penstock::Diagnostic &diagnostic : solved.diagnostics)
      tile::emit(body.loop.getLoc(), diagnostic);
    if (!solved.schedule)
      return false;
    for (auto [buffer, root] : llvm::zip_equal(solved.problem.buffers, body.buffers))
      if (auto alloc = root ? root.getDefiningOp<tile::AllocOp>() : tile::AllocOp();
          alloc && buffer.statedVersions && isOnlyIn(alloc, body.loop))
        alloc.setVersions(buffer.statedVersions);
    setSchedule(body, *solved.schedule);
    return true;
  }

  /// Returns whether no other pipelined loop could need another number of versions.
  static bool isOnlyIn(tile::AllocOp alloc, scf::ForOp loop) {
    bool others = false;
    loop->getParentOfType<func::FuncOp>().walk([&](scf::ForOp other) {
      if (other == loop || !other->hasAttr(tile::TileDialect::scheduleAttr))
        return;
      other.walk([&](Operation *op) {
        for (Value operand : op->getOperands())
          others |=
              isa<MemRefType>(operand.getType()) && tile::rootOf(operand) == alloc.getResult();
      });
    });
    return !others;
  }

  const hw::Architecture *architecture = nullptr;
};

} // namespace
