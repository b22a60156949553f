//===- GenerateInstance.cpp - Random loops of the explicit level ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "GenerateInstance.h"
#include "Generate.h"
#include "OrderOracle.h"

#include <algorithm>

using namespace penstock::fuzz;

namespace {

using Kind = LoopStatement::Kind;
using Motion = Span::Motion;

class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed) {}

  LoopInstance run() {
    guards = loop.conditions = random.chance(60) ? 0 : int(random.between(1, 2));
    int64_t buffers = random.between(2, 5);
    for (int64_t b = 0; b < buffers; ++b) {
      LoopBuffer buffer;
      bool tensor = b == 0 || random.chance(20);
      buffer.kind = tensor ? LoopBuffer::Kind::Tensor : LoopBuffer::Kind::Tile;
      buffer.extents = {tensor ? 256 : 8};
      buffer.readAfter = !tensor && random.chance(25);
      loop.buffers.push_back(buffer);
    }
    // Queue 0 is for copies, queue 1 for products into the last buffer.
    loop.queues.push_back({});
    loop.queues.push_back({true, {int(buffers) - 1}});
    bool story = random.chance(25);
    int64_t count = story ? 0 : random.between(2, 10);
    while (loop.size() < count)
      addStatement();
    if (story && random.chance(70))
      addQueueStory();
    else if (story)
      addGuardStory();
    closeGroups();
    LoopInstance instance;
    instance.plan = story && random.chance(70) ? shallowPlan() : randomPlan(loop, random);
    state(instance.plan);
    instance.loop = std::move(loop);
    return instance;
  }

