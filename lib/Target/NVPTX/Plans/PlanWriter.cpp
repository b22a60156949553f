//===- PlanWriter.cpp - Roles and steps of a pipelined loop ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Plans/PlanWriter.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Scheduling/Plan/Mechanisms.h"

#include <numeric>

using namespace mlir;
using namespace penstock;
using nvptx::PlanWriter;
using sched::Engine;
using sched::Mechanism;
using sched::PlanPoint;

/// Prologues of more steps are loops: code must not grow with the number of stages.
static constexpr int64_t mostUnrolledSteps = 8;

void PlanWriter::run() {
  const nvptx::LoopSurroundings around(body, plan);
  prepare();
  makeBarriers();
  auto any = [&](auto isSuch) {
    return llvm::any_of(plan.bound.statements, [&](const sched::Statement &statement) {
      return isSuch(sched::mechanismOf(statement.executedBy));
    });
  };
  bool engines = plan.roles.size() > 1 ||
                 any([](const auto &engine) { return engine.ends != Mechanism::AtIssue; });
  entry.fences = !open && around.sharedBefore &&
                 any([](const auto &engine) { return engine.proxy == sched::Proxy::Async; });
  // A plan orders the statements of one run of its loop. The run before, if there may be
  // one, has ended here.
  bool joins = llvm::any_of(plan.roles, hasJoins);
  entry.synchronizes = !open && ((around.before && engines) || (around.again && joins) ||
                                 conflictsInRoles(around.tensorsBefore));
  bool othersBegin = mayOthersBegin(around);
  if (othersBegin)
    entry.fences &= llvm::any_of(plan.roles, [&](const sched::PlanRole &each) {
      return of.isCompute(each) && issues(each, [](const sched::Statement &statement) {
               return sched::mechanismOf(statement.executedBy).proxy == sched::Proxy::Async;
             });
    });
  else
    syncBefore();
  if (shares) {
    // Other blocks write to the memory of this one.
    if (!open && (around.again || around.mayUseSharedBefore()))
      nv::ClusterSyncOp::create(b, loc);
    shares->writeRank(b, loc);
    sharing = shares->ranks(b, loc);
  }
  if (pair) {
    // The first block overwrites accumulators of this one.
    if (!open && around.again)
      nv::ClusterSyncOp::create(b, loc);
    pair->writeRank(b, loc);
  }
  // Warpgroups of parts share the code of the first.
  for (auto [each, origin] : llvm::zip_equal(plan.roles, of.roles))
    if (origin.part.value_or(0) == 0)
      writeRole(each, origin.part.has_value(), othersBegin && of.isCompute(each));
  if (accumulators)
    accumulators->writeEpilogue();
  if (firstToken) {
    Value next = arith::AddIOp::create(b, loc, firstToken,
                                       arith::IndexCastOp::create(b, loc, b.getI32Type(), trips));
    tile::StoreOp::create(b, loc, next, tokenCount, ValueRange());
  }
  // Later accesses of threads of one role are ordered by nv-insert-syncs.
  bool known = plan.roles.size() == 1 && !around.again && sched::endsInAllThreads(plan);
  bool meets =
      !open && ((around.after && engines && !known) || conflictsInRoles(around.tensorsAfter));
  if (meets)
    nv::SyncOp::create(b, loc);
  auto endsInCompute = [&](bool inEach) {
    return of.isCompute(plan.roles.back()) &&
           llvm::all_of(llvm::seq(plan.roles.size() - size_t(of.parts), plan.roles.size()),
                        [&](size_t role) { return sched::endsInRole(plan, role, inEach); });
  };
  if (around.again)
    return finish();
  if (meets)
    freeTiles(around, nv::NVDialect::syncedAttr);
  else if (endsInCompute(/*inEach=*/true))
    freeTiles(around, nv::NVDialect::endedAttr);
  else if (endsInCompute(/*inEach=*/false))
    freeTiles(around, StringRef());
  finish();
}

