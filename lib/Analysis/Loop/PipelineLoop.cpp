//===- PipelineLoop.cpp - From a loop to a scheduling problem -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/PipelineLoop.h"
#include "Analysis/Loop/IssuedBefore.h"
#include "Analysis/Loop/LoopAccesses.h"
#include "Analysis/Loop/StatementSchedule.h"
#include "Diagnostics/Codes.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

#include <set>

using namespace mlir;
using namespace penstock;

/// Returns whether a buffer is read after the loop.
static bool isReadOutside(Value root, scf::ForOp loop) {
  SmallVector<Value> views = {root};
  bool topLevel = !loop->getParentOfType<scf::ForOp>();
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (loop->isAncestor(user))
        continue;
      if (isa<memref::SubViewOp, memref::TransposeOp>(user)) {
        views.push_back(user->getResult(0));
        continue;
      }
      // Without a loop around, the statements before this one have run for good.
      if (topLevel && user->getBlock() == loop->getBlock() && user->isBeforeInBlock(loop))
        continue;
      SmallVector<tile::TileAccess> accesses;
      if (auto access = dyn_cast<tile::TileAccessOpInterface>(user)) {
        access.getAccesses(accesses);
        for (const tile::TileAccess &touched : accesses)
          if (tile::rootOf(touched.memref) == root && touched.reads)
            return true;
      } else {
        return true; // print
      }
    }
  return false;
}

namespace {

/// Loops inside of a statement that are taken round by round; each round is compared
/// with all others.
constexpr int64_t mostRounds = 64;

class Analyzer {
public:
  explicit Analyzer(scf::ForOp loop) : ranges(loop), accesses(loop, ranges, mostRounds) {
    result.loop = loop;
  }

  PipelineLoop run() {
    scf::ForOp loop = result.loop;
    result.problem.location = tile::sourceLocationOf(loop.getLoc());
    findWritten(*loop.getBody());
    collect(*loop.getBody(), {});
    readAnnotations();
    joinLoads();
    for (size_t i = 0; i < result.statements.size(); ++i)
      describe(i);
    findIssuedBefore(accesses);
    accesses.finish(result.problem, result.buffers);
    if (sched::comparedPairs(result.problem) > sched::maxPairs / 2)
      takeLoopsAsAWhole();
    keepInOrder<tile::PrintOp>("printed lines");
    keepInOrder<tile::AssertOp>("reported faults");
    finishWaits();
    finishScalars();
    return std::move(result);
  }

private:
  //===------------------------------------------------------------------===//
  // Statements
  //===------------------------------------------------------------------===//

  void findWritten(Block &body) {
    body.walk([&](tile::TileAccessOpInterface op) {
      SmallVector<tile::TileAccess> accesses;
      op.getAccesses(accesses);
      for (const tile::TileAccess &access : accesses)
        if (access.writes)
          written.insert(tile::rootOf(access.memref));
    });
  }

  bool isReplayable(Operation *op) {
    if (auto load = dyn_cast<tile::LoadOp>(op))
      return !written.contains(tile::rootOf(load.getSource()));
    return op->getNumRegions() == 0 && isMemoryEffectFree(op);
  }

  static bool canFault(Operation *op) {
    return isa<tile::LoadOp, memref::SubViewOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp,
               arith::RemUIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(op);
  }

  /// Returns whether a value can be recomputed for any iteration.
  bool isReplayableValue(Value value) {
    if (result.loop.isDefinedOutsideOfLoop(value) || value == result.loop.getInductionVar())
      return true;
    Operation *op = value.getDefiningOp();
    return op && isReplayable(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
             return isa<MemRefType>(operand.getType()) || isReplayableValue(operand);
           });
  }

