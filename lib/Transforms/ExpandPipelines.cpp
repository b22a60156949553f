//===- ExpandPipelines.cpp - Write pipelined loops out --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/PipelineLoop.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Scheduling/Report.h"
#include "Scheduling/Verify.h"
#include "Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

#include <numeric>

namespace penstock {
#define GEN_PASS_DEF_EXPANDPIPELINES
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// Prologues of more steps are loops: code must not grow with the number of stages.
constexpr int64_t mostUnrolledSteps = 8;

/// A loop with all that is known of it before any loop is expanded.
struct PlannedLoop {
  PipelineLoop body;
  sched::Schedule schedule;
};

class Expander {
public:
  explicit Expander(PlannedLoop &plan)
      : body(plan.body), schedule(plan.schedule), loop(body.loop), b(loop), loc(loop.getLoc()) {}

  /// Writes the loop out in its place.
  void run() {
    sched::LoopModel model(body.problem);
    sched::Order order(model, schedule);
    versions = sched::versions(order);
    implicitWaits = sched::emittedWaits(order, versions);
    nameCompletions();
    makeRings();
    makeScalarSlots();
    countIterations();
    sequence.resize(body.statements.size());
    std::iota(sequence.begin(), sequence.end(), 0);
    llvm::sort(sequence, [&](size_t x, size_t y) { return schedule.order[x] < schedule.order[y]; });
    int64_t depth = schedule.numStages() - 1, tail = depth;
    for (size_t i = 0; i < body.statements.size(); ++i)
      tail = std::max(tail, schedule.stage[i] + lagOf(i));
    for (const sched::ImplicitWait &wait : implicitWaits)
      if (wait.before != sched::none)
        tail = std::max(tail, schedule.stage[wait.before] + wait.distance);
    placeChecks();

    // Prologue: steps 0 .. depth-1, where later stages have not begun.
    if (depth > mostUnrolledSteps)
      stepLoop(index(0), index(depth), Phase::Prologue);
    else
      for (int64_t t = 0; t < depth; ++t)
        step(index(t), t, Phase::Prologue);
    // Steady: every iteration exists.
    stepLoop(index(depth), trips, Phase::Steady);
    // Epilogue: no new iterations begin.
    Value first = arith::MaxSIOp::create(b, loc, trips, index(depth));
    Value last = arith::AddIOp::create(b, loc, trips, index(tail));
    stepLoop(first, last, Phase::Epilogue);
    drain();
    copyOut();
    loop.erase();
  }

private:
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

  /// Waits with a lag run on for iterations past the end.
  int64_t lagOf(size_t statement) const {
    int64_t lag = 0;
    for (const sched::Await &await : body.problem.statements[statement].awaits)
      lag = std::max(lag, await.distance);
    return lag;
  }

  /// The name under which each statement completes; null if it does so at once.
  /// Copies that only the schedule makes asynchronous get a name of their own
  /// here, or share one with their group: what is awaited together.
  void nameCompletions() {
    llvm::DenseSet<StringAttr> taken;
    loop->getParentOfType<func::FuncOp>().walk([&](tile::TileAccessOpInterface op) {
      if (StringAttr name = op.getAsyncName())
        taken.insert(name);
    });
    auto fresh = [&] {
      StringAttr name;
      for (size_t i = taken.size(); !name || taken.contains(name); ++i)
        name = b.getStringAttr("pipeline" + Twine(i));
      taken.insert(name);
      return name;
    };
    std::map<int64_t, StringAttr> ofGroup;
    completions.resize(body.statements.size());
    for (size_t i = 0; i < body.statements.size(); ++i) {
      const sched::Statement &statement = body.problem.statements[i];
      auto access = dyn_cast<tile::TileAccessOpInterface>(body.statements[i].op);
      if (!access || !statement.async)
        continue;
      StringAttr name = access.getAsyncName();
      StringAttr &shared = ofGroup[statement.group];
      if (!name)
        name = statement.group >= 0 && shared ? shared : fresh();
      completions[i] = shared = name;
    }
  }

  void countIterations() {
    Value span = arith::SubIOp::create(b, loc, loop.getUpperBound(), loop.getLowerBound());
    Value count = arith::CeilDivSIOp::create(b, loc, span, loop.getStep());
    trips = arith::MaxSIOp::create(b, loc, count, index(0));
  }

  //===------------------------------------------------------------------===//
  // Storage
  //===------------------------------------------------------------------===//

  Value allocate(MemRefType type, StringAttr label) {
    OpBuilder::InsertionGuard guard(b);
    auto function = loop->getParentOfType<func::FuncOp>();
    b.setInsertionPointToStart(&function.getBody().front());
    return tile::AllocOp::create(b, loc, type, label, IntegerAttr());
  }

