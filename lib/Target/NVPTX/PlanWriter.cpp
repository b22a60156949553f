//===- PlanWriter.cpp - A pipelined loop, from its plan -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each role's loop is written as a prologue and a main loop of steps. In the main loop,
// statements of the role's last stage exist in every step; those of earlier stages,
// mostly copies, are under a condition. So each statement is written at most twice for
// every stage that it is ahead, whatever the number of iterations. Points that trail
// the last statement, releases of what it has read, follow in an epilogue. Products that
// threads issue one stage early have no condition: the last step is written apart.
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/PlanWriter.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Scheduling/Mechanisms.h"
#include "Target/NVPTX/ClusterShares.h"
#include "Target/NVPTX/Engines.h"
#include "Target/NVPTX/GroupCounts.h"
#include "Target/NVPTX/IssueProducts.h"
#include "Target/NVPTX/LoopPlans.h"
#include "Target/NVPTX/LoopSurroundings.h"
#include "Target/NVPTX/PairedProduct.h"
#include "Target/NVPTX/PlanPoints.h"
#include "Target/NVPTX/SlotCounters.h"

#include <numeric>
#include <set>

using namespace mlir;
using namespace penstock;
using sched::Engine;
using sched::Mechanism;
using sched::PlanPoint;

namespace {

/// Prologues of more steps are loops: code must not grow with the number of stages.
constexpr int64_t mostUnrolledSteps = 8;

class PlanWriter : PipelineWriter {
public:
  /// \p number tells the loop from others of the kernel.
  PlanWriter(ScheduledLoop &loop, const nvptx::LoopPlan &of, size_t number, bool open,
             nvptx::AccumulatorRing *accumulators)
      : PipelineWriter(loop, of.slots()), of(of), plan(of.plan), number(int64_t(number)),
        open(open), accumulators(accumulators), shares(nvptx::ClusterShares::of(body, of)),
        pair(nvptx::PairedProduct::of(body)), writer(b) {}

  void run() {
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
    // Accesses before the loop are ordered before its engines.
    if (!open && around.sharedBefore &&
        any([](const auto &engine) { return engine.proxy == sched::Proxy::Async; }))
      nv::ProxyFenceOp::create(b, loc);
    // A plan orders the statements of one run of its loop. The run before, if there may be
    // one, has ended here.
    bool joins = llvm::any_of(plan.roles, hasJoins);
    if (!open && ((around.before && engines) || (around.again && joins)))
      nv::SyncOp::create(b, loc);
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
    // Warpgroups that compute parts share the code of the first.
    auto roles = ArrayRef(plan.roles).drop_back(size_t(of.parts - 1));
    for (const sched::PlanRole &each : roles)
      writeRole(each);
    if (accumulators)
      accumulators->writeEpilogue();
    if (firstToken) {
      Value next = arith::AddIOp::create(b, loc, firstToken,
                                         arith::IndexCastOp::create(b, loc, b.getI32Type(), trips));
      tile::StoreOp::create(b, loc, next, tokenCount, ValueRange());
    }
    bool meets = !open && around.after && engines;
    if (meets)
      nv::SyncOp::create(b, loc);
    auto ends = [&](size_t role) { return sched::endsInRole(plan, role); };
    bool computes = of.isCompute(plan.roles.back());
    if (!around.again &&
        (meets || (computes && llvm::all_of(llvm::seq(roles.size() - 1, plan.roles.size()), ends))))
      freeTiles(around, /*synced=*/meets);
    finish();
  }

private:
  /// Lets others take the memory of tiles that nothing accesses after the loop. \p synced: all
  /// threads have met.
  void freeTiles(const nvptx::LoopSurroundings &around, bool synced) {
    for (auto [i, buffer] : llvm::enumerate(body.buffers)) {
      // The last version of a tile that is read after the loop is copied there.
      if (!buffer || !buffer.getDefiningOp<tile::AllocOp>() || around.isAccessedAfter(buffer) ||
          !body.problem.buffers[i].readAfter.empty() ||
          tile::spaceOf(cast<MemRefType>(buffer.getType())) != tile::Space::Shared)
        continue;
      ArrayRef<Value> versions = storage[i];
      for (Value tile : versions.empty() ? ArrayRef(buffer) : ArrayRef<Value>(versions))
        if (auto free = memref::DeallocOp::create(b, loc, tile); synced)
          free->setAttr(nv::NVDialect::syncedAttr, b.getUnitAttr());
    }
  }

