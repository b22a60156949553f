//===- PipelineWriter.cpp - Write iterations of a pipelined loop ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Transforms/Pipeline/PipelineWriter.h"
#include "Analysis/Loop/StatementSchedule.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/TileTypes.h"
#include "Scheduling/Schedule/Report.h"
#include "Scheduling/Schedule/VerifySchedule.h"

#include <functional>
#include <numeric>

using namespace mlir;
using namespace penstock;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Takes views of tiles that were made before a loop into it: each iteration needs those of
/// its own slots.
static void takeViewsIn(scf::ForOp loop) {
  OpBuilder b(loop.getContext());
  b.setInsertionPointToStart(loop.getBody());
  IRMapping copies;
  std::function<Value(Value)> copyOf = [&](Value memref) {
    Operation *view = memref.getDefiningOp();
    if (!isa_and_nonnull<memref::SubViewOp, memref::TransposeOp, memref::CastOp>(view) ||
        loop->isAncestor(view))
      return memref;
    if (!copies.contains(memref)) {
      copyOf(view->getOperand(0)); // a view of a view comes after it
      b.clone(*view, copies);
    }
    return copies.lookup(memref);
  };
  SmallVector<Operation *> inside;
  loop.walk([&](Operation *op) { inside.push_back(op); });
  for (Operation *op : inside)
    for (OpOperand &operand : op->getOpOperands())
      if (op != loop && isa<MemRefType>(operand.get().getType()))
        operand.set(copyOf(operand.get()));
}