  void makeRings() {
    rings.resize(body.buffers.size());
    for (size_t i = 0; i < body.buffers.size(); ++i) {
      if (versions[i].count < 2)
        continue;
      auto type = cast<MemRefType>(body.buffers[i].getType());
      SmallVector<int64_t> shape = {static_cast<int64_t>(versions[i].count)};
      llvm::append_range(shape, type.getShape());
      auto alloc = body.buffers[i].getDefiningOp<tile::AllocOp>();
      rings[i] = allocate(tile::tileType(shape, type.getElementType(), tile::spaceOf(type)),
                          alloc ? alloc.getLabelAttr() : StringAttr());
    }
  }

  /// The slot of iteration \p k; counted modulo the versions, rounding down.
  Value slotView(size_t buffer, Value k) {
    Value count = index(versions[buffer].count);
    Value slot = arith::RemSIOp::create(b, loc, k, count);
    auto ring = cast<MemRefType>(rings[buffer].getType());
    SmallVector<OpFoldResult> offsets(ring.getRank(), b.getIndexAttr(0)), sizes,
        strides(ring.getRank(), b.getIndexAttr(1));
    offsets[0] = slot;
    for (int64_t size : ring.getShape())
      sizes.push_back(b.getIndexAttr(size));
    sizes[0] = b.getIndexAttr(1);
    auto type = cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(
        ring.getShape().drop_front(), ring, offsets, sizes, strides));
    return memref::SubViewOp::create(b, loc, type, rings[buffer], offsets, sizes, strides);
  }

  /// Values of scheduled scalars go from the statement that defines them to
  /// those that use them, in the same step, through a slot.
  void makeScalarSlots() {
    for (PipelineStatement &statement : body.statements)
      for (Value value : statement.op->getResults())
        if (!value.use_empty())
          slots[value] = allocate(tile::tileType({}, storable(value.getType()), tile::Space::Local),
                                  StringAttr());
  }
  Type storable(Type type) { return type.isIndex() ? b.getI64Type() : type; }

  //===------------------------------------------------------------------===//
  // Steps
  //===------------------------------------------------------------------===//

  /// Which iterations may not exist: those that have not begun, none, those past the end.
  enum class Phase { Prologue, Steady, Epilogue };