  void collect(Block &body, SmallVector<Value> conditions) {
    for (Operation &op : body.without_terminator()) {
      if (isReplayable(&op)) {
        // A name for a scheduled scalar is not a second statement.
        if (auto bind = dyn_cast<tile::BindOp>(op);
            bind && conditions.empty() && isReplayableValue(bind.getResult()))
          named.push_back({bind, result.statements.size()});
        if (canFault(&op))
          result.checks.push_back({&op, conditions});
        continue;
      }
      auto branch = dyn_cast<scf::IfOp>(op);
      bool hasElse = branch && !branch.getElseRegion().empty() &&
                     !llvm::hasSingleElement(branch.getElseRegion().front());
      if (branch && branch.getNumResults() == 0 && !hasElse &&
          isReplayableValue(branch.getCondition())) {
        SmallVector<Value> inner = conditions;
        inner.push_back(branch.getCondition());
        collect(branch.getThenRegion().front(), inner);
        continue;
      }
      result.statements.push_back({&op, conditions});
    }
  }

  /// The statement that a load without a name can be part of: the only one that uses
  /// its value, with nothing but other loads in between.
  std::optional<size_t> ownerOf(size_t load) {
    const PipelineStatement &statement = result.statements[load];
    if (!isa<tile::LoadOp>(statement.op))
      return std::nullopt;
    llvm::SetVector<Value> values;
    values.insert(statement.op->getResult(0));
    std::optional<size_t> owner;
    for (size_t next = 0; next < values.size(); ++next)
      for (Operation *user : values[next].getUsers()) {
        auto used = llvm::find_if(result.statements, [&](const PipelineStatement &other) {
          return other.op->isAncestor(user) || llvm::is_contained(other.conditions, values[next]);
        });
        if (isa<tile::BindOp>(user))
          return std::nullopt;
        if (used == result.statements.end()) {
          values.insert(user->result_begin(), user->result_end());
          continue;
        }
        size_t found = static_cast<size_t>(used - result.statements.begin());
        if (owner && *owner != found)
          return std::nullopt;
        owner = found;
      }
    if (!owner || *owner <= load || result.statements[*owner].conditions != statement.conditions)
      return std::nullopt;
    for (size_t between = load + 1; between < *owner; ++between)
      if (!isa<tile::LoadOp>(result.statements[between].op))
        return std::nullopt;
    return owner;
  }

  /// A stated schedule has an entry for each load, or none for those that are part of
  /// another statement.
  void joinLoads() {
    std::vector<std::optional<size_t>> owners;
    for (size_t i = 0; i < result.statements.size(); ++i)
      owners.push_back(ownerOf(i));
    // Operations owned by a load belong to the owner of the load.
    for (size_t i = owners.size(); i-- > 0;)
      if (owners[i] && owners[*owners[i]])
        owners[i] = owners[*owners[i]];
    size_t all = result.statements.size(),
           joined = size_t(llvm::count_if(owners, [](auto &owner) { return !!owner; }));
    if (!joined || !result.annotations.stage)
      return;
    size_t given = result.annotations.stage->size();
    if (given == all || (given != all - joined && given == all + named.size()))
      return;
    std::vector<PipelineStatement> kept;
    std::vector<size_t> keptBefore = {0};
    for (size_t i = 0; i < all; ++i) {
      if (owners[i])
        result.statements[*owners[i]].loads.push_back(result.statements[i].op);
      else
        kept.push_back(std::move(result.statements[i]));
      keptBefore.push_back(kept.size());
    }
    result.statements = std::move(kept);
    for (auto &[bind, before] : named)
      before = keptBefore[before];
  }

  std::string nameOf(Operation *op) {
    auto called = [](Value memref) {
      std::string name = tile::nameOf(memref);
      return name.empty() ? std::string("a tile") : name;
    };
    std::string verb = op->getName().stripDialect().str();
    if (auto copy = dyn_cast<tile::CopyOp>(op))
      return "copy " + called(copy.getSource()) + " -> " + called(copy.getTarget());
    if (auto gemm = dyn_cast<tile::GemmOp>(op))
      return "gemm " + called(gemm.getA()) + ", " + called(gemm.getB()) + " -> " +
             called(gemm.getAcc());
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      return "reduce " + called(reduce.getSource()) + " -> " + called(reduce.getTarget());
    if (auto map = dyn_cast<tile::MapOp>(op))
      return "set " + called(map.getTarget());
    if (auto fill = dyn_cast<tile::FillOp>(op))
      return "fill " + called(fill.getTarget());
    if (auto statement = dyn_cast<tile::StatementOp>(op))
      return statement.getLabel().str();
    if (auto load = dyn_cast<tile::LoadOp>(op))
      return "load " + called(load.getSource());
    if (auto store = dyn_cast<tile::StoreOp>(op))
      return "store " + called(store.getTarget());
    if (isa<scf::ForOp>(op))
      return "loop";
    if (isa<scf::IfOp>(op))
      return "condition";
    return verb;
  }