  //===------------------------------------------------------------------===//
  // Steps
  //===------------------------------------------------------------------===//

  void writeRole(const sched::PlanRole &each) {
    role = &each;
    loc = loop.getLoc();
    releases = true;
    firstStage = plan.numStages();
    lastIssue = 0;
    lastStage = 0;
    for (const PlanPoint &point : role->points) {
      firstStage = std::min(firstStage, point.stage);
      lastStage = std::max(lastStage, point.stage);
      if (point.kind == PlanPoint::Issue)
        lastIssue = std::max(lastIssue, point.stage);
    }
    OpBuilder::InsertionGuard guard(b);
    if (plan.roles.size() > 1) {
      bool compute = of.isCompute(each);
      auto scope =
          nv::WarpsOp::create(b, loc, each.firstWarp, each.warps * (compute ? of.parts : 1));
      if (!compute)
        scope->setAttr(nv::NVDialect::roleAttr, b.getStringAttr(each.name));
      b.createBlock(&scope.getBody());
      nv::EndOp::create(b, loc);
      b.setInsertionPointToStart(&scope.getBody().front());
    }
    ownPart = Value();
    if (of.parts > 1 && of.isCompute(each))
      ownPart = arith::IndexCastOp::create(b, loc, b.getI32Type(),
                                           nv::WarpgroupOp::create(b, loc, b.getIndexType()));
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

  static bool hasJoins(const sched::PlanRole &role) {
    return llvm::any_of(role.points,
                        [](const PlanPoint &point) { return point.kind == PlanPoint::Join; });
  }

  /// Registers cannot be indexed: steps are repeated until versions recur.
  bool isRing(size_t buffer) const override {
    const sched::Buffer &tile = body.problem.buffers[buffer];
    return tile.space == sched::Space::Shared ||
           (tile.space == sched::Space::Tensor && tile.readAfter.empty());
  }

  MemRefType typeOf(size_t buffer) const override {
    MemRefType whole = PipelineWriter::typeOf(buffer);
    if (!pair || !pair->isHalved(body.buffers[buffer]))
      return whole;
    return tile::tileType({whole.getDimSize(0) / 2, whole.getDimSize(1)}, whole.getElementType(),
                          tile::Space::Shared);
  }

  /// Slots in tensor memory lie side by side.
  Value allocate(MemRefType type, StringAttr label) override {
    if (tile::spaceOf(type) != tile::Space::Tensor)
      return PipelineWriter::allocate(type, label);
    if (type.getRank() == 3)
      type = tile::tileType({type.getDimSize(1), type.getDimSize(0) * type.getDimSize(2)},
                            type.getElementType(), tile::Space::Tensor);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&loop->getParentOfType<func::FuncOp>().getBody().front());
    return nv::TensorAllocOp::create(b, loc, type, label);
  }

  Value slotOf(size_t buffer, Value k) override {
    auto ahead = aheadOf.find(k);
    if (ahead == aheadOf.end() && open)
      return writer.asIndex(loc, tokens.divide(b, loc, versions[buffer], k).slot);
    if (ahead == aheadOf.end())
      return PipelineWriter::slotOf(buffer, k);
    return writer.asIndex(loc, slotsOfTiles().at(b, loc, versions[buffer], ahead->second).slot);
  }

  Value versionOf(size_t buffer, Value k) override {
    int64_t count = versions[buffer];
    if (isRing(buffer) && body.problem.buffers[buffer].space == sched::Space::Tensor)
      return nvptx::columnsOf(b, loc, storage[buffer].front(), count, slotOf(buffer, k));
    if (isRing(buffer))
      return PipelineWriter::versionOf(buffer, k);
    return storage[buffer][size_t(((iteration % count) + count) % count)];
  }

  void writeSteps() {
    countSlots();
    int64_t depth = lastIssue - firstStage, repeated = 1;
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
    bool awaited = accumulators && accumulators->isFilledBy(*role);
    for (const PlanPoint &point : role->drain)
      if (!awaited || point.kind != PlanPoint::WaitBarrier)
        writeDrain(point);
    if (pair && !accumulators && !pair->multiplies(*role))
      awaitProductsOfPair();
  }