void PlanWriter::freeTiles(const nvptx::LoopSurroundings &around, StringRef known) {
  for (auto [i, buffer] : llvm::enumerate(body.buffers)) {
    // The last version of a tile that is read after the loop is copied there.
    if (!buffer || !buffer.getDefiningOp<tile::AllocOp>() || around.isAccessedAfter(buffer) ||
        !body.problem.buffers[i].readAfter.empty() ||
        tile::spaceOf(cast<MemRefType>(buffer.getType())) != tile::Space::Shared)
      continue;
    ArrayRef<Value> versions = storage[i];
    for (Value tile : versions.empty() ? ArrayRef(buffer) : ArrayRef<Value>(versions))
      if (auto free = memref::DeallocOp::create(b, loc, tile); !known.empty())
        free->setAttr(known, b.getUnitAttr());
  }
}

bool PlanWriter::issues(const sched::PlanRole &each,
                        llvm::function_ref<bool(const sched::Statement &)> isSuch) const {
  return llvm::any_of(each.points, [&](const PlanPoint &point) {
    return point.kind == PlanPoint::Issue && isSuch(plan.bound.statements[point.at]);
  });
}

bool PlanWriter::accessesInRoles(llvm::function_ref<bool(const sched::Access &)> isSuch) const {
  return llvm::any_of(plan.roles, [&](const sched::PlanRole &each) {
    return !of.isCompute(each) && issues(each, [&](const sched::Statement &statement) {
      return llvm::any_of(statement.accesses, isSuch);
    });
  });
}

bool PlanWriter::conflictsInRoles(const nvptx::TensorAccesses &tensors) const {
  return accessesInRoles([&](const sched::Access &access) {
    return plan.bound.buffers[access.buffer].space == sched::Space::Global &&
           tensors.conflict(body.buffers[of.buffers[access.buffer].number], access.write);
  });
}

bool PlanWriter::mayOthersBegin(const nvptx::LoopSurroundings &around) const {
  if (plan.roles.size() == 1 || around.again || conflictsInRoles(around.tensorsBefore))
    return false;
  return !accessesInRoles([&](const sched::Access &access) {
    Value buffer = body.buffers[of.buffers[access.buffer].number];
    auto type = buffer ? dyn_cast<MemRefType>(buffer.getType()) : MemRefType();
    return type && tile::spaceOf(type) != tile::Space::Global && around.isAccessedBefore(buffer);
  });
}

void PlanWriter::syncBefore() {
  if (entry.fences)
    nv::ProxyFenceOp::create(b, loc);
  if (entry.synchronizes)
    nv::SyncOp::create(b, loc);
}

PlanWriter::CurrentRole::CurrentRole(const sched::PlanRole &role, const sched::Plan &plan)
    : role(&role), firstStage(plan.numStages()) {
  for (const PlanPoint &point : role.points) {
    firstStage = std::min(firstStage, point.stage);
    lastStage = std::max(lastStage, point.stage);
    if (point.kind == PlanPoint::Issue)
      lastIssue = std::max(lastIssue, point.stage);
  }
}

void PlanWriter::writeRole(const sched::PlanRole &each, bool divided, bool meets) {
  loc = loop.getLoc();
  current = CurrentRole(each, plan);
  step = CurrentStep();
  OpBuilder::InsertionGuard guard(b);
  if (plan.roles.size() > 1) {
    bool compute = of.isCompute(each);
    auto scope = nv::WarpsOp::create(b, loc, each.firstWarp, each.warps * (divided ? of.parts : 1));
    if (!compute)
      nv::setRole(scope, nvptx::LoopPlan::nameOf(each));
    b.createBlock(&scope.getBody());
    nv::EndOp::create(b, loc);
    b.setInsertionPointToStart(&scope.getBody().front());
  }
  if (divided)
    current.ownPart = arith::IndexCastOp::create(b, loc, b.getI32Type(),
                                                 nv::WarpgroupOp::create(b, loc, b.getIndexType()));
  if (meets)
    syncBefore();
  // The steps of the prologue do not synchronize with the run before.
  if (open && hasJoins(each))
    nv::SyncOp::create(b, loc);
  if (pair && pair->multiplies(each))
    openIf(pair->isFirst());
  if (accumulators)
    accumulators->writeBefore(each, b);
  writeSteps();
  if (accumulators)
    accumulators->writeAfter(each, b);
}

