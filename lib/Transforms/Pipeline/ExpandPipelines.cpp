//===- ExpandPipelines.cpp - Write pipelined loops out --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Problem/Versions.h"
#include "Transforms/Passes.h"
#include "Transforms/Pipeline/PipelineWriter.h"

namespace penstock {
#define GEN_PASS_DEF_EXPANDPIPELINES
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// Prologues of more steps are loops: code must not grow with the number of stages.
constexpr int64_t mostUnrolledSteps = 8;

std::vector<int64_t> countsOf(const std::vector<sched::BufferVersions> &versions) {
  std::vector<int64_t> counts;
  for (const sched::BufferVersions &version : versions)
    counts.push_back(version.count);
  return counts;
}

class Expander : PipelineWriter {
public:
  Expander(ScheduledLoop &loop, const sched::Order &order,
           const std::vector<sched::BufferVersions> &versions)
      : PipelineWriter(loop, countsOf(versions)),
        implicitWaits(sched::emittedWaits(order, versions)) {}

  /// Writes the loop out in its place.
  void run() {
    nameCompletions();
    prepare();
    int64_t depth = schedule.numStages() - 1, tail = depth;
    for (size_t i = 0; i < body.statements.size(); ++i)
      tail = std::max(tail, schedule.stage[i] + lagOf(i));
    for (const sched::ImplicitWait &wait : implicitWaits)
      if (wait.before != sched::none)
        tail = std::max(tail, schedule.stage[wait.before] + wait.distance);

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
    finish();
  }

private:
  /// Waits with a lag run on for iterations past the end.
  int64_t lagOf(size_t statement) const override {
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
      ifBefore(k, lagOf(i), guarded, [&] { writeInstance(i, k); });
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

  void writeOp(size_t i, IRMapping &mapping, Value k) override {
    Operation *op = body.statements[i].op;
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
    storeResults(op, copy);
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

  void drain() {
    llvm::SmallSetVector<Attribute, 4> names;
    for (StringAttr name : completions)
      if (name)
        names.insert(name);
    if (!names.empty())
      tile::WaitOp::create(b, loc, b.getArrayAttr(names.getArrayRef()), 0, Value());
  }

  std::vector<sched::ImplicitWait> implicitWaits;
  std::vector<StringAttr> completions; ///< by statement
};

struct ExpandPipelines : penstock::impl::ExpandPipelinesBase<ExpandPipelines> {
  void runOnOperation() override {
    FailureOr<std::vector<ScheduledLoop>> taken = takeSchedules(getOperation());
    if (failed(taken))
      return signalPassFailure();
    std::vector<ScheduledLoop> &loops = *taken;
    for (const ScheduledLoop &loop : loops)
      if (failed(verifySchedule(loop)))
        return signalPassFailure();
    for (size_t i = 0; i < loops.size(); ++i) {
      scf::ForOp loop = loops[i].body.loop;
      // Nothing to overlap, and checks stay where they are.
      if (loops[i].body.statements.empty()) {
        loop->removeAttr(tile::TileDialect::scheduleAttr);
        continue;
      }
      keepAsStatement(loop, MutableArrayRef(loops).drop_front(i + 1));
      sched::LoopModel model(loops[i].body.problem);
      sched::Order order(model, loops[i].schedule);
      Expander(loops[i], order, sched::versions(order)).run();
    }
  }
};

} // namespace
