//===- LoopPlans.cpp - Plans of pipelined loops ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Plans/LoopPlans.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/PackedElements.h"
#include "Dialect/Tile/TileTypes.h"
#include "Hardware/Queues.h"
#include "Scheduling/Plan/Mechanisms.h"
#include "Target/NVPTX/Binding/Engines.h"

using namespace mlir;
using namespace penstock;
using nvptx::computeRole;
using sched::Engine;
using sched::Mechanism;
using sched::PlanPoint;

namespace {

/// The queue of the products into an accumulator. tcgen05 keeps those of one shape and kind in
/// order, and kinds differ in the size of their operands.
sched::QueueId queueInto(sched::Problem &problem, sched::BufferId accumulator, tile::GemmOp gemm,
                         Engine engine) {
  std::string name = "products into " + problem.buffers[accumulator].name;
  hw::Queue products = hw::Queue::Wgmma;
  if (engine == Engine::Tcgen05Mma) {
    products = hw::Queue::Tensor;
    auto sum = cast<MemRefType>(gemm.getAcc().getType());
    auto factor = cast<MemRefType>(gemm.getA().getType());
    name += " of " + std::to_string(sum.getDimSize(1)) + " columns, " +
            std::to_string(factor.getElementTypeBitWidth()) + " bits";
  }
  for (sched::QueueId queue = 0; queue < problem.queues.size(); ++queue)
    if (problem.queues[queue].name == name &&
        llvm::is_contained(problem.queues[queue].orders, accumulator))
      return queue;
  problem.queues.push_back({name, hw::orderOf(products).products, {accumulator}});
  return sched::QueueId(problem.queues.size() - 1);
}

StringRef roleOf(Operation *op) {
  auto role = op->getAttrOfType<nv::RoleAttr>(nv::NVDialect::roleAttr);
  return role ? role.getName() : StringRef(computeRole);
}

/// Roles of a loop by name, the compute warps' last: its code then follows that of the others,
/// and goes on after the loop.
sched::RoleAssignment rolesOf(const PipelineLoop &loop) {
  sched::RoleAssignment roles;
  auto add = [&](bool compute) {
    for (const PipelineStatement &statement : loop.statements)
      if ((roleOf(statement.op) == computeRole) == compute &&
          !llvm::is_contained(roles.names, roleOf(statement.op)))
        roles.names.push_back(roleOf(statement.op).str());
  };
  add(false);
  add(true);
  for (const PipelineStatement &statement : loop.statements)
    roles.roleOf.push_back(
        unsigned(llvm::find(roles.names, roleOf(statement.op)) - roles.names.begin()));
  return roles;
}

/// Returns whether one thread issues a statement of another role than the one that computes.
bool needsOneThread(const sched::Statement &statement) {
  return sched::mechanismOf(statement.executedBy).leader;
}

/// Warps that execute a statement of another role than the one that computes: a warpgroup reaches
/// 128 rows of tensor memory.
int64_t warpsFor(Operation *statement) {
  Engine engine = nvptx::engineOf(statement);
  if (engine != Engine::Tcgen05Load && engine != Engine::Tcgen05Store)
    return nv::warpgroupWarps;
  auto copy = cast<tile::CopyOp>(statement);
  Value cells = engine == Engine::Tcgen05Load ? copy.getSource() : copy.getTarget();
  return nv::warpgroupWarps * nv::warpgroupParts(cast<MemRefType>(cells.getType()));
}

/// Warps of each role. Other roles are warps after the compute warps, or the first of these
/// where none of them has anything else to do. Only whole warpgroups pass registers on, and only
/// those access tensor memory: they begin at multiples of a warpgroup.
sched::RoleSizes sizesOf(const PipelineLoop &loop, const sched::RoleAssignment &roles,
                         int64_t warps, bool own, bool whole) {
  sched::RoleSizes sizes;
  for (auto [role, name] : llvm::enumerate(roles.names)) {
    int64_t count = whole ? nv::warpgroupWarps : 1;
    for (auto [i, of] : llvm::enumerate(roles.roleOf))
      if (of == role && !needsOneThread(loop.problem.statements[i]))
        count = std::max(count, warpsFor(loop.statements[i].op));
    sizes.warps.push_back(name == computeRole ? warps : count);
  }
  sizes.firstWarp.resize(roles.names.size());
  int64_t next = own ? warps : 0;
  for (bool warpgroups : {true, false})
    for (auto [role, name] : llvm::enumerate(roles.names))
      if (name != computeRole && (sizes.warps[role] > 1) == warpgroups) {
        sizes.firstWarp[role] = next;
        next += sizes.warps[role];
      }
  return sizes;
}

} // namespace

