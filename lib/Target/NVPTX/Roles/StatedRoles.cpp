//===- StatedRoles.cpp - Roles that statements of a loop state ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Roles/StatedRoles.h"
#include "Analysis/Loop/StatementSchedule.h"
#include "Diagnostics/Codes.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Plans/LoopPlans.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace penstock;

namespace {

StringAttr statedRole(Operation *statement) {
  return statement->getAttrOfType<StringAttr>(tile::TileDialect::roleAttr);
}

bool isInRegisters(Value buffer) {
  auto type = buffer ? dyn_cast<MemRefType>(buffer.getType()) : MemRefType();
  return type && tile::spaceOf(type) == tile::Space::Local;
}

LogicalResult refuse(Operation *at, const Twine &why, const Twine &help, Operation *other) {
  auto diagnostic = tile::emitCoded(at, RoleNotPossible) << why;
  if (other)
    diagnostic.attachNote(other->getLoc()) << "which is here";
  tile::attachHelp(diagnostic) << help;
  return failure();
}

} // namespace

bool nvptx::statesRoles(const PipelineLoop &loop) {
  return llvm::any_of(loop.statements, [](const PipelineStatement &s) { return statedRole(s.op); });
}

LogicalResult nvptx::checkStatedRoles(func::FuncOp kernel) {
  WalkResult found = kernel.walk([&](Operation *op) {
    if (!statedRole(op))
      return WalkResult::advance();
    // The outermost operation that states the role.
    Operation *whole = op;
    while (statedRole(whole->getParentOp()) == statedRole(op))
      whole = whole->getParentOp();
    Operation *around = whole->getParentOp();
    while (isa<scf::IfOp>(around))
      around = around->getParentOp();
    if (!around->hasAttr(tile::TileDialect::scheduleAttr)) {
      (void)refuse(op, "a role is stated for what is not a whole statement of a pipelined loop",
                   "state it for a statement of a loop of b.pipelined, or leave it out", nullptr);
      return WalkResult::interrupt();
    }
    auto form = around->getAttrOfType<StringAttr>(tile::TileDialect::formAttr);
    if (form && form != tile::TileDialect::warpSpecializedForm) {
      (void)refuse(op, "a role is stated in a loop whose form is Form::Skewed",
                   "leave one of them out", around);
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(found.wasInterrupted());
}

LogicalResult nvptx::addStatedRoles(const PipelineLoop &loop, std::vector<StringRef> &roles) {
  // Statements that use the same registers, or a scalar of one of them, are in one class, which the
  // first of them stands for.
  llvm::EquivalenceClasses<size_t> classes;
  std::vector<std::optional<size_t>> firstUser(loop.buffers.size());
  for (auto [i, statement] : llvm::enumerate(loop.problem.statements)) {
    classes.insert(i);
    for (sched::StatementId user : statement.users)
      classes.unionSets(i, size_t(user)); // of the scalar that it computes
    for (const sched::Access &access : statement.accesses)
      if (isInRegisters(loop.buffers[access.buffer])) {
        std::optional<size_t> &first = firstUser[access.buffer];
        classes.unionSets(first.value_or(i), i);
        first = first.value_or(i);
      }
  }
  llvm::DenseMap<size_t, Operation *> statedBy; // by class
  for (auto [i, statement] : llvm::enumerate(loop.statements)) {
    if (!statedRole(statement.op))
      continue;
    auto [known, isNew] = statedBy.try_emplace(classes.getLeaderValue(i), statement.op);
    if (!isNew && statedRole(known->second) != statedRole(statement.op))
      return refuse(statement.op,
                    "roles `" + statedRole(known->second).getValue() + "` and `" +
                        statedRole(statement.op).getValue() + "` use the same tiles in registers",
                    "pass results on in a tile of b.shared, or state one role for both",
                    known->second);
  }
  auto roleOf = [&](Operation *stating) -> StringRef {
    StringRef role = statedRole(stating).getValue();
    return role == computeRole ? StringRef() : role;
  };
  // Registers that are used outside of the loop, too, are those of the warps that compute.
  auto checkAccesses = [&](size_t statement, Operation *stating) -> LogicalResult {
    for (const sched::Access &access : loop.problem.statements[statement].accesses) {
      Value buffer = loop.buffers[access.buffer];
      if (!firstUser[access.buffer])
        continue;
      for (Operation *other : buffer.getUsers())
        if (!loop.loop->isAncestor(other))
          return refuse(loop.statements[statement].op,
                        "role `" + roleOf(stating) + "` would need the registers of " +
                            tile::describe(buffer) + ", which other warps use outside of the loop",
                        "pass results on in a tile of b.shared, or state no role", other);
    }
    return success();
  };
  for (bool itself : {true, false})
    for (auto [i, statement] : llvm::enumerate(loop.statements)) {
      Operation *stating = statedBy.lookup(classes.getLeaderValue(i));
      if (stating && !roleOf(stating).empty() && bool(statedRole(statement.op)) == itself &&
          failed(checkAccesses(i, stating)))
        return failure();
    }
  for (size_t i = 0; i < roles.size(); ++i)
    if (Operation *stating = statedBy.lookup(classes.getLeaderValue(i)))
      roles[i] = roleOf(stating);
  return success();
}

void nvptx::separateStages(const PipelineLoop &body, const hw::Architecture &architecture,
                           const std::vector<StringRef> &roles) {
  scf::ForOp loop = body.loop;
  auto schedule = loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr);
  if (!schedule.isInferred())
    return;
  // Statements after a stated role run one stage later, which gives its results another version;
  // where there is no memory for more versions of copies, the role runs one stage earlier.
  for (size_t i = 0; i < roles.size(); ++i) {
    bool last = llvm::none_of(llvm::seq(i + 1, roles.size()),
                              [&](size_t other) { return roles[other] == roles[i]; });
    if (!statedRole(body.statements[i].op) || roles[i].empty() || !last)
      continue;
    SavedPositions before(body);
    int64_t stage = stageOf(body.statements[i].op);
    for (bool later : {true, false}) {
      if (!later && stage == 0)
        break;
      for (size_t j = 0; j < roles.size(); ++j) {
        Operation *statement = body.statements[j].op;
        if (later && j > i && stageOf(statement) == stage)
          setStage(statement, stage + 1);
        if (!later && roles[j] == roles[i])
          setStage(statement, stageOf(statement) - 1);
      }
      if (isLegal(loop, architecture))
        break;
      before.restore();
    }
  }
}