  /// In the second block, the role that loads awaits the products of the first one: it has
  /// followed the phases of their barrier.
  void awaitProductsOfPair() {
    bool loads = llvm::any_of(
        role->points, [](const PlanPoint &point) { return point.kind == PlanPoint::Expect; });
    if (!loads)
      return;
    openIf(pair->isSecond());
    for (const sched::PlanRole &other : plan.roles)
      for (const PlanPoint &point : other.drain)
        if (pair->multiplies(other))
          writeDrain(point);
  }

  /// Returns whether threads issue products before the role's last stage. The assembler keeps these
  /// in flight only if no branch lies around them, so that the last steps are written apart.
  bool multipliesEarly() const {
    return llvm::any_of(role->points, [&](const PlanPoint &point) {
      return point.kind == PlanPoint::Issue && point.stage < lastIssue &&
             plan.bound.statements[point.at].executedBy == Engine::Wgmma;
    });
  }

  void writePrologue(int64_t depth, int64_t repeated, bool peels) {
    closed = [this](int64_t) { return allStages(); };
    if (depth > mostUnrolledSteps && repeated == 1) {
      auto steps = scf::ForOp::create(b, loc, index(0), index(depth), index(1));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(steps.getBody());
      writeStep(steps.getInductionVar(), depth,
                [&](int64_t stage) { return Exists{true, true, stage > lastIssue}; });
      return;
    }
    for (int64_t t = 0; t < depth; ++t) {
      if (peels)
        closed = [this, t](int64_t back) {
          return nvptx::ClosedStages{firstStage, firstStage + t - back};
        };
      writeStep(index(t), t,
                [&](int64_t stage) { return Exists{false, !peels, stage > firstStage + t}; });
    }
  }

  void writeMainLoop(int64_t depth, int64_t repeated, Value end, bool peels) {
    SmallVector<Value> carried = tokens.start(b, loc);
    llvm::append_range(carried, reentered() ? slots.start(b, loc) : SmallVector<Value>());
    auto steps = scf::ForOp::create(b, loc, index(depth), end, index(repeated), carried);
    if (role ==
        &plan.roles[plan.roles.size() - size_t(of.parts)]) // once, in the last that is written
      steps->setAttr(nv::NVDialect::planAttr, b.getStringAttr(describePlan()));
    closed = [this, depth, peels](int64_t back) {
      // The step before may be one of the prologue.
      return peels && back ? nvptx::ClosedStages{firstStage, firstStage + depth - back}
                           : allStages();
    };
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(steps.getBody());
    size_t ofTokens = tokens.size();
    tokens.enter(steps.getRegionIterArgs().take_front(ofTokens));
    slots.enter(steps.getRegionIterArgs().drop_front(ofTokens));
    for (int64_t u = 0; u < repeated; ++u) {
      Value t = steps.getInductionVar();
      OpBuilder::InsertionGuard guard(b);
      if (u) {
        t = arith::AddIOp::create(b, loc, t, index(u));
        openIf(compare(arith::CmpIPredicate::slt, t, end));
      }
      aheadOf[t] = depth + u;
      writeStep(t, depth + u, [&](int64_t stage) {
        return Exists{stage > lastIssue, !peels && stage < lastIssue};
      });
    }
    if (!carried.empty()) {
      SmallVector<Value> next = tokens.next(b, loc, repeated);
      llvm::append_range(next, slots.next(b, loc, repeated));
      scf::YieldOp::create(b, loc, next);
    }
    aheadOf.clear();
  }