void nvptx::bindEngines(PipelineLoop &loop) {
  loop.problem.enteredOnce = isa<func::FuncOp>(loop.loop->getParentOp());
  for (size_t i = 0; i < loop.statements.size(); ++i) {
    sched::Statement &statement = loop.problem.statements[i];
    Operation *op = loop.statements[i].op;
    statement.executedBy = nvptx::engineOf(op);
    // Products in queues of the language may be those of threads here, which no queue orders.
    statement.queue = sched::none;
    bool ends = sched::mechanismOf(statement.executedBy).ends == Mechanism::AtIssue;
    auto gemm = dyn_cast<tile::GemmOp>(op);
    if (ends || (!gemm && !isa<tile::CopyOp>(op)))
      continue;
    statement.async = true;
    // Four warps hold the lanes of tensor memory, each a quarter, whatever they load or store.
    if (statement.executedBy == Engine::Tcgen05Load || statement.executedBy == Engine::Tcgen05Store)
      for (sched::Access &access : statement.accesses)
        if (loop.problem.buffers[access.buffer].space == sched::Space::Tensor)
          access.holder = access.buffer;
    if (auto copy = dyn_cast<tile::CopyOp>(op)) {
      auto type = cast<MemRefType>(copy.getTarget().getType());
      statement.bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
      if (auto padding = copy.getPaddingAttr()) // which barriers do not count
        statement.bytes = statement.bytes * tile::bitsOf(padding.getValue()) / 8;
    }
    if (gemm)
      for (size_t buffer = 0; buffer < loop.buffers.size(); ++buffer)
        if (loop.buffers[buffer] == tile::rootOf(gemm.getAcc()))
          statement.queue =
              queueInto(loop.problem, sched::BufferId(buffer), gemm, statement.executedBy);
  }
}

bool nvptx::needsWarps(const PipelineLoop &loop) {
  bool compute = false, others = false, several = false;
  for (auto [i, statement] : llvm::enumerate(loop.statements)) {
    bool other = roleOf(statement.op) != computeRole;
    (other ? others : compute) = true;
    several |= other && !needsOneThread(loop.problem.statements[i]);
  }
  return others && (compute || several);
}

nvptx::LoopPlan::LoopPlan(sched::Plan plan) : plan(std::move(plan)) {
  auto number = [](std::vector<Origin> &origins, size_t count) {
    for (unsigned i = 0; i < count; ++i)
      origins.push_back({i, std::nullopt});
  };
  number(statements, this->plan.bound.statements.size());
  number(buffers, this->plan.bound.buffers.size());
  number(barriers, this->plan.barriers.size());
  number(roles, this->plan.roles.size());
}

std::vector<int64_t> nvptx::LoopPlan::slots() const {
  std::vector<int64_t> slots;
  for (auto [origin, count] : llvm::zip_equal(buffers, plan.slots))
    if (origin.part.value_or(0) == 0)
      slots.push_back(count);
  return slots;
}

bool nvptx::LoopPlan::isCompute(const sched::PlanRole &role) const {
  return plan.roles.size() == 1 || nameOf(role) == computeRole;
}

StringRef nvptx::LoopPlan::nameOf(const sched::PlanRole &role) {
  return StringRef(role.name).split(' ').first;
}

nvptx::LoopPlan nvptx::planOf(const ScheduledLoop &loop, int64_t warps, bool own, bool whole) {
  sched::RoleAssignment roles = rolesOf(loop.body);
  if (roles.names.size() > 1) {
    sched::RoleSizes sizes = sizesOf(loop.body, roles, warps, own, whole);
    if (std::optional<LoopPlan> parts = planInParts(loop, roles, sizes))
      return *parts;
    sched::Plan plan = sched::derive(loop.body.problem, loop.schedule, roles, sizes);
    bool stated = llvm::any_of(loop.body.statements, [](const PipelineStatement &statement) {
      return statement.op->hasAttr(tile::TileDialect::roleAttr);
    });
    if (plan.diagnostics.empty() || stated)
      return LoopPlan(plan);
  }
  return LoopPlan(sched::derive(loop.body.problem, loop.schedule, {}, {{0}, {warps}}));
}

void nvptx::leaveOut(LoopPlan &plan, size_t number) {
  for (sched::PlanRole &role : plan.plan.roles)
    for (std::vector<PlanPoint> *points : {&role.points, &role.drain}) {
      if (number < points->size()) {
        if ((*points)[number].kind != PlanPoint::Issue)
          points->erase(points->begin() + ptrdiff_t(number));
        return;
      }
      number -= points->size();
    }
}
