//===- PipelineLoop.cpp - From a loop to a scheduling problem -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/PipelineLoop.h"
#include "Analysis/AffineOffsets.h"
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

namespace {

/// An access before the regions of its buffer have been compared.
struct RawAccess {
  sched::StatementId statement;
  sched::BufferId buffer;
  bool reads, writes;
  bool maybe; ///< a write that need not happen when the statement runs
  bool known; ///< false: anything of the buffer
  SmallVector<std::optional<AffineOffset>> offsets;
  SmallVector<int64_t> lengths;
  Operation *by = nullptr;
  bool inGroup = false; ///< `by` stands in a group itself
  bool settles = false; ///< what follows in the group sees what this writes
};

class Analyzer {
public:
  explicit Analyzer(scf::ForOp loop) { result.loop = loop; }

  PipelineLoop run() {
    scf::ForOp loop = result.loop;
    result.problem.place = tile::placeOf(loop.getLoc());
    findWritten(*loop.getBody());
    collect(*loop.getBody(), {});
    for (size_t i = 0; i < result.statements.size(); ++i)
      describe(i);
    finishRegions();
    finishWaits();
    finishScalars();
    readAnnotations();
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

  /// Whether a value can be recomputed for any iteration.
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
        // A name for a scheduled scalar is no second statement.
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

  void describe(size_t i) {
    PipelineStatement &from = result.statements[i];
    sched::Statement to;
    to.name = nameOf(from.op);
    if (unsigned uses = ++statementNames[to.name]; uses > 1)
      to.name += " (" + std::to_string(uses) + ")";
    to.place = tile::placeOf(from.op->getLoc());
    for (Value condition : from.conditions)
      addCondition(condition, to.guard);
    if (isa<tile::CopyOp>(from.op) && tile::isGlobal(cast<tile::CopyOp>(from.op).getSource()))
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
    from.op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
      auto access = dyn_cast<tile::TileAccessOpInterface>(inner);
      if (!access)
        return;
      bool inGroup = isa<tile::StatementOp>(from.op) && inner->getParentOp() == from.op;
      SmallVector<tile::TileAccess> accesses;
      access.getAccesses(accesses);
      for (const tile::TileAccess &touched : accesses) {
        addAccess(static_cast<sched::StatementId>(i), touched, inner, from.op);
        RawAccess &added = this->accesses.back();
        added.by = inner;
        added.inGroup = inGroup;
        added.settles =
            inGroup && !access.getAsyncName() && !tile::isGlobal(tile::rootOf(touched.memref));
      }
    });
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

  /// Does an operation inside of a statement run whenever the statement does?
  static bool alwaysRuns(Operation *inner, Operation *statement) {
    for (Operation *op = inner; op != statement;) {
      op = op->getParentOp();
      if (isa<scf::IfOp>(op))
        return false;
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        auto begin = getConstantIntValue(loop.getLowerBound());
        auto end = getConstantIntValue(loop.getUpperBound());
        if (!begin || !end || *begin >= *end)
          return false;
      }
    }
    return true;
  }

  static bool isWholeWrite(const tile::TileAccess &access) {
    return access.writes && access.isWhole() && access.memref == tile::rootOf(access.memref);
  }

  static bool writesWhole(Block &block, Value tile) {
    return llvm::any_of(block.getOps<tile::TileAccessOpInterface>(), [&](auto op) {
      SmallVector<tile::TileAccess> accesses;
      op.getAccesses(accesses);
      return llvm::any_of(accesses, [&](const tile::TileAccess &access) {
        return isWholeWrite(access) && access.memref == tile;
      });
    });
  }

  /// The same for what it writes, which may be written in either branch of a
  /// condition.
  static bool alwaysWrites(const tile::TileAccess &access, Operation *inner, Operation *statement) {
    if (alwaysRuns(inner, statement))
      return true;
    auto branch = dyn_cast<scf::IfOp>(inner->getParentOp());
    return branch && branch.elseBlock() && isWholeWrite(access) &&
           writesWhole(*branch.thenBlock(), access.memref) &&
           writesWhole(*branch.elseBlock(), access.memref) && alwaysRuns(branch, statement);
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
    // mistake: such a condition just says nothing of others.
    if (llvm::is_contained(guard, sched::Literal{literal.condition, !negated}))
      literal = {literal.condition + ".again", false};
    if (!llvm::is_contained(guard, literal))
      guard.push_back(literal);
  }