  /// Writes the rest after the main loop: the last statements, if these were peeled, and points
  /// that trail the last statement.
  void writeEpilogue(int64_t depth, Value end, bool peels) {
    int64_t peeled = peels ? depth : 0;
    closed = [this, depth, peeled](int64_t back) {
      // The main loop may have had no steps.
      return peeled ? nvptx::ClosedStages{firstStage, firstStage + depth - 1 - back} : allStages();
    };
    // A plan closes groups in the steps of all stages, in which its other roles may be alone.
    bool groups = llvm::any_of(role->points, isAboutGroups);
    int64_t last = groups ? plan.numStages() - 1 : lastStage;
    for (int64_t e = 0; e < peeled + last - lastIssue; ++e) {
      releases = e < peeled || mustRelease();
      closed = [this, e, peeled, before = closed](int64_t back) {
        return back ? before(back - 1)
                    : nvptx::ClosedStages{firstStage + e + 1, e < peeled ? lastIssue : -1};
      };
      writeStep(b.createOrFold<arith::AddIOp>(loc, end, index(e)), depth + e, [&](int64_t stage) {
        bool never = stage <= (peeled ? firstStage : lastIssue) + e;
        return Exists{stage > lastIssue, false, never};
      });
    }
  }

  nvptx::ClosedStages allStages() const { return {0, plan.numStages()}; }

  std::string describePlan() const {
    std::string text = sched::printPlan(plan);
    if (open)
      text += "  between runs of the loop, rings stay open\n";
    if (shares)
      text += shares->describe(body, plan);
    if (pair)
      text += pair->describe();
    return accumulators ? text + accumulators->describe() : text;
  }

  /// Whether anything waits for what the role's last iterations release: the loop when it is
  /// entered again, or the end of a role.
  bool mustRelease() const {
    if (firstToken)
      return true;
    auto isReleased = [&](sched::BarrierId barrier) {
      return llvm::any_of(role->points, [&](const PlanPoint &point) {
        return point.barrier == barrier && point.stage > lastIssue;
      });
    };
    return llvm::any_of(plan.roles, [&](const sched::PlanRole &each) {
      return llvm::any_of(each.drain, [&](const PlanPoint &point) {
        return point.kind == PlanPoint::WaitBarrier && isReleased(point.barrier);
      });
    });
  }

  /// Which iterations of a step may not exist.
  struct Exists {
    bool mayBeEarly = false; ///< before the first iteration
    bool mayBeLate = false;  ///< after the last one
    bool never = false;      ///< not begun yet
  };

  /// Writes step \p t. \p number is its number up to a multiple of what recurs.
  void writeStep(Value t, int64_t number, llvm::function_ref<Exists(int64_t)> existsAt) {
    const std::vector<PlanPoint> &points = role->points;
    for (size_t i = 0; i < points.size();) {
      // Groups are closed in every step, so that counts of groups are constants, and waits
      // for them are harmless: the assembler keeps products in flight only if no branch
      // touches their accumulators.
      if (isAboutGroups(points[i])) {
        bool begun = firstStage + number >= firstStageOf(points[i].engine);
        if (points[i].kind == PlanPoint::Commit && begun) {
          if (nvptx::closesGroup(plan, *role, i, closed))
            writer.closeGroup(loc, points[i].engine);
        } else if (points[i].kind == PlanPoint::WaitGroup && begun &&
                   !existsAt(points[i].stage).never) {
          waitGroup(points[i], i);
        }
        ++i;
        continue;
      }
      int64_t stage = points[i].stage;
      size_t end = i;
      while (end < points.size() && points[end].stage == stage && !isAboutGroups(points[end]))
        ++end;
      Exists exists = existsAt(stage);
      bool needed = releases || llvm::any_of(llvm::seq(i, end), [&](size_t at) {
                      return points[at].kind != PlanPoint::Arrive;
                    });
      if (needed && !exists.never) {
        OpBuilder::InsertionGuard guard(b);
        Value k = earlier(t, stage - firstStage);
        if (exists.mayBeEarly && stage > firstStage)
          openIf(compare(arith::CmpIPredicate::sge, k, index(0)));
        if (exists.mayBeLate)
          openIf(compare(arith::CmpIPredicate::slt, k, trips));
        iteration = number - (stage - firstStage);
        for (; i < end; ++i)
          if (points[i].kind != PlanPoint::Join || mustMeet(number, i))
            writePoint(points[i], k);
      }
      i = end;
    }
  }

