//===- PartPlans.cpp - Plans for warpgroups with rows of their own --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tcgen05 multiplies 256 rows in two parts of 128. If all warps that compute waited for
// both, the tensor core would be idle while they compute. So each warpgroup has a part,
// and waits for that alone: it computes while the tensor core multiplies for the other.
//
// The loop becomes one in which statements on parts are statements of their own, with
// roles of their own. The plan of that loop is derived like any other. The code of the
// warpgroups is the same, but for barriers, and is written once.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/TileTypes.h"
#include "Scheduling/Schedule/VerifySchedule.h"
#include "Target/NVPTX/Plans/LoopPlans.h"

#include <set>

using namespace mlir;
using namespace penstock;
using nvptx::LoopPlan;
using sched::Engine;
using sched::PlanPoint;

namespace {

/// Returns the number of parts in which tcgen05 multiplies the rows of all products; 1 if there
/// are none, or if they differ.
int64_t partsOf(const PipelineLoop &loop) {
  std::optional<int64_t> parts;
  for (auto [statement, bound] : llvm::zip_equal(loop.statements, loop.problem.statements)) {
    if (bound.executedBy != Engine::Tcgen05Mma)
      continue;
    auto type = cast<MemRefType>(cast<tile::GemmOp>(statement.op).getAcc().getType());
    int64_t own = nv::warpgroupParts(type);
    if (parts && *parts != own)
      return 1;
    parts = own;
  }
  return parts.value_or(1);
}

class Divider {
public:
  Divider(const ScheduledLoop &loop, const sched::RoleAssignment &roles,
          const sched::RoleSizes &sizes, int64_t parts)
      : loop(loop), problem(loop.body.problem), roles(roles), sizes(sizes), parts(parts) {}

  std::optional<LoopPlan> run() {
    if (!findBuffers())
      return std::nullopt;
    divideBuffers();
    if (!divideStatements())
      return std::nullopt;
    divideQueues();
    divideConflicts();
    divideRoles();
    sched::Schedule schedule = orderStatements();
    if (!sched::checkProblem(divided).empty() || !sched::verifySchedule(divided, schedule).legal())
      return std::nullopt;
    result.plan = sched::derive(divided, schedule, dividedRoles, dividedSizes);
    if (!result.plan.diagnostics.empty() || !pairBarriers() || !hasEqualSlots() ||
        !sched::isCovered(result.plan))
      return std::nullopt;
    result.parts = parts;
    return std::move(result);
  }

private:
  /// Roles of as many warpgroups as there are parts.
  bool isDividedRole(unsigned role) const {
    return sizes.warps[role] == parts * nv::warpgroupWarps;
  }

  bool isDivided(sched::StatementId statement) const {
    return isDividedRole(roles.roleOf[statement]) ||
           problem.statements[statement].executedBy == Engine::Tcgen05Mma;
  }

  /// Returns whether a shared tile passes a value for each row between threads of the same rows.
  bool passesRows(sched::BufferId buffer) const {
    const std::vector<int64_t> &shape = problem.buffers[buffer].shape;
    if (problem.buffers[buffer].space != sched::Space::Shared || shape.size() != 1 ||
        shape[0] != parts * nv::tensorLanes)
      return false;
    for (sched::StatementId i = 0; i < problem.statements.size(); ++i)
      for (const sched::Access &access : problem.statements[i].accesses)
        if (access.buffer == buffer && (!isDividedRole(roles.roleOf[i]) ||
                                        problem.statements[i].executedBy != Engine::Threads ||
                                        !isa<tile::CopyOp>(loop.body.statements[i].op)))
          return false;
    return true;
  }

  /// Chooses the buffers that have parts: those that lie in registers or in tensor memory, where
  /// the rows of a part are those of its warpgroup, and those that pass such rows on. Returns false
  /// if warpgroups meet elsewhere.
  bool findBuffers() {
    hasParts.assign(problem.buffers.size(), false);
    for (sched::BufferId i = 0; i < problem.buffers.size(); ++i) {
      sched::Space space = problem.buffers[i].space;
      hasParts[i] = space == sched::Space::Local || space == sched::Space::Tensor || passesRows(i);
    }
    for (sched::StatementId i = 0; i < problem.statements.size(); ++i)
      for (const sched::Access &access : problem.statements[i].accesses)
        if (isDivided(i) ? access.write && !hasParts[access.buffer] : hasParts[access.buffer])
          return false;
    return true;
  }