  /// A copy from a tensor, which may run ahead, or a group or loop of such copies.
  static bool onlyCopiesTensors(Operation *op) {
    if (auto copy = dyn_cast<tile::CopyOp>(op))
      return tile::isGlobal(copy.getSource());
    if (!isa<tile::StatementOp, scf::ForOp>(op))
      return false;
    bool any = false, all = true;
    for (Operation &inner : op->getRegion(0).front().without_terminator()) {
      bool copies = onlyCopiesTensors(&inner);
      any |= copies;
      all &= copies || (inner.getNumRegions() == 0 && isMemoryEffectFree(&inner));
    }
    return any && all;
  }

  void describe(size_t i) {
    PipelineStatement &from = result.statements[i];
    sched::Statement to;
    to.name = nameOf(from.op);
    if (unsigned uses = ++statementNames[to.name]; uses > 1)
      to.name += " (" + std::to_string(uses) + ")";
    to.location = tile::sourceLocationOf(from.op->getLoc());
    for (Value condition : from.conditions)
      addCondition(condition, to.guard);
    if (onlyCopiesTensors(from.op))
      to.kind = sched::StatementKind::Copy;
    else if (isa<tile::WaitOp>(from.op))
      to.kind = sched::StatementKind::Wait;
    else if (isa<tile::LoadOp>(from.op) || (isa<tile::AtomicOp>(from.op) && !from.op->use_empty()))
      to.kind = sched::StatementKind::Scalar;
    if (auto access = dyn_cast<tile::TileAccessOpInterface>(from.op))
      to.async = access.getAsyncName() != nullptr;
    if (auto gemm = dyn_cast<tile::GemmOp>(from.op); gemm && to.async)
      to.queue = productsInto(bufferOf(tile::rootOf(gemm.getAcc())));
    result.problem.statements.push_back(std::move(to));
    addAccesses(i, accesses);
  }

  void addAccesses(size_t i, LoopAccesses &to) {
    auto numbered = [&](Value root) { return bufferOf(root); };
    auto id = static_cast<sched::StatementId>(i);
    for (Operation *load : result.statements[i].loads)
      to.add(id, load, numbered);
    to.add(id, result.statements[i].op, numbered);
  }

  /// Products into one accumulator take effect in the order of issue.
  sched::QueueId productsInto(sched::BufferId accumulator) {
    std::vector<sched::Queue> &queues = result.problem.queues;
    for (sched::QueueId queue = 0; queue < queues.size(); ++queue)
      if (queues[queue].orders.front() == accumulator)
        return queue;
    queues.push_back(
        {"products into " + result.problem.buffers[accumulator].name, true, {accumulator}});
    return static_cast<sched::QueueId>(queues.size() - 1);
  }

  std::string conditionName(Value condition) {
    auto [found, isNew] = conditions.try_emplace(condition, conditions.size());
    return "c" + std::to_string(found->second);
  }

  void addCondition(Value condition, sched::Guard &guard) {
    Value positive = condition;
    bool negated = false;
    for (auto flip = positive.getDefiningOp<arith::XOrIOp>();
         flip && matchPattern(flip.getRhs(), m_One());
         flip = positive.getDefiningOp<arith::XOrIOp>()) {
      positive = flip.getLhs();
      negated = !negated;
    }
    sched::Literal literal{conditionName(positive), negated};
    // A statement under a condition and its opposite never runs, but that is no
    // error: such a condition just says nothing of others.
    if (llvm::is_contained(guard, sched::Literal{literal.condition, !negated}))
      literal = {literal.condition + ".again", false};
    if (!llvm::is_contained(guard, literal))
      guard.push_back(literal);
  }