  /// Whether a join in step \p number has anything to order: a statement that was issued
  /// before point \p at, other than a copy whose end only its barrier shows.
  bool mustMeet(int64_t number, size_t at) const {
    if (firstStage + number >= lastIssue)
      return true; // a step of the main loop, after others
    for (size_t i = 0; i < role->points.size(); ++i) {
      const PlanPoint &point = role->points[i];
      if (point.kind == PlanPoint::Issue &&
          plan.bound.statements[point.at].executedBy != Engine::TmaLoad &&
          (point.stage - firstStage < number || (point.stage - firstStage == number && i < at)))
        return true;
    }
    return false;
  }

  /// No groups of an engine are counted before the first of its statements begins.
  int64_t firstStageOf(Engine engine) const {
    int64_t first = plan.numStages();
    for (const PlanPoint &point : role->points)
      if (point.kind == PlanPoint::Issue && plan.bound.statements[point.at].executedBy == engine)
        first = std::min(first, point.stage);
    return first;
  }

  static bool isAboutGroups(const PlanPoint &point) {
    bool commit = point.kind == PlanPoint::Commit && point.barrier == sched::none;
    return commit || (point.kind == PlanPoint::WaitGroup && !point.leader && !point.guarded);
  }

  //===------------------------------------------------------------------===//
  // Points
  //===------------------------------------------------------------------===//

  void writePoint(const PlanPoint &point, Value k) {
    OpBuilder::InsertionGuard guard(b);
    if (point.at != sched::none)
      loc = statementOf(point).op->getLoc();
    if (point.guarded) {
      IRMapping mapping = iterationOf(k);
      enter(statementOf(point).conditions, mapping);
    }
    switch (point.kind) {
    case PlanPoint::Issue:
      part = of.statements[point.at].part;
      return writeInstance(of.statements[point.at].number, k);
    case PlanPoint::WaitGroup:
      return waitGroup(point, size_t(&point - role->points.data()));
    case PlanPoint::WaitBarrier:
      return waitBarrier(point, awaited(point, k));
    case PlanPoint::Expect: {
      Value bytes = bytesOf(point, k);
      if (pair) // of both blocks
        openIf(pair->isFirst());
      return writer.arrive(loc, barriers[point.barrier], slotOfToken(point.barrier, k), bytes,
                           /*leader=*/true);
    }
    case PlanPoint::Fence:
      return writer.fence(loc, point.fence);
    case PlanPoint::Join:
      nv::SyncOp::create(b, loc);
      return;
    case PlanPoint::Arrive:
      if (isWide(point) && !point.leader && readsByThreads())
        nv::WarpSyncOp::create(b, loc); // one arrives for all threads of its warp
      return writer.arrive(loc, barriers[point.barrier], slotOfToken(point.barrier, k), Value(),
                           point.leader, isWide(point) ? ValueRange(sharing) : ValueRange());
    case PlanPoint::Commit:
      return writer.commit(loc, point.engine, barriers[point.barrier],
                           slotOfToken(point.barrier, k),
                           isWide(point) ? shares->mask(b, loc) : Value());
    }
  }

  /// Whether a point arrives in all blocks that share copies.
  bool isWide(const PlanPoint &point) const { return shares && shares->isWide(point.barrier); }

  /// Whether threads of the role access shared memory themselves. Engines await all of a warp.
  bool readsByThreads() const {
    return llvm::any_of(role->points, [&](const PlanPoint &point) {
      return point.kind == PlanPoint::Issue &&
             llvm::any_of(plan.bound.statements[point.at].accesses,
                          [&](const sched::Access &access) {
                            return access.proxy == sched::Proxy::Generic &&
                                   plan.bound.buffers[access.buffer].space == sched::Space::Shared;
                          });
    });
  }

  /// The token that a wait of iteration \p k awaits; goes on where there is one.
  nvptx::SlotCounters::Position awaited(const PlanPoint &point, Value k) {
    int64_t slots = plan.barriers[point.barrier].slots;
    // The phase before the first is complete from the start.
    if (point.distance == slots && open && !aheadOf.contains(k)) {
      nvptx::SlotCounters::Position at = tokenOf(point.barrier, k);
      Value one = arith::ConstantIntOp::create(b, loc, 1, 32);
      return {at.slot, b.createOrFold<arith::XOrIOp>(loc, at.phase, one)};
    }
    if (point.distance && !(point.distance == slots && aheadOf.contains(k))) {
      Value number = k;
      if (open)
        number = arith::AddIOp::create(b, loc, k, writer.asIndex(loc, firstToken));
      openIf(compare(arith::CmpIPredicate::sge, number, index(point.distance)));
    }
    return tokenOf(point.barrier, earlier(k, point.distance));
  }

