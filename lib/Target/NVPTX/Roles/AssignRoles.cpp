//===- AssignRoles.cpp - The pass nv-assign-roles -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A single thread issues TMA copies and tcgen05 MMAs, and would stall the rest of its
// warp. This pass moves them to dedicated warps where possible.
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/PipelineLoop.h"
#include "Diagnostics/Codes.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Binding/RegisterNeeds.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Phases/KernelArchitecture.h"
#include "Target/NVPTX/Plans/ConfineThreads.h"
#include "Target/NVPTX/Roles/StatedRoles.h"

namespace penstock {
#define GEN_PASS_DEF_ASSIGNROLES
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;
using sched::Engine;

namespace {

/// The role that issues a statement; empty: the compute warps. All threads of a warp take part
/// in cp.async, which gets warps of its own only if the form is \p stated.
StringRef roleOf(Operation *op, bool stated) {
  switch (nvptx::engineOf(op)) {
  case Engine::TmaLoad:
    return nv::loadRole;
  case Engine::CpAsync:
    return stated ? nv::loadRole : "";
  case Engine::Tcgen05Mma:
    return nv::mmaRole;
  default:
    return "";
  }
}

bool isWarpgroupProduct(Operation *op) {
  Engine engine = nvptx::engineOf(op);
  return engine == Engine::Wgmma || engine == Engine::Tcgen05Mma;
}

/// Returns what keeps other warps from following the control flow around a loop; null if
/// nothing does.
Operation *obstacleAround(scf::ForOp loop, const nvptx::Replication &replication) {
  for (Operation *op = loop; !isa<func::FuncOp>(op); op = op->getParentOp()) {
    // A loop inside of a pipelined loop is one of its statements.
    if (!isa<scf::ForOp, scf::IfOp>(op) || op->getNumResults() != 0 ||
        (op != loop && op->hasAttr(tile::TileDialect::scheduleAttr)))
      return op;
    for (Value operand : op->getOperands())
      if (!replication.isReplicable(operand))
        return op;
  }
  return nullptr;
}

/// Returns whether a separate role can compute the operands of a statement.
bool canMove(const PipelineStatement &statement, const nvptx::Replication &replication) {
  auto known = [&](Value value) { return replication.isReplicable(value); };
  return llvm::all_of(statement.op->getOperands(), known) &&
         llvm::all_of(statement.conditions, known) && statement.loads.empty();
}

/// Why a loop cannot be warp-specialized.
struct Obstacle {
  Operation *at = nullptr;
  StringRef why; ///< empty: it can
};

Obstacle obstacleTo(const PipelineLoop &body, const nvptx::Replication &replication,
                    ArrayRef<StringRef> roles) {
  scf::ForOp loop = body.loop;
  if (Operation *op = obstacleAround(loop, replication))
    return {op, "control flow around the loop depends on what its warps compute"};
  for (auto [statement, role] : llvm::zip_equal(body.statements, roles))
    if (!role.empty() && !canMove(statement, replication))
      return {statement.op, "what this needs depends on what the compute warps compute"};
  if (llvm::all_of(roles, [](StringRef role) { return role.empty(); }))
    return {loop, "nothing in the loop is copied by TMA or cp.async, or multiplied by tcgen05"};
  return {};
}

/// Returns whether a loop is warp-specialized although the user does not ask for it: by a schedule
/// of the compiler, for products of warpgroups.
bool isPreferred(const PipelineLoop &body) {
  scf::ForOp loop = body.loop;
  auto schedule = loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr);
  bool loads = false, multiplies = false;
  for (const PipelineStatement &statement : body.statements) {
    multiplies |= isWarpgroupProduct(statement.op);
    loads |= nvptx::engineOf(statement.op) == Engine::TmaLoad;
  }
  return (schedule.isInferred() || schedule.getSolverSeconds()) && loads && multiplies;
}

/// Returns whether one more warp would leave the threads too few registers for the accumulators of
/// a wgmma. Where two warpgroups take registers from others, it would not.
bool lacksRegisters(func::FuncOp kernel, const PipelineLoop &body) {
  auto threads = kernel->getAttrOfType<IntegerAttr>(nv::NVDialect::threadsAttr);
  if (!threads || nvptx::takesRegistersOfOthers(kernel, threads.getInt() / nv::warpSize))
    return false;
  int64_t available =
      nvptx::registersOfThread(threads.getInt() + nv::warpSize, nvptx::architectureOf(kernel));
  return llvm::any_of(body.statements, [&](const PipelineStatement &statement) {
    auto gemm = dyn_cast<tile::GemmOp>(statement.op);
    return gemm && nvptx::engineOf(gemm) == Engine::Wgmma &&
           nvptx::wgmmaRegisters(cast<MemRefType>(gemm.getAcc().getType())) + nvptx::besideWgmma >
               available;
  });
}

struct AssignRoles : penstock::impl::AssignRolesBase<AssignRoles> {
  void runOnKernel() override {
    func::FuncOp kernel = getOperation();
    if (failed(nvptx::checkStatedRoles(kernel)))
      return signalPassFailure();
    nvptx::Replication replication(kernel);
    const hw::Architecture &architecture = nvptx::architectureOf(kernel);
    auto &loops = getAnalysis<PipelineLoops>();
    bool moved = false;
    WalkResult found = kernel.walk([&](scf::ForOp loop) {
      if (!loop->hasAttr(tile::TileDialect::scheduleAttr))
        return WalkResult::advance();
      auto form = loop->getAttrOfType<StringAttr>(tile::TileDialect::formAttr);
      const PipelineLoop &body = loops.of(loop);
      bool statesRoles = nvptx::statesRoles(body);
      bool stated = statesRoles || (form && form == tile::TileDialect::warpSpecializedForm);
      if (form ? form != tile::TileDialect::warpSpecializedForm : !stated && !isPreferred(body))
        return WalkResult::advance();
      std::vector<StringRef> roles;
      for (const PipelineStatement &statement : body.statements)
        roles.push_back(roleOf(statement.op, stated));
      if (statesRoles && failed(nvptx::addStatedRoles(body, roles)))
        return WalkResult::interrupt();
      Obstacle obstacle = obstacleTo(body, replication, roles);
      if (obstacle.why.empty() && lacksRegisters(kernel, body))
        obstacle = {loop, "a load warp would leave too few registers for the accumulators"};
      if (!architecture.tma) // which mbarrier.try_wait came with
        obstacle = {loop, "GPUs before Hopper have no barriers that roles could wait at"};
      // The kernel for rows that TMA cannot copy has no form but one.
      if (!obstacle.why.empty() && stated && kernel->hasAttr(nv::NVDialect::alignedRowsAttr)) {
        auto diagnostic = tile::emitCoded(loop, FormNotPossible)
                          << "the loop cannot be warp-specialized: " << obstacle.why;
        if (obstacle.at != loop)
          diagnostic.attachNote(obstacle.at->getLoc()) << "here";
        tile::attachHelp(diagnostic) << "leave `" << (statesRoles ? ".role" : ".form")
                                     << "` out: one group of warps executes it then";
        return WalkResult::interrupt();
      }
      if (!obstacle.why.empty())
        return WalkResult::advance();
      for (auto [statement, role] : llvm::zip_equal(body.statements, roles))
        if (!role.empty())
          nv::setRole(statement.op, role);
      if (statesRoles)
        nvptx::separateStages(body, architecture, roles);
      moved |= statesRoles;
      return WalkResult::advance();
    });
    if (found.wasInterrupted())
      return signalPassFailure();
    if (!moved)
      markAnalysesPreserved<PipelineLoops>();
  }
};

} // namespace