  /// If there are too many iterations to compare, their accesses have unknown regions.
  void takeLoopsAsAWhole() {
    LoopAccesses coarse(result.loop, ranges, 0);
    for (size_t i = 0; i < result.statements.size(); ++i) {
      result.problem.statements[i].accesses.clear();
      addAccesses(i, coarse);
      result.problem.statements[i].settles.clear();
    }
    findIssuedBefore(coarse);
    coarse.finish(result.problem, result.buffers);
  }

  /// Models observable output as writes to a buffer without a value, so that its order is kept.
  template <typename Op> void keepInOrder(const char *name) {
    std::optional<sched::BufferId> seen;
    for (size_t i = 0; i < result.statements.size(); ++i) {
      if (!result.statements[i]
               .op->walk([](Op) { return WalkResult::interrupt(); })
               .wasInterrupted())
        continue;
      if (!seen) {
        seen = static_cast<sched::BufferId>(result.buffers.size());
        sched::Buffer buffer;
        buffer.name = name;
        buffer.space = sched::Space::Global;
        buffer.versioning = sched::Buffer::Versioning::Fixed;
        buffer.fixedBecause = "users see them in order";
        result.problem.buffers.push_back(std::move(buffer));
        result.buffers.push_back(Value());
      }
      result.problem.statements[i].accesses.push_back({*seen, true, {}});
    }
  }

  //===------------------------------------------------------------------===//
  // Buffers
  //===------------------------------------------------------------------===//

  sched::BufferId bufferOf(Value root) {
    auto [found, isNew] = buffers.try_emplace(root, result.buffers.size());
    if (!isNew)
      return found->second;
    auto type = cast<MemRefType>(root.getType());
    sched::Buffer buffer;
    buffer.name = tile::nameOf(root);
    if (buffer.name.empty())
      buffer.name = tile::isGlobal(root) ? "a tensor" : "a tile";
    // Two helpers may call their tiles the same.
    if (unsigned uses = ++bufferNames[buffer.name]; uses > 1)
      buffer.name += " (" + std::to_string(uses) + ")";
    buffer.location = tile::sourceLocationOf(root.getLoc());
    if (tile::isGlobal(root)) {
      buffer.space = sched::Space::Global;
      buffer.versioning = sched::Buffer::Versioning::Fixed;
      buffer.fixedBecause = "it is a tensor of the caller's";
    } else {
      tile::Space space = tile::spaceOf(type);
      buffer.space = space == tile::Space::Shared   ? sched::Space::Shared
                     : space == tile::Space::Tensor ? sched::Space::Tensor
                                                    : sched::Space::Local;
      buffer.shape.assign(type.getShape().begin(), type.getShape().end());
      buffer.bytes =
          type.getNumElements() * std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
      if (type.getRank() == 0) {
        buffer.versioning = sched::Buffer::Versioning::Fixed;
        buffer.fixedBecause = "it is a mutable scalar";
      }
      if (auto alloc = root.getDefiningOp<tile::AllocOp>())
        buffer.statedVersions = alloc.getVersions().value_or(0);
      if (isReadOutside(root, result.loop))
        buffer.readAfter.push_back(sched::Region{});
    }
    result.problem.buffers.push_back(std::move(buffer));
    result.buffers.push_back(root);
    return found->second;
  }

  //===------------------------------------------------------------------===//
  // Waits and scalars
  //===------------------------------------------------------------------===//

  /// Waits also end what was issued under their names before the loop; the first in
  /// source order does.
  void findIssuedBefore(LoopAccesses &to) {
    llvm::DenseSet<Attribute> ended;
    for (size_t i = 0; i < result.statements.size(); ++i) {
      auto wait = dyn_cast<tile::WaitOp>(result.statements[i].op);
      if (!wait)
        continue;
      for (Attribute name : wait.getNames()) {
        SmallVector<IssuedBefore> before = issuedBefore(result.loop, cast<StringAttr>(name));
        result.problem.statements[i].awaitsBefore |= !before.empty();
        if (!ended.insert(name).second)
          continue;
        for (const IssuedBefore &issued : before)
          to.addBefore(static_cast<sched::StatementId>(i), issued.op, issued.sameIteration,
                       [&](Value root) -> std::optional<sched::BufferId> {
                         auto known = buffers.find(root);
                         if (known == buffers.end())
                           return std::nullopt;
                         return known->second;
                       });
      }
    }
  }