  //===------------------------------------------------------------------===//
  // Buffers and regions
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
    buffer.place = tile::placeOf(root.getLoc());
    if (tile::isGlobal(root)) {
      buffer.space = sched::Space::Global;
      buffer.versioning = sched::Buffer::Versioning::Fixed;
      buffer.fixedBecause = "it is a tensor of the caller's";
    } else {
      buffer.space =
          tile::spaceOf(type) == tile::Space::Shared ? sched::Space::Shared : sched::Space::Local;
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

  /// The box of the allocation or tensor that an access touches. Transposes
  /// change no box; a slice of a slice is not followed.
  void addAccess(sched::StatementId statement, const tile::TileAccess &access, Operation *inner,
                 Operation *whole) {
    Value root = tile::rootOf(access.memref);
    bool nested = inner != whole;
    RawAccess raw{statement,
                  bufferOf(root),
                  access.reads,
                  access.writes,
                  !alwaysWrites(access, inner, whole),
                  true,
                  {},
                  {}};
    Value view = access.memref;
    while (auto transpose = view.getDefiningOp<memref::TransposeOp>())
      view = transpose.getIn();
    auto add = [&](OpFoldResult offset, OpFoldResult size) {
      // Inside a nested loop or group an offset may change within one
      // iteration.
      auto affine = nested && !isa<Attribute>(offset) && !isReplayableValue(cast<Value>(offset))
                        ? std::nullopt
                        : affineOffset(offset, result.loop);
      raw.offsets.push_back(affine);
      raw.lengths.push_back(getConstantIntValue(size).value_or(-1));
    };
    if (!access.isWhole() && view == root) {
      for (auto [offset, size] : llvm::zip(access.offsets, access.sizes))
        add(offset, size);
    } else if (auto slice = view.getDefiningOp<memref::SubViewOp>();
               slice && slice.getSource() == root) {
      for (auto [offset, size] : llvm::zip(slice.getMixedOffsets(), slice.getMixedSizes()))
        add(offset, size);
    } else if (view != root) {
      raw.known = false;
    }
    accesses.push_back(std::move(raw));
  }

  using Invariants = std::map<void *, int64_t>;

  /// Offsets of one dimension can be compared if the parts that do not change
  /// in the loop are the same; then they cancel. These are the parts that most
  /// likely are, for each dimension of a buffer.
  SmallVector<Invariants> commonInvariants(sched::BufferId buffer, size_t rank) {
    SmallVector<Invariants> common(rank);
    std::vector<bool> found(rank, false);
    bool wholes = !result.problem.buffers[buffer].readAfter.empty();
    for (const RawAccess &access : accesses) {
      if (access.buffer != buffer || !access.known)
        continue;
      wholes |= access.offsets.empty();
      for (size_t d = 0; d < access.offsets.size(); ++d)
        if (access.offsets[d] && !found[d]) {
          found[d] = true;
          common[d] = access.offsets[d]->invariants;
        }
    }
    // A whole tile begins at zero.
    if (wholes)
      common.assign(rank, {});
    return common;
  }

  /// Where a box lies that is not known along a dimension.
  static constexpr sched::AffineInterval anywhere = {0, -(int64_t(1) << 30), int64_t(1) << 31};

  sched::Region regionOf(const RawAccess &access, bool write, ArrayRef<Invariants> common) {
    sched::Region region;
    if (access.known && access.offsets.empty())
      return region;
    size_t known = 0;
    for (size_t d = 0; access.known && d < common.size(); ++d) {
      const auto &offset = access.offsets[d];
      bool comparable = offset && access.lengths[d] >= 0 && offset->invariants == common[d];
      known += comparable;
      if (comparable)
        region.box.push_back({offset->scale, offset->offset, access.lengths[d]});
      else // anywhere along this dimension
        region.box.push_back(anywhere);
    }
    region.kind = sched::Region::Kind::Box;
    // A box that is too large would pretend that a tile is written where it is
    // not; too large a read, or a write of a tensor, does no such harm.
    bool exact = known == common.size();
    if (known == 0 || (!exact && write && !tile::isGlobal(result.buffers[access.buffer])))
      region = {sched::Region::Kind::Unknown, {}};
    return region;
  }

  void finishRegions() {
    for (sched::BufferId buffer = 0; buffer < result.buffers.size(); ++buffer) {
      auto type = cast<MemRefType>(result.buffers[buffer].getType());
      SmallVector<Invariants> common =
          commonInvariants(buffer, static_cast<size_t>(type.getRank()));
      // What a group writes before it reads it, it reads from no earlier
      // iteration; the write alone then stands for both.
      std::vector<sched::Region> written, writing; // by operations before, by this one
      const RawAccess *last = nullptr;
      for (const RawAccess &access : accesses) {
        if (access.buffer != buffer)
          continue;
        if (last && last->by != access.by) {
          written.insert(written.end(), writing.begin(), writing.end());
          writing.clear();
        }
        if (last && last->statement != access.statement)
          written.clear();
        last = &access;
        auto &to = result.problem.statements[access.statement].accesses;
        if (access.reads)
          for (const sched::Region &left : readBy(access, common, type, written))
            to.push_back({buffer, false, left});
        if (!access.writes)
          continue;
        sched::Region region = regionOf(access, true, common);
        to.push_back({buffer, true, region, sched::Proxy::Generic, access.maybe});
        if (access.settles && !access.maybe)
          writing.push_back(region);
      }
    }
  }

  /// A whole tile as a box, so that parts of it can be taken away.
  static sched::Region boxOf(sched::Region region, MemRefType type) {
    if (region.kind != sched::Region::Kind::Whole || !type.hasStaticShape())
      return region;
    region.kind = sched::Region::Kind::Box;
    for (int64_t size : type.getShape())
      region.box.push_back({0, 0, size});
    return region;
  }

  /// The parts of a read that see what others wrote.
  std::vector<sched::Region> readBy(const RawAccess &access, ArrayRef<Invariants> common,
                                    MemRefType type, const std::vector<sched::Region> &written) {
    sched::Region region = regionOf(access, false, common);
    if (!access.inGroup || written.empty())
      return {region};
    // Of a read whose place is not known, no part can be taken away.
    sched::Region box = boxOf(region, type);
    if (llvm::is_contained(box.box, anywhere))
      return sched::covered(box, written) ? std::vector<sched::Region>() : std::vector{region};
    return sched::uncovered(box, written);
  }

  //===------------------------------------------------------------------===//
  // Waits and scalars
  //===------------------------------------------------------------------===//

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

  /// What a check is computed from must be there in one step: scheduled scalars
  /// that meet in a check use each other.
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
      result.namedScalars.push_back(
          {bind.getLabel().str(), tile::placeOf(bind.getLoc()), before, usersOf(bind.getResult())});
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
    if (schedule.getNumStages())
      to.numStages = schedule.getNumStages();
    to.stage = list(schedule.getStage());
    to.order = list(schedule.getOrder());
    to.asyncStages = list(schedule.getAsyncStages());
    to.asyncProducers = list(schedule.getAsyncProducers());
    to.asyncProducerGroups = list(schedule.getAsyncProducerGroups());
  }

