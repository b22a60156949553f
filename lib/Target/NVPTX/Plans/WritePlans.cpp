//===- WritePlans.cpp - Pipelined loops with engines, from their plans ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes each pipelined loop as the roles of its plan execute it, with copies and MMAs of
// several iterations in flight. Synchronization is derived and verified without MLIR
// (Scheduling/Plan/Plan.h). This pass decides what plans leave open: the rings that stay
// live between two runs of a loop, the ring of accumulators, and the registers that compute
// warps take from other roles.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Scheduling/Plan/Plan.h"
#include "Target/NVPTX/Binding/RegisterNeeds.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Plans/ConfineThreads.h"
#include "Target/NVPTX/Plans/IssueProducts.h"
#include "Target/NVPTX/Plans/LoopPlans.h"
#include "Target/NVPTX/Plans/OpenRings.h"
#include "Target/NVPTX/Plans/PlanWriter.h"
#include "Target/NVPTX/Roles/PairedProduct.h"

namespace penstock {
#define GEN_PASS_DEF_WRITEPLANS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

struct WritePlans : penstock::impl::WritePlansBase<WritePlans> {
  using WritePlansBase::WritePlansBase;

  void runOnKernel() override {
    func::FuncOp kernel = getOperation();
    FailureOr<std::vector<ScheduledLoop>> taken = takeSchedules(kernel);
    if (failed(taken))
      return signalPassFailure();
    std::vector<ScheduledLoop> &loops = *taken;
    for (ScheduledLoop &loop : loops) {
      if (failed(verifySchedule(loop)))
        return signalPassFailure();
      nvptx::bindEngines(loop.body);
    }
    int64_t warps = nv::scopeOf(kernel.getBody().front().getTerminator()).warps, roles = 0;
    bool own = llvm::any_of(loops, [](const ScheduledLoop &loop) {
      return nvptx::needsWarps(loop.body) || nvptx::mayStayOpen(loop.body);
    });
    bool takes = own && nvptx::takesRegistersOfOthers(kernel, warps);
    for (size_t i = 0; i < loops.size(); ++i) {
      if (loops[i].body.statements.empty())
        continue;
      nvptx::LoopPlan written = nvptx::planOf(loops[i], warps, own, takes);
      const sched::Plan &plan = written.plan;
      if (failed(report(loops[i], plan.diagnostics)))
        return signalPassFailure();
      if (omit >= 0)
        nvptx::leaveOut(written, size_t(omit));
      keepAsStatement(loops[i].body.loop, MutableArrayRef(loops).drop_front(i + 1));
      bool open = plan.roles.size() > 1 && nvptx::mayStayOpen(loops[i].body) &&
                  sched::isCoveredIfReentered(plan);
      std::optional<nvptx::AccumulatorRing> accumulators;
      if (open)
        accumulators = nvptx::AccumulatorRing::of(
            loops[i].body, plan, warps, nvptx::PairedProduct::of(loops[i].body).has_value());
      if (accumulators && failed(report(loops[i], accumulators->diagnostics())))
        return signalPassFailure();
      nvptx::PlanWriter(loops[i], written, i, open, accumulators ? &*accumulators : nullptr).run();
      for (const sched::PlanRole &role : plan.roles)
        roles = std::max(roles, role.firstWarp + role.warps);
    }
    // Tiles that rings have replaced. Tensor tiles would be freed at the end of the kernel.
    // Scales of products that are issued in order are used later.
    auto eraseUnused = [&](bool keepScales) {
      for (Operation &op : llvm::make_early_inc_range(kernel.getBody().front()))
        if (isa<tile::AllocOp, nv::TensorAllocOp>(op) && op.use_empty() &&
            !(keepScales && op.hasAttr(nv::NVDialect::scalesAttr)))
          op.erase();
    };
    eraseUnused(/*keepScales=*/true);
    nvptx::writeInOrder(kernel);
    eraseUnused(/*keepScales=*/false);
    kernel.walk([](nv::TensorAllocOp op) { op->removeAttr(nv::NVDialect::scalesAttr); });
    if (roles <= warps)
      return;
    kernel->setAttr(nv::NVDialect::threadsAttr,
                    Builder(&getContext()).getI64IntegerAttr(roles * nv::warpSize));
    nvptx::confineThreads(kernel, warps);
    if (takes && roles == warps + nv::warpgroupWarps)
      passRegisters(kernel);
  }

  /// The compute warps take registers that the other roles do not need. Threads of a role
  /// must not meet others again afterwards: the assembler knows the number of registers of a
  /// region only where nothing else leads to it.
  static void passRegisters(func::FuncOp kernel) {
    SmallVector<nv::WarpsOp> regions(kernel.getBody().front().getOps<nv::WarpsOp>());
    auto hasLoop = [](nv::WarpsOp region) {
      return region.walk([](scf::ForOp) { return WalkResult::interrupt(); }).wasInterrupted();
    };
    llvm::erase_if(regions, [&](nv::WarpsOp region) { return !hasLoop(region); });
    if (regions.size() != 2)
      return;
    for (nv::WarpsOp region : regions) {
      OpBuilder b(region);
      b.setInsertionPointToStart(&region.getBody().front());
      if (region->hasAttr(nv::NVDialect::roleAttr))
        nv::RegistersReleaseOp::create(b, region.getLoc(), nvptx::registersLeft);
      else
        nv::RegistersRequestOp::create(b, region.getLoc(), nvptx::registersTaken);
    }
  }

  static LogicalResult report(const ScheduledLoop &loop,
                              const std::vector<penstock::Diagnostic> &diagnostics) {
    for (const penstock::Diagnostic &diagnostic : diagnostics)
      tile::emit(loop.body.loop->getLoc(), diagnostic);
    return success(diagnostics.empty());
  }
};

} // namespace