  void finishWaits() {
    for (size_t i = 0; i < result.statements.size(); ++i) {
      auto wait = dyn_cast<tile::WaitOp>(result.statements[i].op);
      if (!wait)
        continue;
      for (size_t j = 0; j < result.statements.size(); ++j) {
        auto access = dyn_cast<tile::TileAccessOpInterface>(result.statements[j].op);
        if (!access || !access.getAsyncName() ||
            !llvm::is_contained(wait.getNames(), access.getAsyncName()))
          continue;
        // A wait before the statement in the body ends the one of the
        // iteration before.
        int64_t distance = std::max<int64_t>(wait.getLag(), j > i ? 1 : 0);
        result.problem.statements[i].awaits.push_back(
            {static_cast<sched::StatementId>(j), distance});
      }
    }
  }

  /// Statements that need \p value, directly or through replayable scalars.
  std::vector<sched::StatementId> usersOf(Value value) {
    llvm::SetVector<Value> values;
    values.insert(value);
    std::set<sched::StatementId> users;
    for (size_t next = 0; next < values.size(); ++next)
      for (Operation *user : values[next].getUsers()) {
        bool isStatement = false;
        for (size_t i = 0; i < result.statements.size(); ++i)
          if (result.statements[i].op->isAncestor(user) ||
              llvm::is_contained(result.statements[i].conditions, values[next])) {
            users.insert(static_cast<sched::StatementId>(i));
            isStatement = true;
          }
        if (isStatement)
          continue;
        values.insert(user->result_begin(), user->result_end());
        if (canFault(user))
          addScalars(user, users);
      }
    return {users.begin(), users.end()};
  }

  /// Operands of a check must be available in one step: scheduled scalars of a common check use
  /// each other.
  void addScalars(Operation *check, std::set<sched::StatementId> &users) {
    llvm::SetVector<Operation *> needed;
    needed.insert(check);
    for (size_t next = 0; next < needed.size(); ++next)
      for (Value operand : needed[next]->getOperands())
        if (Operation *op = operand.getDefiningOp(); op && result.loop->isProperAncestor(op))
          needed.insert(op);
    for (size_t i = 0; i < result.statements.size(); ++i)
      if (needed.contains(result.statements[i].op))
        users.insert(static_cast<sched::StatementId>(i));
  }

  void finishScalars() {
    for (size_t i = 0; i < result.statements.size(); ++i)
      if (result.problem.statements[i].kind == sched::StatementKind::Scalar) {
        auto id = static_cast<sched::StatementId>(i);
        auto &users = result.problem.statements[i].users;
        users = usersOf(result.statements[i].op->getResult(0));
        llvm::erase_if(users, [&](sched::StatementId user) { return user <= id; });
      }
    for (auto [bind, before] : named)
      result.namedScalars.push_back({bind.getLabel().str(), tile::sourceLocationOf(bind.getLoc()),
                                     before, usersOf(bind.getResult())});
  }