  void divideBuffers() {
    divided = problem;
    divided.buffers.clear();
    for (sched::BufferId i = 0; i < problem.buffers.size(); ++i) {
      firstBuffer.push_back(sched::BufferId(divided.buffers.size()));
      for (int64_t part = 0; part < (hasParts[i] ? parts : 1); ++part) {
        sched::Buffer buffer = problem.buffers[i];
        if (hasParts[i]) {
          buffer.name += suffix(part);
          buffer.bytes /= parts;
        }
        divided.buffers.push_back(buffer);
        result.buffers.push_back({i, hasParts[i] ? std::optional(part) : std::nullopt});
      }
    }
  }

  /// Returns false if a statement has no meaning for a part alone.
  bool divideStatements() {
    divided.statements.clear();
    for (sched::StatementId i = 0; i < problem.statements.size(); ++i) {
      const sched::Statement &whole = problem.statements[i];
      if (whole.kind != sched::StatementKind::Compute && whole.kind != sched::StatementKind::Copy)
        return false;
      firstStatement.push_back(sched::StatementId(divided.statements.size()));
      for (int64_t part = 0; part < (isDivided(i) ? parts : 1); ++part) {
        sched::Statement statement = whole;
        if (isDivided(i))
          statement.name += suffix(part);
        for (sched::Access &access : statement.accesses) {
          // The lanes of tensor memory are named after the buffer.
          if (access.holder == access.buffer)
            access.holder = bufferOf(access.buffer, part);
          access.buffer = bufferOf(access.buffer, part);
        }
        divided.statements.push_back(statement);
        result.statements.push_back({i, isDivided(i) ? std::optional(part) : std::nullopt});
      }
    }
    for (auto [statement, origin] : llvm::zip_equal(divided.statements, result.statements))
      if (statement.parent != sched::none)
        statement.parent = statementOf(statement.parent, origin.part.value_or(0));
    return true;
  }

  /// Products into different parts are in queues of their own.
  void divideQueues() {
    divided.queues.clear();
    for (const sched::Queue &whole : problem.queues)
      for (int64_t part = 0; part < parts; ++part) {
        sched::Queue queue = whole;
        queue.name += suffix(part);
        for (sched::BufferId &buffer : queue.orders)
          buffer = bufferOf(buffer, part);
        divided.queues.push_back(queue);
      }
    for (auto [statement, origin] : llvm::zip_equal(divided.statements, result.statements))
      if (statement.queue != sched::none)
        statement.queue = sched::QueueId(statement.queue * parts + origin.part.value_or(0));
  }

  void divideConflicts() {
    divided.conflicts.clear();
    for (const sched::GivenConflict &whole : problem.conflicts)
      for (int64_t first = 0; first < partsOfStatement(whole.first); ++first)
        for (int64_t second = 0; second < partsOfStatement(whole.second); ++second) {
          if (hasParts[whole.buffer] && first != second)
            continue;
          sched::GivenConflict conflict = whole;
          conflict.first = statementOf(whole.first, first);
          conflict.second = statementOf(whole.second, second);
          conflict.buffer = bufferOf(whole.buffer, first);
          divided.conflicts.push_back(conflict);
        }
  }

  void divideRoles() {
    std::vector<unsigned> firstRole;
    for (unsigned i = 0; i < roles.names.size(); ++i) {
      bool divided = isDividedRole(i);
      auto first = unsigned(dividedRoles.names.size());
      firstRole.push_back(first);
      int64_t warps = sizes.warps[i] / (divided ? parts : 1);
      for (int64_t part = 0; part < (divided ? parts : 1); ++part) {
        dividedRoles.names.push_back(roles.names[i] + (divided ? suffix(part) : ""));
        dividedSizes.firstWarp.push_back(sizes.firstWarp[i] + part * warps);
        dividedSizes.warps.push_back(warps);
        result.roles.push_back({first, divided ? std::optional(part) : std::nullopt});
      }
    }
    for (const LoopPlan::Origin &origin : result.statements) {
      unsigned role = roles.roleOf[origin.number];
      int64_t part = isDividedRole(role) ? origin.part.value_or(0) : 0;
      dividedRoles.roleOf.push_back(firstRole[role] + unsigned(part));
    }
  }

  /// In a step, all products of a part come before those of the next, unless threads compute
  /// between them: then the first ones of all parts come first. Copies that follow a product
  /// follow all of them.
  sched::Schedule orderStatements() const {
    int64_t past = 0;
    std::optional<int64_t> firstProduct;
    std::set<int64_t> stages;
    for (sched::StatementId i = 0; i < problem.statements.size(); ++i) {
      past = std::max(past, loop.schedule.order[i] + 1);
      if (problem.statements[i].executedBy != Engine::Tcgen05Mma)
        continue;
      firstProduct =
          std::min(firstProduct.value_or(loop.schedule.order[i]), loop.schedule.order[i]);
      stages.insert(loop.schedule.stage[i]);
    }
    sched::Schedule schedule;
    for (const LoopPlan::Origin &origin : result.statements) {
      int64_t order = loop.schedule.order[origin.number], part = origin.part.value_or(0);
      schedule.stage.push_back(loop.schedule.stage[origin.number]);
      if (stages.size() <= 1)
        schedule.order.push_back(order * parts + part);
      else if (!origin.part && order > firstProduct.value_or(past))
        schedule.order.push_back(order + past * parts);
      else
        schedule.order.push_back(order + past * part);
    }
    return schedule;
  }