  void writeDrain(const PlanPoint &point) {
    OpBuilder::InsertionGuard guard(b);
    switch (point.kind) {
    case PlanPoint::WaitGroup:
      return waitGroup(point, role->points.size());
    case PlanPoint::WaitBarrier: {
      Value token = before(trips, point.distance + 1);
      openIf(compare(arith::CmpIPredicate::sge, token, index(0)));
      return waitBarrier(point, tokenOf(point.barrier, token));
    }
    case PlanPoint::Join:
      nv::SyncOp::create(b, loc);
      return;
    default:
      return writer.fence(loc, point.fence);
    }
  }

  /// \p at is the point's number among those of a step, or the number of these.
  void waitGroup(const PlanPoint &point, size_t at) {
    writer.waitGroup(loc, point,
                     nvptx::countGroups(plan, *role, point.engine, point.pending, at, closed));
  }

  /// A warp waits as one: only then does the assembler compute addresses once for all threads.
  void waitBarrier(const PlanPoint &point, nvptx::SlotCounters::Position at) {
    bool leader = point.leader && (plan.roles.size() == 1 || role->warps > 1);
    at.slot = inArray(point.barrier, at.slot);
    writer.wait(loc, barriers[point.barrier], at, leader, isWide(point));
  }

  /// Bytes of a token: copies under a condition that does not hold bring none.
  Value bytesOf(const PlanPoint &expect, Value k) {
    Value sum = index(0);
    for (const PlanPoint &point : role->points) {
      if (point.kind != PlanPoint::Issue || point.barrier != expect.barrier)
        continue;
      Value bytes = index(point.bytes * (pair ? pair->factorOf(statementOf(point).op) : 1));
      IRMapping mapping = iterationOf(k);
      for (Value condition : statementOf(point).conditions)
        bytes = arith::SelectOp::create(b, loc, replay(condition, mapping), bytes, index(0));
      sum = b.createOrFold<arith::AddIOp>(loc, sum, bytes);
    }
    return sum;
  }

  //===------------------------------------------------------------------===//
  // Barriers
  //===------------------------------------------------------------------===//

  void makeBarriers() {
    auto function = loop->getParentOfType<func::FuncOp>();
    // The parts of one are an array.
    std::vector<sched::PlanBarrier> arrays;
    std::vector<size_t> arrayOf;
    for (auto [barrier, origin] : llvm::zip_equal(plan.barriers, of.barriers)) {
      bool first = origin.part.value_or(0) == 0;
      arrayOf.push_back(first ? arrays.size() : arrayOf[origin.number]);
      if (first)
        arrays.push_back(barrier);
      if (first && origin.part)
        arrays.back().slots *= of.parts;
      if (first && shares && shares->isWide(sched::BarrierId(arrayOf.size() - 1)))
        arrays.back().arrivals = shares->arrivalsAt(plan, sched::BarrierId(arrayOf.size() - 1));
    }
    std::vector<Value> allocated = nvptx::PointWriter::allocate(b, loc, function, arrays);
    for (size_t array : arrayOf)
      barriers.push_back(allocated[array]);
    for (const sched::PlanRole &each : plan.roles)
      for (const PlanPoint &point : each.points)
        if (point.kind == PlanPoint::Issue && point.barrier != sched::none)
          signals[of.statements[point.at].number] = point.barrier;
    if (barriers.empty() || loop->getParentOp() == function)
      return;
    // Phases go on where the loop is entered again.
    tokenCount = allocate(tile::tileType({}, b.getI32Type(), tile::Space::Local), StringAttr());
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointAfter(tokenCount.getDefiningOp());
      Value zero = arith::ConstantIntOp::create(b, loc, 0, 32);
      tile::StoreOp::create(b, loc, zero, tokenCount, ValueRange());
    }
    firstToken = tile::LoadOp::create(b, loc, b.getI32Type(), tokenCount, ValueRange());
  }