FailureOr<std::vector<ScheduledLoop>> penstock::takeSchedules(func::FuncOp kernel) {
  kernel.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
    if (loop->hasAttr(tile::TileDialect::scheduleAttr))
      takeViewsIn(loop);
  });
  std::vector<ScheduledLoop> loops;
  WalkResult walked = kernel.walk<WalkOrder::PostOrder>([&](scf::ForOp loop) {
    if (!loop->hasAttr(tile::TileDialect::scheduleAttr))
      return WalkResult::advance();
    PipelineLoop body = analyzeLoop(loop);
    if (Operation *statement = findUnscheduled(body)) {
      statement->emitError() << "a statement of a pipelined loop has no `"
                             << tile::TileDialect::scheduledAttr << "`";
      return WalkResult::interrupt();
    }
    ScheduledLoop scheduled{std::move(body), {}};
    scheduled.schedule = scheduleOf(scheduled.body);
    // What annotations added.
    for (auto [to, from] :
         llvm::zip_equal(scheduled.body.problem.statements, scheduled.body.statements)) {
      to.async |= positionOf(from.op).getAsync();
      to.group = positionOf(from.op).getGroup();
    }
    loops.push_back(std::move(scheduled));
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  kernel.walk([](Operation *op) { op->removeDiscardableAttr(tile::TileDialect::scheduledAttr); });
  return loops;
}

LogicalResult penstock::verifySchedule(const ScheduledLoop &loop) {
  const sched::Problem &problem = loop.body.problem;
  std::vector<penstock::Diagnostic> wrong = sched::checkProblem(problem);
  if (wrong.empty())
    wrong =
        sched::toDiagnostics(problem, loop.schedule, sched::verifySchedule(problem, loop.schedule));
  for (const penstock::Diagnostic &diagnostic : wrong)
    tile::emit(scf::ForOp(loop.body.loop).getLoc(), diagnostic);
  return success(wrong.empty());
}

void penstock::keepAsStatement(scf::ForOp loop, MutableArrayRef<ScheduledLoop> others) {
  for (ScheduledLoop &around : others)
    for (PipelineStatement &statement : around.body.statements) {
      if (statement.op != loop)
        continue;
      OpBuilder b(loop);
      auto wrapped = tile::StatementOp::create(b, loop.getLoc(), "loop");
      wrapped.getBody().emplaceBlock();
      tile::StatementOp::ensureTerminator(wrapped.getBody(), b, loop.getLoc());
      loop->moveBefore(&wrapped.getBody().front(), wrapped.getBody().front().begin());
      statement.op = wrapped;
    }
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

PipelineWriter::PipelineWriter(ScheduledLoop &scheduled, std::vector<int64_t> versions)
    : body(scheduled.body), schedule(scheduled.schedule), versions(std::move(versions)),
      loop(body.loop), b(loop), loc(loop.getLoc()) {}

void PipelineWriter::prepare() {
  makeStorage();
  makeScalarSlots();
  countIterations();
  sequence.resize(body.statements.size());
  std::iota(sequence.begin(), sequence.end(), 0);
  llvm::sort(sequence, [&](size_t x, size_t y) { return schedule.order[x] < schedule.order[y]; });
  placeChecks();
}

void PipelineWriter::finish() {
  copyOut();
  loop.erase();
}

Value PipelineWriter::index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

Value PipelineWriter::before(Value k, int64_t distance) {
  return distance ? b.createOrFold<arith::SubIOp>(loc, k, index(distance)) : k;
}

Value PipelineWriter::compare(arith::CmpIPredicate predicate, Value a, Value c) {
  return b.createOrFold<arith::CmpIOp>(loc, predicate, a, c);
}

Value PipelineWriter::allocate(MemRefType type, StringAttr label) {
  OpBuilder::InsertionGuard guard(b);
  auto function = loop->getParentOfType<func::FuncOp>();
  b.setInsertionPointToStart(&function.getBody().front());
  return tile::AllocOp::create(b, loc, type, label, IntegerAttr());
}

MemRefType PipelineWriter::typeOf(size_t buffer) const {
  return cast<MemRefType>(body.buffers[buffer].getType());
}

void PipelineWriter::openIf(Value condition) {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
}

void PipelineWriter::makeStorage() {
  storage.resize(body.buffers.size());
  for (size_t i = 0; i < body.buffers.size(); ++i) {
    if (versions[i] < 2)
      continue;
    MemRefType type = typeOf(i);
    auto label = body.buffers[i].getDefiningOp()->getAttrOfType<StringAttr>("label");
    if (!isRing(i)) {
      for (int64_t version = 0; version < versions[i]; ++version)
        storage[i].push_back(allocate(type, label));
      continue;
    }
    SmallVector<int64_t> shape = {versions[i]};
    llvm::append_range(shape, type.getShape());
    storage[i] = {
        allocate(tile::tileType(shape, type.getElementType(), tile::spaceOf(type)), label)};
  }
}

Value PipelineWriter::slotOf(size_t buffer, Value k) {
  return arith::RemSIOp::create(b, loc, k, index(versions[buffer]));
}

Value PipelineWriter::versionOf(size_t buffer, Value k) {
  Value slot = slotOf(buffer, k);
  auto ring = cast<MemRefType>(storage[buffer].front().getType());
  SmallVector<OpFoldResult> offsets(ring.getRank(), b.getIndexAttr(0)), sizes,
      strides(ring.getRank(), b.getIndexAttr(1));
  offsets[0] = slot;
  for (int64_t size : ring.getShape())
    sizes.push_back(b.getIndexAttr(size));
  sizes[0] = b.getIndexAttr(1);
  auto type = cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(
      ring.getShape().drop_front(), ring, offsets, sizes, strides));
  return memref::SubViewOp::create(b, loc, type, storage[buffer].front(), offsets, sizes, strides);
}

/// Values of scheduled scalars go from the statement that defines them to
/// those that use them, in the same step, through a slot.
void PipelineWriter::makeScalarSlots() {
  for (PipelineStatement &statement : body.statements)
    for (Value value : statement.op->getResults())
      if (!value.use_empty())
        scalars[value] = allocate(tile::tileType({}, storable(value.getType()), tile::Space::Local),
                                  StringAttr());
}

void PipelineWriter::countIterations() {
  Value span = arith::SubIOp::create(b, loc, loop.getUpperBound(), loop.getLowerBound());
  Value count = arith::CeilDivSIOp::create(b, loc, span, loop.getStep());
  trips = arith::MaxSIOp::create(b, loc, count, index(0));
}

/// Copies out the slot of the last iteration, for reads after the loop.
void PipelineWriter::copyOut() {
  auto copy = [&](Value from, Value to) {
    tile::CopyOp::create(b, loc, from, ValueRange(), to, ValueRange(), Value(), Value(),
                         DenseI64ArrayAttr(), StringAttr());
  };
  for (size_t i = 0; i < storage.size(); ++i) {
    if (storage[i].empty() || body.problem.buffers[i].readAfter.empty())
      continue;
    OpBuilder::InsertionGuard guard(b);
    openIf(compare(arith::CmpIPredicate::sgt, trips, index(0)));
    Value last = arith::SubIOp::create(b, loc, trips, index(1));
    if (isRing(i)) {
      copy(PipelineWriter::versionOf(i, last), body.buffers[i]);
      continue;
    }
    Value slot = arith::RemSIOp::create(b, loc, last, index(versions[i]));
    for (auto [version, tile] : llvm::enumerate(storage[i])) {
      OpBuilder::InsertionGuard inner(b);
      openIf(compare(arith::CmpIPredicate::eq, slot, index(int64_t(version))));
      copy(tile, body.buffers[i]);
    }
  }
}

//===----------------------------------------------------------------------===//
// Instances of statements
//===----------------------------------------------------------------------===//

IRMapping PipelineWriter::iterationOf(Value k) {
  IRMapping mapping;
  Value iteration = k;
  auto step = getConstantIntValue(loop.getStep());
  if (!step || *step != 1)
    iteration = arith::MulIOp::create(b, loc, iteration, loop.getStep());
  auto begin = getConstantIntValue(loop.getLowerBound());
  if (!begin || *begin != 0)
    iteration = arith::AddIOp::create(b, loc, iteration, loop.getLowerBound());
  mapping.map(loop.getInductionVar(), iteration);
  return mapping;
}

void PipelineWriter::writeInstance(size_t i, Value k) {
  IRMapping mapping = iterationOf(k);
  for (size_t buffer = 0; buffer < storage.size(); ++buffer)
    if (!storage[buffer].empty() && touches(i, buffer))
      mapping.map(body.buffers[buffer], versionOf(buffer, k));

  const PipelineStatement &statement = body.statements[i];
  {
    OpBuilder::InsertionGuard guard(b);
    IRMapping own = mapping;
    enter(statement.conditions, own);
    for (Value needed : outerValues(statement.op))
      replay(needed, own);
    writeOp(i, own, k);
  }
  for (const Check &check : checks)
    if (check.after == i)
      writeCheck(check, mapping, k);
}

void PipelineWriter::writeOp(size_t i, IRMapping &mapping, Value) {
  Operation *op = body.statements[i].op;
  storeResults(op, cloneWithViews(op, mapping));
}

void PipelineWriter::storeResults(Operation *from, Operation *to) {
  for (auto [original, copy] : llvm::zip(from->getResults(), to->getResults()))
    if (auto slot = scalars.find(original); slot != scalars.end()) {
      Value value = copy;
      if (value.getType().isIndex())
        value = arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
      tile::StoreOp::create(b, from->getLoc(), value, slot->second, ValueRange());
    }
}

void PipelineWriter::enter(ArrayRef<Value> conditions, IRMapping &mapping) {
  for (Value condition : conditions)
    openIf(replay(condition, mapping));
}

bool PipelineWriter::touches(size_t statement, size_t buffer) const {
  return llvm::any_of(body.problem.statements[statement].accesses,
                      [&](const sched::Access &access) { return access.buffer == buffer; });
}

//===----------------------------------------------------------------------===//
// Replay
//===----------------------------------------------------------------------===//

/// Values of the body that an operation uses, its regions included.
SmallVector<Value> PipelineWriter::outerValues(Operation *op) {
  SmallVector<Value> values;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!loop.isDefinedOutsideOfLoop(operand) &&
          !op->isAncestor(operand.getParentBlock()->getParentOp()))
        values.push_back(operand);
  });
  return values;
}