private:
  Touch touch(Path path) {
    Touch t;
    t.buffer = int(random.below(int64_t(loop.buffers.size())));
    t.path = path;
    if (loop.buffers[size_t(t.buffer)].kind == LoopBuffer::Kind::Tensor) {
      int64_t scale = random.of({8, 8, 8, 4, 0});
      t.box.spans = {{Motion::Affine, scale, random.of({0, 0, 8, 16}), 8, 1}};
    } else if (random.chance(20)) {
      t.box.spans = {{Motion::Affine, 0, random.of({0, 4, 2}), 4, 1}};
    } else if (random.chance(4)) {
      t.box.spans = {{random.chance(50) ? Motion::Modulo : Motion::Loaded, 4, 0, 4, 2}};
    }
    return t;
  }

  std::vector<Term> guard() {
    if (!guards || random.chance(70))
      return {};
    return {{int(random.below(guards)), random.chance(35)}};
  }

  LoopStatement access(Path path) {
    LoopStatement s;
    Action action;
    for (int64_t i = random.between(0, 2); i > 0; --i)
      action.reads.push_back(touch(path));
    if (action.reads.empty() || random.chance(80))
      action.writes.push_back(touch(path));
    s.actions = {action};
    s.guard = guard();
    if (random.chance(6)) // decided inside of the statement
      s.actions.push_back({{}, {touch(path)}, {{loop.conditions++, false}}});
    return s;
  }

  void addStatement() {
    int64_t kind = random.below(100);
    LoopStatement s;
    if (kind < 35) {
      s = access(random.chance(25) ? Path::Async : Path::Generic);
      s.kind = random.chance(40) ? Kind::Copy : Kind::Effect;
    } else if (kind < 60) {
      s = access(Path::Async);
      s.async = true;
      s.kind = Kind::Copy;
      int64_t where = random.below(4);
      if (where < 2)
        s.queue = int(where);
      else if (where == 2)
        s.group = random.below(2);
      if (s.queue == 1) { // products accumulate
        Touch sum{int(loop.buffers.size()) - 1, {}, Path::Async};
        s.kind = Kind::Effect;
        s.actions[0].reads.push_back(sum);
        s.actions[0].writes = {sum};
        s.actions.resize(1);
      }
    } else if (kind < 75) {
      if (!makeWait(s))
        return;
    } else if (kind < 83) {
      s.kind = Kind::Commit;
      s.queue = int(random.below(2));
      if (random.chance(3))
        s.guard = guard();
    } else if (kind < 89) {
      s.kind = Kind::Wait;
      s.queue = int(random.below(2));
      s.count = random.below(3);
      s.countReadsOnly = random.chance(30);
    } else if (kind < 95) {
      s.kind = Kind::Fence;
      if (random.chance(70))
        s.from = {random.chance(70) ? Path::Generic : Path::Async};
      if (random.chance(70))
        s.to = {random.chance(70) ? Path::Async : Path::Generic};
      s.guard = guard();
    } else {
      s.kind = Kind::Scalar;
      s.actions = {Action{{touch(Path::Generic)}, {}, {}}};
      pendingScalars.push_back(loop.size());
    }
    loop.statements.push_back(s);
    if (s.kind == Kind::Effect && !s.async)
      for (int scalar : pendingScalars)
        if (random.chance(50))
          loop.statements[size_t(scalar)].users.push_back(loop.size() - 1);
  }

  /// A member of a queue is awaited late, another one early, and somebody meets
  /// the first in between: it depends on the queue whether that is in order.
  void addQueueStory() {
    int queue = int(random.below(2)), sum = int(loop.buffers.size()) - 1;
    auto member = [&] {
      LoopStatement s = access(Path::Async);
      s.actions.resize(1);
      s.async = true;
      s.queue = queue;
      if (random.chance(50)) {
        s.actions[0].reads.push_back({sum, {}, Path::Async});
        s.actions[0].writes.push_back({sum, {}, Path::Async});
      }
      return s;
    };
    int first = int(random.below(2)); // of the two members, the one that is met
    loop.statements = {member(), member()};
    const Action &met = loop.statements[size_t(first)].actions[0];
    LoopStatement early, late, meets;
    early.kind = late.kind = Kind::Wait;
    early.names = {{1 - first, 0, true, true}};
    late.names = {{first, random.between(0, 2), true, true}};
    Action action;
    if (!met.reads.empty() && random.chance(60))
      action.writes.push_back({met.reads[0].buffer, met.reads[0].box, Path::Generic});
    else if (!met.writes.empty())
      action.reads.push_back({met.writes[0].buffer, met.writes[0].box, Path::Generic});
    meets.actions = {action};
    loop.statements.insert(loop.statements.end(), {early, meets, late});
  }

  /// Statements under opposite conditions exclude each other in one iteration,
  /// but not in two.
  void addGuardStory() {
    loop.conditions = std::max(loop.conditions, 1);
    Touch shared = touch(Path::Generic);
    for (int64_t i = random.between(2, 3); i > 0; --i) {
      LoopStatement s;
      Action action;
      (random.chance(60) ? action.writes : action.reads).push_back(shared);
      s.actions = {action};
      s.guard = {{0, i % 2 == 0}};
      loop.statements.push_back(s);
    }
  }

  /// Two stages and any order.
  Plan shallowPlan() {
    Plan plan = sourceOrder(loop.size());
    for (size_t i = 0; i < plan.order.size(); ++i) {
      plan.stage[i] = random.below(2);
      std::swap(plan.order[i], plan.order[size_t(random.below(int64_t(i) + 1))]);
    }
    return plan;
  }

  bool makeWait(LoopStatement &s) {
    s.kind = Kind::Wait;
    for (int i = 0; i < loop.size(); ++i)
      if (loop.statements[size_t(i)].async && random.chance(50)) {
        Naming name{i, random.chance(60) ? 0 : random.between(1, 2), true, true};
        if (random.chance(35))
          (random.chance(70) ? name.writes : name.reads) = false;
        s.names.push_back(name);
      }
    if (random.chance(8))
      s.guard = guard();
    if (random.chance(20))
      awaitBefore(s);
    return !s.names.empty() || s.before;
  }

  /// The wait also ends something from before the loop, which nothing meets earlier.
  void awaitBefore(LoopStatement &s) {
    Touch met = touch(Path::Generic);
    auto meets = [&](const Action &action) {
      auto isMet = [&](const Touch &other) { return other.buffer == met.buffer; };
      return std::any_of(action.reads.begin(), action.reads.end(), isMet) ||
             std::any_of(action.writes.begin(), action.writes.end(), isMet);
    };
    for (const LoopStatement &earlier : loop.statements)
      if (meets(earlier.settles) ||
          std::any_of(earlier.actions.begin(), earlier.actions.end(), meets))
        return;
    s.before = true;
    for (Span &span : met.box.spans)
      span.scale = 0;
    if (met.box.opaque())
      met.box = {};
    (random.chance(75) ? s.settles.writes : s.settles.reads).push_back(met);
  }

  /// Most loops commit what they issue to a queue with commits.
  void closeGroups() {
    for (int q = 0; q < 2; ++q) {
      int last = -1, commit = -1;
      bool counted = false;
      for (int i = 0; i < loop.size(); ++i) {
        const LoopStatement &s = loop.statements[size_t(i)];
        if (s.queue == q && s.async)
          last = i;
        if (s.queue == q && s.kind == Kind::Commit)
          commit = i;
        counted |= s.queue == q && s.kind == Kind::Wait;
      }
      if (random.chance(4) || last < commit || (commit < 0 && !counted))
        continue;
      LoopStatement s;
      s.kind = Kind::Commit;
      s.queue = q;
      loop.statements.push_back(s);
    }
  }

  void state(const Plan &plan) {
    if (!random.chance(15))
      return;
    OrderVerdict verdict = checkOrder(loop, plan);
    for (size_t b = 0; b < loop.buffers.size(); ++b)
      if (loop.buffers[b].kind == LoopBuffer::Kind::Tile && random.chance(60)) {
        int64_t needed = verdict.versions.empty() ? 1 : verdict.versions[b];
        loop.buffers[b].statedVersions = std::max<int64_t>(1, needed + random.of({-1, -1, 0, 1}));
      }
  }

  Random random;
  Loop loop;
  int guards = 0;
  std::vector<int> pendingScalars;
};

} // namespace

LoopInstance penstock::fuzz::generateInstance(uint64_t seed) { return Generator(seed).run(); }