bool PlanWriter::hasJoins(const sched::PlanRole &role) {
  return llvm::any_of(role.points,
                      [](const PlanPoint &point) { return point.kind == PlanPoint::Join; });
}

void PlanWriter::writeSteps() {
  countSlots();
  int64_t depth = current.lastIssue - current.firstStage, repeated = 1;
  for (size_t i = 0; i < storage.size(); ++i)
    if (!storage[i].empty() && !isRing(i))
      repeated = std::lcm(repeated, versions[i]);
  bool peels = depth == 1 && repeated == 1 && multipliesEarly();
  OpBuilder::InsertionGuard guard(b);
  if (peels)
    openIf(compare(arith::CmpIPredicate::sgt, trips, index(0)));
  writePrologue(depth, repeated, peels);
  Value end = peels ? trips : b.createOrFold<arith::AddIOp>(loc, trips, index(depth));
  writeMainLoop(depth, repeated, end, peels);
  writeEpilogue(depth, end, peels);
  // The reader of the accumulator awaits all products, so that nothing is in flight in the end.
  bool awaited = accumulators && accumulators->isFilledBy(*current.role);
  for (const PlanPoint &point : current.role->drain)
    if (!awaited || point.kind != PlanPoint::WaitBarrier)
      writeDrain(point);
  if (pair && !accumulators && !pair->multiplies(*current.role))
    awaitProductsOfPair();
}

void PlanWriter::awaitProductsOfPair() {
  bool loads = llvm::any_of(current.role->points,
                            [](const PlanPoint &point) { return point.kind == PlanPoint::Expect; });
  if (!loads)
    return;
  openIf(pair->isSecond());
  for (const sched::PlanRole &other : plan.roles)
    for (const PlanPoint &point : other.drain)
      if (pair->multiplies(other))
        writeDrain(point);
}

bool PlanWriter::multipliesEarly() const {
  return llvm::any_of(current.role->points, [&](const PlanPoint &point) {
    return point.kind == PlanPoint::Issue && point.stage < current.lastIssue &&
           plan.bound.statements[point.at].executedBy == Engine::Wgmma;
  });
}