  /// Finds which barriers of the warpgroups correspond. Returns false if their code differs in
  /// anything else, or if one of them would have to meet another.
  bool pairBarriers() {
    const sched::Plan &plan = result.plan;
    for (unsigned i = 0; i < plan.barriers.size(); ++i)
      result.barriers.push_back({i, std::nullopt});
    for (auto [own, origin] : llvm::zip_equal(plan.roles, result.roles)) {
      const sched::PlanRole &first = plan.roles[origin.number];
      if (origin.part && (!pairPoints(first.points, own.points, *origin.part) ||
                          !pairPoints(first.drain, own.drain, *origin.part)))
        return false;
    }
    return true;
  }

  bool pairPoints(const std::vector<PlanPoint> &first, const std::vector<PlanPoint> &own,
                  int64_t part) {
    if (first.size() != own.size())
      return false;
    for (auto [a, b] : llvm::zip_equal(first, own)) {
      if (b.leader || b.kind == PlanPoint::Join)
        return false;
      PlanPoint same = b;
      same.barrier = a.barrier;
      if (b.at != sched::none && result.statements[b.at].number == result.statements[a.at].number)
        same.at = a.at;
      if (!(same == a) || (a.barrier == sched::none) != (b.barrier == sched::none))
        return false;
      if (b.barrier != sched::none && !pair(a.barrier, b.barrier, part))
        return false;
    }
    return true;
  }

  bool pair(sched::BarrierId first, sched::BarrierId own, int64_t part) {
    LoopPlan::Origin &origin = result.barriers[own];
    if (first == own && part > 0)
      return !origin.part; // of all parts, or the plan is not alike in both
    sched::PlanBarrier &a = result.plan.barriers[first], &b = result.plan.barriers[own];
    if (a.arrivals != b.arrivals)
      return false;
    // Others may wait for the last part only. More slots keep tokens further apart.
    a.slots = b.slots = std::max(a.slots, b.slots);
    if (part == 0)
      return true;
    if (origin.part && (origin.number != first || *origin.part != part))
      return false;
    result.barriers[first].part = 0;
    origin = {first, part};
    return true;
  }

  /// Returns whether parts of a buffer have as many slots as its first one.
  bool hasEqualSlots() const {
    for (auto [i, origin] : llvm::enumerate(result.buffers))
      if (result.plan.slots[i] != result.plan.slots[firstBuffer[origin.number]])
        return false;
    return true;
  }

  static std::string suffix(int64_t part) { return " part " + std::to_string(part); }
  sched::BufferId bufferOf(sched::BufferId whole, int64_t part) const {
    return firstBuffer[whole] + unsigned(hasParts[whole] ? part : 0);
  }
  int64_t partsOfStatement(sched::StatementId whole) const { return isDivided(whole) ? parts : 1; }
  sched::StatementId statementOf(sched::StatementId whole, int64_t part) const {
    return firstStatement[whole] + unsigned(isDivided(whole) ? part : 0);
  }

  const ScheduledLoop &loop;
  const sched::Problem &problem;
  const sched::RoleAssignment &roles;
  const sched::RoleSizes &sizes;
  const int64_t parts;
  std::vector<bool> hasParts; ///< by buffer
  std::vector<sched::BufferId> firstBuffer;
  std::vector<sched::StatementId> firstStatement;
  sched::Problem divided;
  sched::RoleAssignment dividedRoles;
  sched::RoleSizes dividedSizes;
  LoopPlan result;
};

} // namespace

std::optional<LoopPlan> nvptx::planInParts(const ScheduledLoop &loop,
                                           const sched::RoleAssignment &roles,
                                           const sched::RoleSizes &sizes) {
  int64_t parts = partsOf(loop.body);
  bool computes = roles.names.back() == computeRole;
  if (parts == 1 || !computes || sizes.warps.back() != parts * nv::warpgroupWarps)
    return std::nullopt;
  for (auto [statement, role] : llvm::zip_equal(loop.body.problem.statements, roles.roleOf))
    if (statement.executedBy == Engine::Tcgen05Mma && roles.names[role] == computeRole)
      return std::nullopt; // all warps issue their products in one order
  return Divider(loop, roles, sizes, parts).run();
}
