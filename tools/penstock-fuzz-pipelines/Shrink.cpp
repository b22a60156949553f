//===- Shrink.cpp - Makes failing cases small -----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tries one simplification after the other, keeps those with which the case
// still fails, and stops when none does.
//
//===----------------------------------------------------------------------===//
#include "Shrink.h"
#include "OrderOracle.h"

#include <algorithm>

using namespace penstock::fuzz;

namespace {

void removeEntry(std::optional<Plan> &plan, size_t i) {
  if (!plan || i >= plan->stage.size() || i >= plan->order.size())
    return;
  plan->stage.erase(plan->stage.begin() + int64_t(i));
  plan->order.erase(plan->order.begin() + int64_t(i));
}

/// Simpler schedules: fewer stages, orders without gaps, source order.
void planEdits(const Plan &plan, std::vector<Plan> &edits) {
  for (size_t i = 0; i < plan.stage.size(); ++i)
    if (plan.stage[i] > 0) {
      edits.push_back(plan);
      edits.back().stage[i] -= 1;
    }
  if (std::all_of(plan.stage.begin(), plan.stage.end(), [](int64_t s) { return s > 0; })) {
    edits.push_back(plan);
    for (int64_t &stage : edits.back().stage)
      stage -= 1;
  }
  Plan dense = plan;
  for (size_t i = 0; i < plan.order.size(); ++i)
    dense.order[i] = std::count_if(plan.order.begin(), plan.order.end(),
                                   [&](int64_t o) { return o < plan.order[i]; });
  if (!(dense == plan))
    edits.push_back(dense);
  for (size_t i = 0; i + 1 < plan.order.size(); ++i)
    if (plan.order[i] > plan.order[i + 1]) {
      edits.push_back(plan);
      std::swap(edits.back().order[i], edits.back().order[i + 1]);
    }
}

class ProgramEdits {
public:
  explicit ProgramEdits(const Program &program) : program(program) {}

  std::vector<Program> all() {
    for (size_t i = 0; i < program.statements.size(); ++i)
      removeStatement(i);
    for (size_t i = 0; i < program.statements.size(); ++i)
      simplifyStatement(i);
    for (size_t b = 0; b < program.buffers.size(); ++b) {
      edit([&](Program &p) { p.buffers[b].readAfter = false; }, program.buffers[b].readAfter);
      edit([&](Program &p) { p.buffers[b].statedVersions = 0; },
           program.buffers[b].statedVersions != 0);
    }
    edit([](Program &p) { p.bindScalars = false; }, program.bindScalars);
    edit([](Program &p) { p.shareScalars = false; }, program.shareScalars);
    edit([](Program &p) { p.mergeConditions = false; }, program.mergeConditions);
    edit([](Program &p) { p.sliceTwice = false; }, program.sliceTwice);
    edit([](Program &p) { p.first = 0; }, program.first != 0);
    for (size_t i = 0; i < program.early.size(); ++i)
      edit(
          [&](Program &p) {
            p.early.erase(p.early.begin() + int64_t(i));
            for (ProgramStatement &s : p.statements)
              std::erase_if(s.names, [&](int name) { return !issued(p, name); });
          },
          true);
    edit([](Program &p) { p.olderEntries = false; }, program.olderEntries);
    edit([](Program &p) { p.again = false; }, program.again);
    edit([](Program &p) { p.waitAfter = false; }, program.waitAfter);
    edit([](Program &p) { p.firstAtRunTime = false; }, program.firstAtRunTime);
    edit([](Program &p) { p.step = 1; }, program.step != 1);
    if (program.plan) {
      std::vector<Plan> plans;
      planEdits(*program.plan, plans);
      for (const Plan &plan : plans)
        edit([&](Program &p) { p.plan = plan; }, true);
    }
    return std::move(edits);
  }

private:
  template <class Change> void edit(Change change, bool useful) {
    if (!useful)
      return;
    Program next = program;
    change(next);
    settle(next);
    if (!wellFormed(next))
      return;
    // What is no longer written must have been before the loop.
    Loop loop = loopOf(next);
    for (size_t b = 0; b < next.buffers.size(); ++b)
      next.buffers[b].filledBefore |= next.buffers[b].readAfter || !mayHaveVersions(loop, int(b));
    edits.push_back(std::move(next));
  }

  void removeStatement(size_t i) {
    edit(
        [&](Program &p) {
          int async = p.statements[i].async;
          p.statements.erase(p.statements.begin() + int64_t(i));
          removeEntry(p.plan, i);
          auto renumber = [&](int &scalar) {
            if (scalar == int(i))
              scalar = -1;
            else if (scalar > int(i))
              --scalar;
          };
          bool awaited = std::any_of(p.statements.begin(), p.statements.end(),
                                     [&](const ProgramStatement &s) { return s.async == async; });
          for (ProgramStatement &s : p.statements) {
            if (s.choiceScalar == int(i))
              s.form = ProgramStatement::Form::Group;
            renumber(s.choiceScalar);
            for (auto *list : {&s.operations, &s.otherwise})
              for (Operation &op : *list)
                renumber(op.scalar);
            if (async >= 0 && !awaited)
              std::erase(s.names, async);
          }
          for (ProgramStatement &s : p.statements)
            if (s.form == ProgramStatement::Form::Group)
              s.otherwise.clear();
        },
        program.statements.size() > 1);
  }