  void stepLoop(Value from, Value to, Phase phase) {
    auto steps = scf::ForOp::create(b, loc, from, to, index(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(steps.getBody());
    step(steps.getInductionVar(), std::nullopt, phase);
  }

  void step(Value t, std::optional<int64_t> constant, Phase phase) {
    // Loops may have fewer iterations than the prologue has steps.
    bool guarded = phase != Phase::Steady;
    for (size_t i : sequence) {
      int64_t stage = schedule.stage[i];
      if (constant && *constant < stage)
        continue; // has not begun
      Value k = constant ? index(*constant - stage)
                : stage  ? Value(arith::SubIOp::create(b, loc, t, index(stage)))
                         : t;
      OpBuilder::InsertionGuard guard(b);
      if (phase == Phase::Prologue && !constant && stage) {
        Value begun = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, k, index(0));
        auto branch = scf::IfOp::create(b, loc, begun, /*withElseRegion=*/false);
        b.setInsertionPointToStart(branch.thenBlock());
      }
      // The iteration before which a wait stands need not exist for what is
      // awaited to be needed by others: waits run on past the end.
      for (const sched::ImplicitWait &wait : implicitWaits)
        if (wait.before == i)
          ifBefore(k, wait.distance, guarded, [&] { waitFor(wait.statement, k, wait.distance); });
      ifBefore(k, lagOf(i), guarded, [&] { instance(i, k); });
    }
  }

  /// Emits something for iteration \p k, if that is not \p lag or more beyond
  /// the last.
  void ifBefore(Value k, int64_t lag, bool guarded, llvm::function_ref<void()> emit) {
    if (!guarded)
      return emit();
    Value end = lag ? Value(arith::AddIOp::create(b, loc, trips, index(lag))) : trips;
    Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, k, end);
    auto branch = scf::IfOp::create(b, loc, exists, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    emit();
  }

  /// Statement \p i of iteration \p k.
  void instance(size_t i, Value k) {
    IRMapping mapping;
    Value iteration = k;
    auto step = getConstantIntValue(loop.getStep());
    if (!step || *step != 1)
      iteration = arith::MulIOp::create(b, loc, iteration, loop.getStep());
    auto begin = getConstantIntValue(loop.getLowerBound());
    if (!begin || *begin != 0)
      iteration = arith::AddIOp::create(b, loc, iteration, loop.getLowerBound());
    mapping.map(loop.getInductionVar(), iteration);
    for (size_t buffer = 0; buffer < rings.size(); ++buffer)
      if (rings[buffer] && touches(i, buffer))
        mapping.map(body.buffers[buffer], slotView(buffer, k));

    const PipelineStatement &statement = body.statements[i];
    {
      OpBuilder::InsertionGuard guard(b);
      IRMapping own = mapping;
      enter(statement.conditions, own);
      for (Value needed : outerValues(statement.op))
        replay(needed, own);
      emit(i, statement.op, own, k);
    }
    for (const Check &check : checks)
      if (check.after == i)
        emitCheck(check, mapping, k);
  }

  /// Goes on inside of the conditions.
  void enter(ArrayRef<Value> conditions, IRMapping &mapping) {
    for (Value condition : conditions) {
      Value replayed = replay(condition, mapping);
      auto branch = scf::IfOp::create(b, loc, replayed, /*withElseRegion=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
  }

  bool touches(size_t statement, size_t buffer) const {
    return llvm::any_of(body.problem.statements[statement].accesses,
                        [&](const sched::Access &access) { return access.buffer == buffer; });
  }

  void emit(size_t i, Operation *op, IRMapping &mapping, Value k) {
    if (auto wait = dyn_cast<tile::WaitOp>(op)) {
      for (const sched::Await &await : body.problem.statements[i].awaits)
        waitFor(await.statement, k, await.distance);
      // Names that only other loops issue keep their plain meaning.
      SmallVector<Attribute> others;
      for (Attribute name : wait.getNames())
        if (!issuedHere(cast<StringAttr>(name)))
          others.push_back(name);
      if (!others.empty())
        tile::WaitOp::create(b, op->getLoc(), b.getArrayAttr(others), 0, Value());
      return;
    }
    Operation *copy = cloneWithViews(op, mapping);
    if (completions[i]) {
      if (auto async = dyn_cast<tile::CopyOp>(copy)) {
        async.setAsyncAttr(completions[i]);
        async.getInstanceMutable().assign(k);
      } else if (auto async = dyn_cast<tile::GemmOp>(copy)) {
        async.getInstanceMutable().assign(k);
      }
    }
    for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
      if (auto slot = slots.find(from); slot != slots.end()) {
        Value value = to;
        if (value.getType().isIndex())
          value = arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
        tile::StoreOp::create(b, op->getLoc(), value, slot->second, ValueRange());
      }
  }

  bool issuedHere(StringAttr name) { return llvm::is_contained(completions, name); }

  /// Ends iteration k - distance of an asynchronous statement, and what came
  /// before it.
  void waitFor(sched::StatementId statement, Value k, int64_t distance) {
    StringAttr name = completions[statement];
    if (!name)
      return;
    // Numbers below zero name no iteration, but still end what was issued before the loop.
    Value through = distance ? Value(arith::SubIOp::create(b, loc, k, index(distance))) : k;
    tile::WaitOp::create(b, loc, b.getArrayAttr({name}), 0, through);
  }

  //===------------------------------------------------------------------===//
  // Replay
  //===------------------------------------------------------------------===//

  /// Values of the body that an operation uses, its regions included.
  SmallVector<Value> outerValues(Operation *op) {
    SmallVector<Value> values;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!loop.isDefinedOutsideOfLoop(operand) && !definedInside(operand, op))
          values.push_back(operand);
    });
    return values;
  }
  static bool definedInside(Value value, Operation *op) {
    Operation *owner = value.getParentBlock()->getParentOp();
    return op->isAncestor(owner);
  }

  Value replay(Value value, IRMapping &mapping) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    if (loop.isDefinedOutsideOfLoop(value))
      return value;
    if (auto slot = slots.find(value); slot != slots.end()) {
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
  Operation *cloneWithViews(Operation *op, IRMapping &mapping) {
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

  //===------------------------------------------------------------------===//
  // Checks
  //===------------------------------------------------------------------===//

  /// A replayable scalar that can fault, where nothing would compute it.
  struct Check {
    PipelineStatement scalar;
    size_t after; ///< the statement that it follows in its iteration
  };

  /// What is replayed to compute \p values, and in \p from the statements whose
  /// scalars are used.
  llvm::SetVector<Operation *> replayedFor(ArrayRef<Value> values, std::vector<size_t> *from) {
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

  void placeChecks() {
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

  void emitCheck(const Check &check, IRMapping mapping, Value k) {
    OpBuilder::InsertionGuard guard(b);
    if (lagOf(check.after)) { // a wait that goes on after the last iteration
      Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, k, trips);
      auto branch = scf::IfOp::create(b, loc, exists, /*withElseRegion=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    enter(check.scalar.conditions, mapping);
    for (Value result : check.scalar.op->getResults())
      replay(result, mapping);
  }

  //===------------------------------------------------------------------===//
  // After the loop
  //===------------------------------------------------------------------===//

  void drain() {
    llvm::SmallSetVector<Attribute, 4> names;
    for (StringAttr name : completions)
      if (name)
        names.insert(name);
    if (!names.empty())
      tile::WaitOp::create(b, loc, b.getArrayAttr(names.getArrayRef()), 0, Value());
  }

  /// What is read after the loop was written by its last iteration.
  void copyOut() {
    for (size_t i = 0; i < rings.size(); ++i) {
      if (!rings[i] || body.problem.buffers[i].readAfter.empty())
        continue;
      Value ran = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, trips, index(0));
      auto branch = scf::IfOp::create(b, loc, ran, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      Value last = arith::SubIOp::create(b, loc, trips, index(1));
      tile::CopyOp::create(b, loc, slotView(i, last), ValueRange(), body.buffers[i], ValueRange(),
                           Value(), Value(), DenseI64ArrayAttr(), StringAttr());
    }
  }

  PipelineLoop &body;
  const sched::Schedule &schedule;
  scf::ForOp loop;
  OpBuilder b;
  Location loc;
  std::vector<sched::BufferVersions> versions;
  std::vector<sched::ImplicitWait> implicitWaits;
  std::vector<StringAttr> completions; ///< by statement
  std::vector<Value> rings;            ///< by buffer; null if it has one version
  llvm::DenseMap<Value, Value> slots;
  std::vector<size_t> sequence;
  std::vector<Check> checks;
  Value trips;
};

struct ExpandPipelines : penstock::impl::ExpandPipelinesBase<ExpandPipelines> {
  void runOnOperation() override {
    // All loops are planned before any is expanded: in what an expanded loop leaves
    // behind, the tiles and iterations of loops around and inside of it can no longer
    // be told apart.
    std::vector<PlannedLoop> loops;
    getOperation().walk<WalkOrder::PostOrder>([&](scf::ForOp loop) {
      auto schedule = loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr);
      if (schedule && schedule.getResolved())
        loops.push_back(plan(loop, schedule));
    });
    if (!llvm::all_of(loops, verify))
      return signalPassFailure();
    // Inner loops first.
    for (size_t i = 0; i < loops.size(); ++i)
      expand(loops[i], MutableArrayRef(loops).drop_front(i + 1));
  }

  static PlannedLoop plan(scf::ForOp loop, tile::ScheduleAttr attr) {
    PlannedLoop plan{analyzeLoop(loop), {}};
    plan.schedule.stage.assign(attr.getStage().begin(), attr.getStage().end());
    plan.schedule.order.assign(attr.getOrder().begin(), attr.getOrder().end());
    // What the annotations added.
    std::vector<sched::Statement> &statements = plan.body.problem.statements;
    for (auto [statement, mark] : llvm::zip(statements, attr.getAsyncProducers()))
      statement.async |= mark == 1;
    for (auto [statement, group] : llvm::zip(statements, attr.getAsyncProducerGroups()))
      statement.group = group;
    return plan;
  }

  /// Text may state a schedule that nothing has resolved.
  static bool verify(PlannedLoop &plan) {
    const sched::Problem &problem = plan.body.problem;
    std::vector<penstock::Diagnostic> wrong = sched::check(problem);
    if (wrong.empty())
      wrong = sched::toDiagnostics(problem, plan.schedule, sched::verify(problem, plan.schedule));
    for (const penstock::Diagnostic &diagnostic : wrong)
      tile::emit(plan.body.loop.getLoc(), diagnostic);
    return wrong.empty();
  }

  static void expand(PlannedLoop &plan, MutableArrayRef<PlannedLoop> others) {
    scf::ForOp loop = plan.body.loop;
    // Nothing to overlap, and checks stay where they are.
    if (plan.body.statements.empty()) {
      loop->removeAttr(tile::TileDialect::scheduleAttr);
      return;
    }
    // To a loop around it, it stays one statement.
    for (PlannedLoop &around : others)
      for (PipelineStatement &statement : around.body.statements)
        if (statement.op == loop)
          statement.op = wrap(loop);
    Expander(plan).run();
  }

  static Operation *wrap(scf::ForOp loop) {
    OpBuilder b(loop);
    auto statement = tile::StatementOp::create(b, loop.getLoc(), "loop");
    statement.getBody().emplaceBlock();
    tile::StatementOp::ensureTerminator(statement.getBody(), b, loop.getLoc());
    loop->moveBefore(&statement.getBody().front(), statement.getBody().front().begin());
    return statement;
  }
};

} // namespace