Value PipelineWriter::replay(Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (loop.isDefinedOutsideOfLoop(value))
    return value;
  if (auto slot = scalars.find(value); slot != scalars.end()) {
    Type stored = storable(value.getType());
    Value loaded = tile::LoadOp::create(b, loc, stored, slot->second, ValueRange());
    if (value.getType().isIndex())
      loaded = arith::IndexCastOp::create(b, loc, b.getIndexType(), loaded);
    mapping.map(value, loaded);
    return loaded;
  }
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    replay(operand, mapping);
  Operation *copy = cloneWithViews(op, mapping);
  mapping.map(op->getResults(), copy->getResults());
  return mapping.lookup(value);
}

/// A view of a ring's slot is strided otherwise than a view of the tile; this
/// makes the copy of a view, or of what contains views, with the right types.
Operation *PipelineWriter::cloneWithViews(Operation *op, IRMapping &mapping) {
  Operation *copy = b.clone(*op, mapping);
  SmallVector<Operation *> views;
  copy->walk([&](Operation *inner) {
    if (isa<memref::SubViewOp, memref::TransposeOp>(inner))
      views.push_back(inner);
  });
  for (Operation *view : views) {
    OpBuilder at(view);
    Value typed;
    if (auto slice = dyn_cast<memref::SubViewOp>(view)) {
      auto type = memref::SubViewOp::inferRankReducedResultType(
          slice.getType().getShape(), slice.getSourceType(), slice.getMixedOffsets(),
          slice.getMixedSizes(), slice.getMixedStrides());
      typed = memref::SubViewOp::create(at, view->getLoc(), cast<MemRefType>(type),
                                        slice.getSource(), slice.getMixedOffsets(),
                                        slice.getMixedSizes(), slice.getMixedStrides());
    } else {
      auto transpose = cast<memref::TransposeOp>(view);
      typed = memref::TransposeOp::create(at, view->getLoc(), transpose.getIn(),
                                          transpose.getPermutationAttr());
    }
    view->getResult(0).replaceAllUsesWith(typed);
    if (view == copy)
      copy = typed.getDefiningOp();
    view->erase();
  }
  return copy;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Returns the operations to rematerialize for \p values, and in \p from the statements whose
/// scalars they use.
llvm::SetVector<Operation *> PipelineWriter::replayedFor(ArrayRef<Value> values,
                                                         std::vector<size_t> *from) {
  llvm::SetVector<Operation *> needed;
  SmallVector<Value> work(values);
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !loop->isProperAncestor(op))
      continue;
    auto statement =
        llvm::find_if(body.statements, [&](const PipelineStatement &s) { return s.op == op; });
    if (statement != body.statements.end()) {
      if (from)
        from->push_back(static_cast<size_t>(statement - body.statements.begin()));
    } else if (needed.insert(op)) {
      llvm::append_range(work, op->getOperands());
    }
  }
  return needed;
}