  /// The barrier and the parity of token \p k.
  nvptx::SlotCounters::Position tokenOf(sched::BarrierId barrier, Value k) {
    int64_t count = plan.barriers[barrier].slots;
    auto ahead = aheadOf.find(k);
    return ahead == aheadOf.end() ? tokens.divide(b, loc, count, k)
                                  : tokens.at(b, loc, count, ahead->second);
  }
  Value slotOfToken(sched::BarrierId barrier, Value k) {
    return writer.asIndex(loc, inArray(barrier, tokenOf(barrier, k).slot));
  }

  /// The index of a slot in the array that the barriers of all parts share.
  Value inArray(sched::BarrierId barrier, Value slot) {
    std::optional<int64_t> number = of.barriers[barrier].part;
    if (!number || (!ownPart && *number == 0))
      return slot;
    Value at = ownPart ? ownPart : arith::ConstantIntOp::create(b, loc, *number, 32).getResult();
    Value slots = arith::ConstantIntOp::create(b, loc, plan.barriers[barrier].slots, 32);
    return b.createOrFold<arith::AddIOp>(loc, slot, b.createOrFold<arith::MulIOp>(loc, at, slots));
  }

  /// `k - distance`, of which the main loop knows slots without a division.
  Value earlier(Value k, int64_t distance) {
    Value result = before(k, distance);
    if (auto ahead = aheadOf.find(k); ahead != aheadOf.end())
      aheadOf.try_emplace(result, ahead->second - distance);
    return result;
  }

  bool reentered() const { return bool(firstToken); }
  /// Tokens go on where a loop is entered again. Slots of tiles only do if rings stay open.
  nvptx::SlotCounters &slotsOfTiles() { return reentered() && !open ? slots : tokens; }

  /// Chooses what the role's main loop counts.
  void countSlots() {
    tokens = nvptx::SlotCounters(firstToken);
    slots = nvptx::SlotCounters();
    for (const PlanPoint &point : role->points) {
      int64_t ahead = lastIssue - point.stage;
      if (point.barrier != sched::none)
        tokens.add(plan.barriers[point.barrier].slots, ahead - point.distance,
                   point.kind == PlanPoint::WaitBarrier);
      if (point.kind == PlanPoint::Issue)
        for (const sched::Access &access : plan.bound.statements[point.at].accesses)
          if (size_t buffer = of.buffers[access.buffer].number;
              !storage[buffer].empty() && isRing(buffer))
            slotsOfTiles().add(versions[buffer], ahead);
    }
  }

  //===------------------------------------------------------------------===//
  // Statements
  //===------------------------------------------------------------------===//

  void writeOp(size_t i, IRMapping &mapping, Value k) override {
    Operation *op = body.statements[i].op;
    if (isa<tile::WaitOp>(op))
      return; // the plan has waits of its own
    Engine engine = body.problem.statements[i].executedBy;
    if (engine == Engine::TmaLoad || engine == Engine::CpAsync) {
      auto copy = cast<tile::CopyOp>(op);
      SmallVector<Value> offsets;
      for (Value offset : copy.getSourceOffsets())
        offsets.push_back(mapping.lookupOrDefault(offset));
      Value source = mapping.lookupOrDefault(copy.getSource());
      Value target = mapping.lookupOrDefault(copy.getTarget());
      DenseI64ArrayAttr dims = nvptx::boxDims(copy);
      if (engine == Engine::CpAsync) {
        nv::AsyncCopyOp::create(b, op->getLoc(), source, offsets, target, dims,
                                nvptx::asyncCopyBytes(copy), /*l1=*/false);
        return;
      }
      sched::BarrierId barrier = signals.lookup(unsigned(i));
      Value blocks;
      if (auto part = shares ? shares->partOf(b, loc, op) : std::nullopt) {
        size_t alongRows = dims ? size_t(dims[0]) : offsets.size() - 2;
        offsets[alongRows] = arith::AddIOp::create(b, loc, offsets[alongRows], part->first);
        target = rowsOf(target, part->first, part->rows);
        blocks = part->blocks;
      }
      if (pair && pair->isHalved(copy.getTarget())) {
        Value &row = offsets[dims ? size_t(dims[0]) : offsets.size() - 2];
        row = arith::AddIOp::create(b, loc, row, pair->rowOf(b, loc));
      }
      nv::TmaLoadOp::create(b, op->getLoc(), source, offsets, target, barriers[barrier],
                            slotOfToken(barrier, k), blocks, dims, /*cache=*/StringAttr());
      return;
    }
    Operation *copy = cloneWithViews(op, mapping);
    storeResults(op, copy);
    // Groups of operations need order inside.
    if (isa<tile::CopyOp, tile::FillOp, tile::MapOp, tile::ReduceOp, tile::GemmOp>(copy))
      copy->setAttr(nv::NVDialect::plannedAttr, b.getI64IntegerAttr(number));
    if (isa<tile::ReduceOp>(copy) && endsBeforeWait(i))
      copy->setAttr(nv::NVDialect::beforeWaitAttr, b.getUnitAttr());
    if (nvptx::isTensorCore(engine))
      nvptx::writeIssue(b, copy, engine, compare(arith::CmpIPredicate::eq, k, index(0)), part);
  }

