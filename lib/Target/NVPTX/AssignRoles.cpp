//===- AssignRoles.cpp - The pass nv-assign-roles -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies by TMA and products by tcgen05 are issued by one thread, which would hold
// up the others of its warp. Where they can be issued by warps of their own, they
// are.
//
//===----------------------------------------------------------------------===//
#include "Analysis/PipelineLoop.h"
#include "Dialect/NV/NVDialect.h"
#include "Target/NVPTX/ConfineThreads.h"
#include "Target/NVPTX/Engines.h"
#include "Target/NVPTX/Passes.h"

namespace penstock {
#define GEN_PASS_DEF_ASSIGNROLES
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;
using sched::Engine;

namespace {

StringRef roleOf(Operation *op) {
  switch (nvptx::engineOf(op)) {
  case Engine::TmaLoad:
    return "load";
  case Engine::Tcgen05Mma:
    return "mma";
  default:
    return "";
  }
}

bool isWarpgroupProduct(Operation *op) {
  Engine engine = nvptx::engineOf(op);
  return engine == Engine::Wgmma || engine == Engine::Tcgen05Mma;
}

/// Whether all warps can follow the control flow around a loop.
bool isReachedByAll(scf::ForOp loop, const nvptx::Replication &replication) {
  for (Operation *op = loop; !isa<func::FuncOp>(op); op = op->getParentOp()) {
    if (!isa<scf::ForOp, scf::IfOp>(op) || op->getNumResults() != 0)
      return false;
    if (op != loop && op->hasAttr(tile::TileDialect::scheduleAttr))
      return false; // it is a statement of the loop around it
    for (Value operand : op->getOperands())
      if (!replication.isReplicable(operand))
        return false;
  }
  return true;
}

/// Whether a role of its own can compute what a statement needs.
bool canMove(const PipelineStatement &statement, const nvptx::Replication &replication) {
  auto known = [&](Value value) { return replication.isReplicable(value); };
  return llvm::all_of(statement.op->getOperands(), known) &&
         llvm::all_of(statement.conditions, known) && statement.loads.empty();
}

bool isDivided(const PipelineLoop &body, const nvptx::Replication &replication) {
  scf::ForOp loop = body.loop;
  auto schedule = loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr);
  if (!schedule || !schedule.getInferred() || !isReachedByAll(loop, replication))
    return false;
  bool loads = false, multiplies = false;
  for (const PipelineStatement &statement : body.statements) {
    multiplies |= isWarpgroupProduct(statement.op);
    loads |= nvptx::engineOf(statement.op) == Engine::TmaLoad;
    if (!roleOf(statement.op).empty() && !canMove(statement, replication))
      return false;
  }
  return loads && multiplies;
}

struct AssignRoles : penstock::impl::AssignRolesBase<AssignRoles> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!kernel->hasAttr(nv::NVDialect::inOrderAttr))
      return;
    nvptx::Replication replication(kernel);
    kernel.walk([&](scf::ForOp loop) {
      if (!loop->hasAttr(tile::TileDialect::scheduleAttr))
        return;
      PipelineLoop body = analyzeLoop(loop);
      if (!isDivided(body, replication))
        return;
      for (const PipelineStatement &statement : body.statements)
        if (StringRef role = roleOf(statement.op); !role.empty())
          statement.op->setAttr(nv::NVDialect::roleAttr, StringAttr::get(&getContext(), role));
    });
  }
};

} // namespace