  void readAnnotations() {
    auto schedule = result.loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr);
    if (!schedule)
      return;
    auto list = [](ArrayRef<int64_t> values) -> std::optional<std::vector<int64_t>> {
      if (values.empty())
        return std::nullopt;
      return std::vector<int64_t>(values.begin(), values.end());
    };
    sched::LoopAnnotations &to = result.annotations;
    if (readPositions())
      return;
    if (schedule.getNumStages())
      to.numStages = schedule.getNumStages();
    if (schedule.getSolverSeconds())
      to.solverSeconds = schedule.getSolverSeconds();
    to.stage = list(schedule.getStage());
    to.order = list(schedule.getOrder());
    to.asyncStages = list(schedule.getAsyncStages());
    to.asyncProducers = list(schedule.getAsyncProducers());
    to.asyncProducerGroups = list(schedule.getAsyncProducerGroups());
  }

  /// Takes the positions of statements, if they have some, as a stated schedule.
  bool readPositions() {
    std::vector<tile::ScheduledAttr> positions;
    for (const PipelineStatement &statement : result.statements)
      if (tile::ScheduledAttr position = positionOf(statement.op))
        positions.push_back(position);
    if (positions.empty())
      return false;
    sched::LoopAnnotations &to = result.annotations;
    to.stage.emplace();
    to.order.emplace(ranksOf(positions));
    for (tile::ScheduledAttr position : positions)
      to.stage->push_back(position.getStage());
    if (llvm::any_of(positions, [](tile::ScheduledAttr each) { return each.getAsync(); }))
      for (to.asyncProducers.emplace(); tile::ScheduledAttr position : positions)
        to.asyncProducers->push_back(position.getAsync());
    if (llvm::any_of(positions, [](tile::ScheduledAttr each) { return each.getGroup() != -1; }))
      for (to.asyncProducerGroups.emplace(); tile::ScheduledAttr position : positions)
        to.asyncProducerGroups->push_back(position.getGroup());
    return true;
  }

  PipelineLoop result;
  llvm::DenseSet<Value> written;
  llvm::DenseMap<Value, sched::BufferId> buffers;
  std::map<std::string, unsigned> bufferNames, statementNames;
  llvm::DenseMap<Value, size_t> conditions;
  ValueRanges ranges;
  LoopAccesses accesses;
  std::vector<std::pair<tile::BindOp, size_t>> named;
};

} // namespace

/// Returns whether what \p op issues has ended when \p statement, which contains it, has.
static bool isAwaitedInside(tile::TileAccessOpInterface op, Operation *statement) {
  for (Operation *around = op->getParentOp(); around != statement; around = around->getParentOp())
    if (isa<scf::ForOp>(around) && around->hasAttr(tile::TileDialect::scheduleAttr))
      return true; // a pipelined loop ends all that it issues
  bool found = false;
  statement->walk([&](tile::WaitOp wait) {
    Operation *before = wait->getBlock()->findAncestorOpInBlock(*op);
    found |= wait.getLag() == 0 && llvm::is_contained(wait.getNames(), op.getAsyncName()) &&
             before && before->isBeforeInBlock(wait);
  });
  return found;
}

sched::PipelinedLoop penstock::resolveSchedule(const PipelineLoop &loop) {
  sched::PipelinedLoop result;
  for (const PipelineStatement &statement : loop.statements)
    statement.op->walk([&](tile::TileAccessOpInterface op) {
      if (op.getOperation() == statement.op || !op.getAsyncName() ||
          isAwaitedInside(op, statement.op))
        return;
      penstock::Diagnostic d;
      d.code = AsyncInStatement;
      d.location = tile::sourceLocationOf(op->getLoc());
      d.message = "`" + op.getAsyncName().str() +
                  "` may still be under way when this statement of a pipelined loop has ended";
      d.notes.push_back(
          {tile::sourceLocationOf(statement.op->getLoc()), "this is the statement", ""});
      d.helps.push_back("wait for it at the end of the statement, or make it a statement of the "
                        "loop");
      result.diagnostics.push_back(std::move(d));
    });
  if (result.diagnostics.empty())
    result.diagnostics = sched::checkProblem(loop.problem);
  if (!result.diagnostics.empty())
    return result;
  return sched::resolve(loop.problem, loop.annotations, loop.namedScalars);
}

PipelineLoop penstock::analyzeLoop(scf::ForOp loop) { return Analyzer(loop).run(); }

const PipelineLoop &PipelineLoops::of(scf::ForOp loop) {
  std::unique_ptr<PipelineLoop> &entry = known[loop];
  if (!entry)
    entry = std::make_unique<PipelineLoop>(analyzeLoop(loop));
  return *entry;
}