  PipelineLoop result;
  llvm::DenseSet<Value> written;
  llvm::DenseMap<Value, sched::BufferId> buffers;
  std::map<std::string, unsigned> bufferNames, statementNames;
  llvm::DenseMap<Value, size_t> conditions;
  std::vector<RawAccess> accesses;
  std::vector<std::pair<tile::BindOp, size_t>> named;
};

} // namespace

bool penstock::isReadOutside(Value root, scf::ForOp loop) {
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
      // Without a loop around, what stands before this one has run for good.
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

/// Whether what \p op issues has ended when \p statement, which contains it, has.
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
      d.place = tile::placeOf(op->getLoc());
      d.message = "`" + op.getAsyncName().str() +
                  "` may still be under way when this statement of a pipelined loop has ended";
      d.notes.push_back({tile::placeOf(statement.op->getLoc()), "this is the statement", ""});
      d.helps.push_back("wait for it at the end of the statement, or make it a statement of the "
                        "loop");
      result.diagnostics.push_back(std::move(d));
    });
  if (result.diagnostics.empty())
    result.diagnostics = sched::check(loop.problem);
  if (!result.diagnostics.empty())
    return result;
  return sched::resolve(loop.problem, loop.annotations, loop.namedScalars);
}

PipelineLoop penstock::analyzeLoop(scf::ForOp loop) { return Analyzer(loop).run(); }