void PipelineWriter::placeChecks() {
  std::vector<llvm::SetVector<Operation *>> computed;
  for (const PipelineStatement &statement : body.statements) {
    SmallVector<Value> values = outerValues(statement.op);
    computed.push_back(replayedFor(values, nullptr));
  }
  auto isComputed = [&](const PipelineStatement &check) {
    for (size_t i = 0; i < body.statements.size(); ++i)
      if (body.statements[i].conditions == check.conditions && computed[i].contains(check.op))
        return true;
    return false;
  };
  for (const PipelineStatement &check : body.checks) {
    if (isComputed(check))
      continue;
    SmallVector<Value> values(check.op->getOperands());
    llvm::append_range(values, check.conditions);
    std::vector<size_t> from;
    replayedFor(values, &from);
    // Scalars that meet here are in one stage; any statement will do if there
    // are none.
    size_t after = from.empty() ? sequence.front() : from.front();
    for (size_t i : from)
      if (schedule.order[i] > schedule.order[after])
        after = i;
    checks.push_back({check, after});
  }
}

void PipelineWriter::writeCheck(const Check &check, IRMapping mapping, Value k) {
  OpBuilder::InsertionGuard guard(b);
  if (lagOf(check.after)) // a wait that goes on after the last iteration
    openIf(compare(arith::CmpIPredicate::slt, k, trips));
  enter(check.scalar.conditions, mapping);
  for (Value result : check.scalar.op->getResults())
    replay(result, mapping);
}