  Value rowsOf(Value tile, Value first, int64_t rows) {
    int64_t columns = cast<MemRefType>(tile.getType()).getDimSize(1);
    SmallVector<OpFoldResult> offsets = {first, b.getIndexAttr(0)};
    SmallVector<OpFoldResult> sizes = {b.getIndexAttr(rows), b.getIndexAttr(columns)};
    SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
    return memref::SubViewOp::create(b, loc, tile, offsets, sizes, strides);
  }

  /// Returns whether a reduction is the last one before threads wait for a product. The assembler
  /// moves what no instruction needs sooner after the wait: then nothing overlaps.
  bool endsBeforeWait(size_t statement) const {
    auto after = llvm::find_if(role->points, [&](const PlanPoint &point) {
      return point.kind == PlanPoint::Issue && of.statements[point.at].number == statement;
    });
    for (const PlanPoint &point : llvm::make_range(std::next(after), role->points.end())) {
      if (point.kind == PlanPoint::WaitGroup && point.engine == Engine::Wgmma)
        return true;
      if (point.kind == PlanPoint::Issue &&
          (plan.bound.statements[point.at].executedBy == Engine::Wgmma ||
           isa<tile::ReduceOp>(statementOf(point).op)))
        return false;
    }
    return false;
  }

  const PipelineStatement &statementOf(const PlanPoint &point) const {
    return body.statements[of.statements[point.at].number];
  }

  const nvptx::LoopPlan &of;
  const sched::Plan &plan;
  const int64_t number;
  const bool open;                            ///< rings stay open between runs of the loop
  nvptx::AccumulatorRing *accumulators;       ///< that runs fill in turn; null: none
  std::optional<nvptx::ClusterShares> shares; ///< that blocks of a cluster copy
  SmallVector<Value> sharing;                 ///< ranks of these blocks
  std::optional<nvptx::PairedProduct> pair;   ///< of two blocks
  nvptx::PointWriter writer;
  const sched::PlanRole *role = nullptr; ///< that is being written
  int64_t firstStage = 0;                ///< of the role; its first step runs it
  int64_t lastIssue = 0;                 ///< the last stage of its statements
  int64_t lastStage = 0;                 ///< the last stage of its points
  bool releases = true;                  ///< whether arrivals are awaited
  nvptx::ClosedBefore closed;            ///< what the steps so far have closed
  Value ownPart;                         ///< i32: the part that a warpgroup computes, if any
  std::optional<int64_t> part;           ///< of the statement that is being written
  std::vector<Value> barriers;
  llvm::DenseMap<unsigned, sched::BarrierId> signals; ///< by statement: what its copy completes
  Value tokenCount;                  ///< variable that counts tokens, if the loop is entered again
  Value firstToken;                  ///< its value when the loop is entered; null: 0
  nvptx::SlotCounters tokens, slots; ///< of barriers, and of tiles if these differ
  llvm::DenseMap<Value, int64_t> aheadOf; ///< by iteration: how far before the main loop's own
  int64_t iteration = 0; ///< that is being written, up to a multiple of what recurs
};

} // namespace

void nvptx::writePlan(ScheduledLoop &loop, const LoopPlan &plan, size_t number, bool open,
                      AccumulatorRing *accumulators) {
  PlanWriter(loop, plan, number, open, accumulators).run();
}