  void simplifyStatement(size_t i) {
    const ProgramStatement &s = program.statements[i];
    auto on = [&](auto change) { return [&, change](Program &p) { change(p.statements[i]); }; };
    edit(on([](ProgramStatement &x) { x.guard.clear(); }), !s.guard.empty());
    edit(on([](ProgramStatement &x) { x.guard.pop_back(); }), s.guard.size() > 1);
    edit(on([](ProgramStatement &x) { x.guard[0].negated = false; }),
         !s.guard.empty() && s.guard[0].negated);
    edit(on([](ProgramStatement &x) { x.inner.reset(); }), s.inner.has_value());
    edit(on([](ProgramStatement &x) { x.lag -= 1; }), s.lag > 0);
    edit(on([](ProgramStatement &x) { x.names.pop_back(); }), s.names.size() > 1);
    edit(on([](ProgramStatement &x) { x.otherwise.clear(); }), !s.otherwise.empty());
    edit(on([](ProgramStatement &x) { x.async = -1; }), s.async >= 0);
    edit(on([](ProgramStatement &x) { x.roundsLoaded = false; }), s.roundsLoaded);
    edit(on([](ProgramStatement &x) { x.rounds -= 1; }), s.rounds > 1);
    if (s.form == ProgramStatement::Form::Repeat && s.rounds == 1 && !s.roundsLoaded)
      edit(on([](ProgramStatement &x) {
             x.form = ProgramStatement::Form::Group;
             forEachTouchIn(x, [](Touch &touch) { touch = inRound(touch, 0); });
           }),
           true);
    bool relative = false;
    forEachTouchIn(s, [&](const Touch &touch) {
      for (const Span &span : touch.box.spans)
        relative |= span.origin != Origin();
    });
    edit(on([](ProgramStatement &x) {
           forEachTouchIn(x, [](Touch &touch) {
             for (Span &span : touch.box.spans)
               span.origin = {};
           });
         }),
         relative);
    if (s.form == ProgramStatement::Form::Group && s.operations.size() == 1)
      edit(on([](ProgramStatement &x) { x.form = ProgramStatement::Form::Plain; }), true);
    for (size_t o = 0; o < s.operations.size(); ++o) {
      const Operation &op = s.operations[o];
      edit(on([o](ProgramStatement &x) { x.operations.erase(x.operations.begin() + int64_t(o)); }),
           s.operations.size() > 1);
      edit(on([o](ProgramStatement &x) { x.operations[o].replayed = 0; }), op.replayed != 0);
      edit(on([o](ProgramStatement &x) { x.operations[o].transposed = 0; }), op.transposed != 0);
      edit(on([o](ProgramStatement &x) { x.operations[o].scalar = -1; }), op.scalar >= 0);
      if (op.kind == Operation::Kind::Map)
        for (size_t source = 0; source < op.sources.size(); ++source)
          edit(on([o, source](ProgramStatement &x) {
                 x.operations[o].sources.erase(x.operations[o].sources.begin() + int64_t(source));
                 x.operations[o].transposed = 0;
               }),
               true);
    }
  }

  const Program &program;
  std::vector<Program> edits;
};

class InstanceEdits {
public:
  explicit InstanceEdits(const LoopInstance &instance) : instance(instance) {}

  std::vector<LoopInstance> all() {
    for (size_t i = 0; i < instance.loop.statements.size(); ++i)
      removeStatement(i);
    for (size_t i = 0; i < instance.loop.statements.size(); ++i) {
      const LoopStatement &s = instance.loop.statements[i];
      if (!s.guard.empty())
        edit([&](LoopInstance &x) { x.loop.statements[i].guard.clear(); });
      for (bool writes : {false, true})
        for (size_t a = 0; !s.actions.empty() && a < side(s, writes).size(); ++a)
          edit([&](LoopInstance &x) {
            Action &action = x.loop.statements[i].actions[0];
            auto &list = writes ? action.writes : action.reads;
            list.erase(list.begin() + int64_t(a));
          });
    }
    for (size_t b = 0; b < instance.loop.buffers.size(); ++b)
      if (instance.loop.buffers[b].readAfter)
        edit([&](LoopInstance &x) { x.loop.buffers[b].readAfter = false; });
    std::vector<Plan> plans;
    planEdits(instance.plan, plans);
    for (const Plan &plan : plans)
      edit([&](LoopInstance &x) { x.plan = plan; });
    return std::move(edits);
  }

private:
  static const std::vector<Touch> &side(const LoopStatement &s, bool writes) {
    return writes ? s.actions[0].writes : s.actions[0].reads;
  }
  template <class Change> void edit(Change change) {
    edits.push_back(instance);
    change(edits.back());
  }

  void removeStatement(size_t i) {
    if (instance.loop.statements.size() < 2)
      return;
    edit([&](LoopInstance &x) {
      x.loop.statements.erase(x.loop.statements.begin() + int64_t(i));
      std::optional<Plan> plan = x.plan;
      removeEntry(plan, i);
      x.plan = *plan;
      for (LoopStatement &s : x.loop.statements) {
        std::erase_if(s.names, [&](const Naming &n) { return n.statement == int(i); });
        std::erase(s.users, int(i));
        for (Naming &name : s.names)
          name.statement -= name.statement > int(i);
        for (int &user : s.users)
          user -= user > int(i);
      }
    });
  }

  const LoopInstance &instance;
  std::vector<LoopInstance> edits;
};

template <class Case, class Edits>
Case shrink(Case best, const std::function<bool(const Case &)> &fails) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (Case &candidate : Edits(best).all())
      if (fails(candidate)) {
        best = std::move(candidate);
        smaller = true;
        break;
      }
  }
  return best;
}

} // namespace

Program penstock::fuzz::shrinkProgram(Program program,
                                      const std::function<bool(const Program &)> &fails) {
  return shrink<Program, ProgramEdits>(std::move(program), fails);
}

LoopInstance
penstock::fuzz::shrinkInstance(LoopInstance instance,
                               const std::function<bool(const LoopInstance &)> &fails) {
  return shrink<LoopInstance, InstanceEdits>(std::move(instance), fails);
}