void PlanWriter::writePrologue(int64_t depth, int64_t repeated, bool peels) {
  step.closed = [this](int64_t) { return allStages(); };
  if (depth > mostUnrolledSteps && repeated == 1) {
    auto steps = scf::ForOp::create(b, loc, index(0), index(depth), index(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(steps.getBody());
    writeStep(steps.getInductionVar(), depth,
              [&](int64_t stage) { return Exists{true, true, stage > current.lastIssue}; });
    return;
  }
  for (int64_t t = 0; t < depth; ++t) {
    if (peels)
      step.closed = [this, t](int64_t back) {
        return nvptx::ClosedStages{current.firstStage, current.firstStage + t - back};
      };
    writeStep(index(t), t,
              [&](int64_t stage) { return Exists{false, !peels, stage > current.firstStage + t}; });
  }
}

void PlanWriter::writeMainLoop(int64_t depth, int64_t repeated, Value end, bool peels) {
  loc = loop.getLoc(); // the prologue left the location of its last statement
  SmallVector<Value> carried = current.tokens.start(b, loc);
  llvm::append_range(carried, reentered() ? current.slots.start(b, loc) : SmallVector<Value>());
  auto steps = scf::ForOp::create(b, loc, index(depth), end, index(repeated), carried);
  if (current.role ==
      &plan.roles[plan.roles.size() - size_t(of.parts)]) // once, in the last that is written
    steps->setAttr(nv::NVDialect::planAttr, b.getStringAttr(describePlan()));
  step.closed = [this, depth, peels](int64_t back) {
    // The step before may be one of the prologue.
    return peels && back
               ? nvptx::ClosedStages{current.firstStage, current.firstStage + depth - back}
               : allStages();
  };
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(steps.getBody());
  size_t ofTokens = current.tokens.size();
  current.tokens.enter(steps.getRegionIterArgs().take_front(ofTokens));
  current.slots.enter(steps.getRegionIterArgs().drop_front(ofTokens));
  for (int64_t u = 0; u < repeated; ++u) {
    Value t = steps.getInductionVar();
    OpBuilder::InsertionGuard guard(b);
    if (u) {
      t = arith::AddIOp::create(b, loc, t, index(u));
      openIf(compare(arith::CmpIPredicate::slt, t, end));
    }
    step.aheadOf[t] = depth + u;
    writeStep(t, depth + u, [&](int64_t stage) {
      return Exists{stage > current.lastIssue, !peels && stage < current.lastIssue};
    });
  }
  if (!carried.empty()) {
    SmallVector<Value> next = current.tokens.next(b, loc, repeated);
    llvm::append_range(next, current.slots.next(b, loc, repeated));
    scf::YieldOp::create(b, loc, next);
  }
  step.aheadOf.clear();
}

void PlanWriter::writeEpilogue(int64_t depth, Value end, bool peels) {
  int64_t peeled = peels ? depth : 0;
  step.closed = [this, depth, peeled](int64_t back) {
    // The main loop may have had no steps.
    return peeled ? nvptx::ClosedStages{current.firstStage, current.firstStage + depth - 1 - back}
                  : allStages();
  };
  // A plan closes groups in the steps of all stages, in which its other roles may be alone.
  bool groups = llvm::any_of(current.role->points, isAboutGroups);
  int64_t last = groups ? plan.numStages() - 1 : current.lastStage;
  for (int64_t e = 0; e < peeled + last - current.lastIssue; ++e) {
    step.beforeLast = [this, e, peeled](int64_t stage) {
      return stage - (peeled ? current.firstStage : current.lastIssue) - e - 1;
    };
    step.closed = [this, e, peeled, before = step.closed](int64_t back) {
      return back ? before(back - 1)
                  : nvptx::ClosedStages{current.firstStage + e + 1,
                                        e < peeled ? current.lastIssue : -1};
    };
    writeStep(b.createOrFold<arith::AddIOp>(loc, end, index(e)), depth + e, [&](int64_t stage) {
      bool never = stage <= (peeled ? current.firstStage : current.lastIssue) + e;
      return Exists{stage > current.lastIssue, false, never};
    });
  }
}

std::string PlanWriter::describePlan() const {
  std::string text = sched::printPlan(plan);
  if (open)
    text += "  between runs of the loop, rings stay open\n";
  if (shares)
    text += shares->describe(body, plan);
  if (pair)
    text += pair->describe();
  return accumulators ? text + accumulators->describe() : text;
}

bool PlanWriter::isAwaited(sched::BarrierId barrier, int64_t before) const {
  if (firstToken)
    return true;
  // Parts share the code of the first, and others may wait for the last part only.
  auto isWait = [&](const PlanPoint &point) {
    return point.kind == PlanPoint::WaitBarrier &&
           of.barriers[point.barrier].number == of.barriers[barrier].number;
  };
  return llvm::any_of(plan.roles, [&](const sched::PlanRole &each) {
    return llvm::any_of(each.drain, isWait) ||
           llvm::any_of(each.points, [&](const PlanPoint &point) {
             return isWait(point) && point.distance <= before;
           });
  });
}

void PlanWriter::writeStep(Value t, int64_t number, llvm::function_ref<Exists(int64_t)> existsAt) {
  const std::vector<PlanPoint> &points = current.role->points;
  // In a prologue, where not all groups exist, a wait for products may find that the last one was
  // enough. Its count, until another group is closed:
  std::optional<int64_t> waited;
  auto isNeeded = [&](size_t at) {
    const PlanPoint &point = points[at];
    if (point.kind == PlanPoint::Join)
      return mustMeet(number, at);
    return point.kind != PlanPoint::Arrive || !step.beforeLast ||
           isAwaited(point.barrier, step.beforeLast(point.stage));
  };
  for (size_t i = 0; i < points.size();) {
    // Groups are closed in every step, so that counts of groups are constants, and waits
    // for them are harmless: the assembler keeps products in flight only if no branch
    // touches their accumulators.
    if (isAboutGroups(points[i])) {
      bool begun = current.firstStage + number >= firstStageOf(points[i].engine);
      if (points[i].kind == PlanPoint::Commit && begun) {
        if (nvptx::closesGroup(plan, *current.role, i, step.closed)) {
          writer.closeGroup(loc, points[i].engine);
          if (points[i].engine == Engine::Wgmma)
            waited.reset();
        }
      } else if (points[i].kind == PlanPoint::WaitGroup && begun &&
                 !existsAt(points[i].stage).never) {
        int64_t count = groupsAfter(points[i], i);
        bool products = points[i].engine == Engine::Wgmma;
        if (!products || !waited || *waited > count)
          writer.waitGroup(loc, points[i], count);
        if (products)
          waited = std::min(waited.value_or(count), count);
      }
      ++i;
      continue;
    }
    int64_t stage = points[i].stage;
    size_t end = i;
    while (end < points.size() && points[end].stage == stage && !isAboutGroups(points[end]))
      ++end;
    Exists exists = existsAt(stage);
    if (!exists.never && llvm::any_of(llvm::seq(i, end), isNeeded)) {
      OpBuilder::InsertionGuard guard(b);
      Value k = earlier(t, stage - current.firstStage);
      if (exists.mayBeEarly && stage > current.firstStage)
        openIf(compare(arith::CmpIPredicate::sge, k, index(0)));
      if (exists.mayBeLate)
        openIf(compare(arith::CmpIPredicate::slt, k, trips));
      step.iteration = number - (stage - current.firstStage);
      for (; i < end; ++i)
        if (isNeeded(i))
          writePoint(points[i], k);
    }
    i = end;
  }
}

bool PlanWriter::mustMeet(int64_t number, size_t at) const {
  if (current.firstStage + number >= current.lastIssue)
    return true; // a step of the main loop, after others
  for (size_t i = 0; i < current.role->points.size(); ++i) {
    const PlanPoint &point = current.role->points[i];
    if (point.kind == PlanPoint::Issue &&
        plan.bound.statements[point.at].executedBy != Engine::TmaLoad &&
        (point.stage - current.firstStage < number ||
         (point.stage - current.firstStage == number && i < at)))
      return true;
  }
  return false;
}

int64_t PlanWriter::firstStageOf(Engine engine) const {
  int64_t first = plan.numStages();
  for (const PlanPoint &point : current.role->points)
    if (point.kind == PlanPoint::Issue && plan.bound.statements[point.at].executedBy == engine)
      first = std::min(first, point.stage);
  return first;
}

bool PlanWriter::isAboutGroups(const PlanPoint &point) {
  bool commit = point.kind == PlanPoint::Commit && point.barrier == sched::none;
  return commit || (point.kind == PlanPoint::WaitGroup && !point.leader && !point.guarded);
}

const PipelineStatement &PlanWriter::statementOf(const PlanPoint &point) const {
  return body.statements[of.statements[point.at].number];
}
