//===- RandomSyncPlan.cpp - Random loops, plans and changes of them -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RandomSyncPlan.h"

#include "Scheduling/Plan/Mechanisms.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace penstock;
using namespace penstock::sched;

namespace penstock::fuzz {
namespace {

class Generator {
public:
  explicit Generator(uint64_t seed) : rng(seed * 0x9e3779b97f4a7c15u + 1) {}

  int64_t pick(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(rng);
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  template <typename T> T of(std::initializer_list<T> values) {
    return values.begin()[pick(0, int64_t(values.size()) - 1)];
  }

  BoundLoop loop();
  Plan plan();

private:
  void addBuffers(Problem &p);
  void addStatement(Problem &p, size_t index);
  Access access(const Problem &p, BufferId buffer, bool write);
  BufferId bufferIn(const Problem &p, std::initializer_list<Space> spaces);
  Schedule scheduleOf(const Problem &p);
  void addBarriers(Plan &plan);
  void sprinkle(Plan &plan, PlanRole &role);

  std::mt19937_64 rng;
};

void Generator::addBuffers(Problem &p) {
  for (int64_t b = 0, count = pick(2, 4); b < count; ++b) {
    Buffer buffer;
    buffer.name = "b" + std::to_string(b);
    buffer.space = of(
        {Space::Shared, Space::Shared, Space::Shared, Space::Tensor, Space::Local, Space::Global});
    buffer.bytes = 128 * (b + 1);
    if (chance(25) && buffer.space != Space::Global)
      buffer.statedVersions = unsigned(pick(1, 4));
    p.buffers.push_back(buffer);
  }
  for (Engine engine : {Engine::Wgmma, Engine::Tcgen05Mma}) {
    Queue queue;
    queue.name = engineName(engine);
    queue.inOrder = true;
    for (BufferId b = 0; b < p.buffers.size(); ++b)
      if (p.buffers[b].space == (engine == Engine::Wgmma ? Space::Local : Space::Tensor))
        queue.orders.push_back(b);
    p.queues.push_back(queue);
  }
}

BufferId Generator::bufferIn(const Problem &p, std::initializer_list<Space> spaces) {
  std::vector<BufferId> fit;
  for (BufferId b = 0; b < p.buffers.size(); ++b)
    if (std::find(spaces.begin(), spaces.end(), p.buffers[b].space) != spaces.end())
      fit.push_back(b);
  return fit.empty() ? none : fit[size_t(pick(0, int64_t(fit.size()) - 1))];
}

Access Generator::access(const Problem &p, BufferId buffer, bool write) {
  Access a;
  a.buffer = buffer;
  a.write = write;
  if (chance(15)) {
    a.region.kind = Region::Kind::Box;
    a.region.box.push_back({0, pick(0, 2), pick(1, 2)});
  }
  if (p.buffers[buffer].space != Space::Local && chance(35))
    a.holder = HolderId(pick(0, 1));
  return a;
}

void Generator::addStatement(Problem &p, size_t index) {
  Statement s;
  s.name = "s" + std::to_string(index);
  auto add = [&](std::initializer_list<Space> spaces, bool write) {
    if (BufferId b = bufferIn(p, spaces); b != none)
      s.accesses.push_back(access(p, b, write));
  };
  switch (of({Engine::Threads, Engine::Threads, Engine::TmaLoad, Engine::TmaLoad, Engine::CpAsync,
              Engine::Wgmma, Engine::Tcgen05Mma, Engine::Tcgen05Load, Engine::Tcgen05Store,
              Engine::TmaStore, Engine::MmaSync})) {
  case Engine::Threads:
    for (int64_t r = pick(0, 2); r > 0; --r)
      add({Space::Shared, Space::Local, Space::Global}, false);
    add({Space::Shared, Space::Local, Space::Global}, true);
    break;
  case Engine::MmaSync:
    s.executedBy = Engine::MmaSync;
    add({Space::Shared, Space::Local}, false);
    add({Space::Local}, true);
    break;
  case Engine::CpAsync:
    s.executedBy = Engine::CpAsync;
    add({Space::Global}, false);
    add({Space::Shared}, true);
    break;
  case Engine::TmaLoad:
    s.executedBy = Engine::TmaLoad;
    add({Space::Shared}, true);
    break;
  case Engine::TmaStore:
    s.executedBy = Engine::TmaStore;
    add({Space::Shared}, false);
    if (chance(50))
      add({Space::Global}, true);
    break;
  case Engine::Wgmma:
    s.executedBy = Engine::Wgmma;
    s.queue = 0;
    add({Space::Shared, Space::Local}, false);
    add({Space::Local}, true);
    break;
  case Engine::Tcgen05Mma:
    s.executedBy = Engine::Tcgen05Mma;
    s.queue = 1;
    add({Space::Shared, Space::Tensor}, false);
    add({Space::Tensor}, true);
    break;
  case Engine::Tcgen05Load:
    s.executedBy = Engine::Tcgen05Load;
    add({Space::Tensor}, false);
    add({Space::Local}, true);
    break;
  case Engine::Tcgen05Store:
    s.executedBy = Engine::Tcgen05Store;
    add({Space::Local}, false);
    add({Space::Tensor}, true);
    break;
  }
  s.async = mechanismOf(s.executedBy).ends != Mechanism::AtIssue;
  s.kind = s.executedBy == Engine::TmaLoad || s.executedBy == Engine::CpAsync
               ? StatementKind::Copy
               : StatementKind::Compute;
  if (chance(15))
    s.guard.push_back({chance(50) ? "c" : "d", false});
  p.statements.push_back(s);
}

/// Stages that rise in source order are often legal.
Schedule Generator::scheduleOf(const Problem &p) {
  Schedule s = identitySchedule(p);
  int64_t stage = 0;
  bool rising = chance(85);
  for (size_t i = 0; i < p.statements.size(); ++i) {
    if (stage < 3 && chance(35))
      ++stage;
    s.stage[i] = rising ? stage : pick(0, 2);
  }
  for (int64_t swaps = chance(50) ? 0 : pick(1, 3); swaps > 0; --swaps)
    std::swap(s.order[size_t(pick(0, int64_t(s.order.size()) - 1))],
              s.order[size_t(pick(0, int64_t(s.order.size()) - 1))]);
  return s;
}

BoundLoop Generator::loop() {
  BoundLoop result;
  Problem &p = result.problem;
  p.name = "random";
  p.enteredOnce = chance(50);
  addBuffers(p);
  for (size_t s = 0, count = size_t(pick(2, 6)); s < count; ++s)
    addStatement(p, s);
  bindProxies(p);
  result.schedule = scheduleOf(p);
  int64_t roles = chance(50) ? 1 : pick(2, 3);
  for (int64_t r = 0; r < roles; ++r) {
    result.roles.names.push_back("r" + std::to_string(r));
    result.sizes.firstWarp.push_back(4 * r);
    result.sizes.warps.push_back(pick(1, 4));
  }
  for (const Statement &s : p.statements)
    // Queues are not shared between roles.
    result.roles.roleOf.push_back(s.queue != none ? unsigned(s.queue) % unsigned(roles)
                                                  : unsigned(pick(0, roles - 1)));
  result.straight = chance(10);
  return result;
}

/// Barriers of TMA loads, of commits and of threads, awaited somewhere.
void Generator::addBarriers(Plan &plan) {
  auto barrier = [&](const char *name) {
    PlanBarrier b;
    b.name = name + std::to_string(plan.barriers.size());
    b.slots = pick(1, 3);
    plan.barriers.push_back(b);
    return BarrierId(plan.barriers.size() - 1);
  };
  auto insert = [&](PlanRole &role, PlanPoint point, size_t at) {
    role.points.insert(role.points.begin() + ptrdiff_t(at), point);
  };
  auto wait = [&](BarrierId b) {
    for (int64_t count = pick(1, 2); count > 0; --count) {
      PlanRole &role = plan.roles[size_t(pick(0, int64_t(plan.roles.size()) - 1))];
      if (role.points.empty())
        continue;
      size_t at = size_t(pick(0, int64_t(role.points.size()) - 1));
      PlanPoint point = role.points[at];
      PlanPoint w;
      w.kind = PlanPoint::WaitBarrier;
      w.at = point.at;
      w.stage = point.stage;
      w.barrier = b;
      w.distance = chance(60) ? 0 : pick(1, 3);
      w.leader = chance(25);
      insert(role, w, at);
    }
  };
  std::vector<BarrierId> made;
  for (PlanRole &role : plan.roles)
    for (size_t at = 0; at < role.points.size(); ++at) {
      if (role.points[at].kind != PlanPoint::Issue)
        continue;
      PlanPoint near = role.points[at];
      near.barrier = none;
      near.bytes = 0;
      Engine engine = plan.bound.statements[near.at].executedBy;
      if (engine == Engine::TmaLoad) {
        BarrierId b = barrier("full");
        role.points[at].barrier = b;
        role.points[at].bytes = plan.barriers[b].bytes = 128;
        near.kind = PlanPoint::Expect;
        near.barrier = b;
        near.bytes = 128;
        near.leader = true;
        near.count = plan.barriers[b].arrivals = 1;
        insert(role, near, at++);
        made.push_back(b);
      } else if (engine == Engine::Tcgen05Mma || (engine == Engine::CpAsync && chance(30))) {
        BarrierId b = barrier("done");
        near.kind = PlanPoint::Commit;
        near.engine = engine;
        near.barrier = b;
        near.leader = engine == Engine::Tcgen05Mma;
        near.count = plan.barriers[b].arrivals = near.leader ? 1 : 32 * role.warps;
        insert(role, near, ++at);
        made.push_back(b);
      } else if (chance(20)) {
        BarrierId b = barrier("arrive");
        near.kind = PlanPoint::Arrive;
        near.barrier = b;
        near.leader = chance(30);
        near.count = plan.barriers[b].arrivals = near.leader ? 1 : 32 * role.warps;
        if (chance(30))
          ++near.stage;
        insert(role, near, ++at);
        made.push_back(b);
      }
    }
  for (BarrierId b : made)
    wait(b);
}

void Generator::sprinkle(Plan &plan, PlanRole &role) {
  for (size_t at = 0; at < role.points.size(); ++at) {
    PlanPoint near = role.points[at];
    near.barrier = none;
    near.distance = near.bytes = near.count = 0;
    near.leader = near.guarded = false;
    auto put = [&](PlanPoint::Kind kind, size_t where) {
      near.kind = kind;
      role.points.insert(role.points.begin() + ptrdiff_t(where), near);
      near.leader = near.guarded = near.readsOnly = false;
    };
    Engine engine = plan.bound.statements[near.at].executedBy;
    if (role.points[at].kind == PlanPoint::Issue) {
      Mechanism::Ends ends = mechanismOf(engine).ends;
      if (ends == Mechanism::Groups && chance(90)) {
        near.engine = engine;
        near.leader = mechanismOf(engine).leader;
        put(PlanPoint::Commit, at + 1);
      }
    }
    size_t before = role.points.size();
    for (Engine waited : {Engine::CpAsync, Engine::Wgmma, Engine::TmaStore, Engine::Tcgen05Load,
                          Engine::Tcgen05Store})
      if (chance(14)) {
        near.engine = waited;
        near.leader = mechanismOf(waited).leader;
        near.pending = mechanismOf(waited).ends == Mechanism::WaitAll ? 0 : pick(0, 2);
        near.readsOnly = waited == Engine::TmaStore && chance(50);
        near.guarded = chance(20);
        put(PlanPoint::WaitGroup, at);
        near.pending = 0;
      }
    if (chance(25)) {
      near.fence = FenceKind(pick(0, 3));
      near.leader = chance(20);
      near.guarded = chance(20);
      put(PlanPoint::Fence, at);
    }
    if (chance(30)) {
      near.guarded = chance(15);
      put(PlanPoint::Join, at);
    }
    if (chance(15)) {
      near.fence = FenceKind::TensorAfter;
      put(PlanPoint::Fence, at);
    }
    at += role.points.size() - before;
  }
}

Plan Generator::plan() {
  BoundLoop from = loop();
  Plan plan;
  plan.bound = from.problem;
  plan.straight = from.straight;
  for (size_t b = 0; b < plan.bound.buffers.size(); ++b)
    plan.slots.push_back(pick(1, 3));
  std::vector<StatementId> order(plan.bound.statements.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](StatementId a, StatementId b) {
    return from.schedule.order[a] < from.schedule.order[b];
  });
  for (size_t r = 0; r < from.roles.names.size(); ++r) {
    PlanRole role;
    role.name = from.roles.names[r];
    role.warps = from.sizes.warps[r];
    for (StatementId s : order)
      if (from.roles.roleOf[s] == r) {
        PlanPoint issue;
        issue.at = s;
        issue.stage = from.schedule.stage[s];
        issue.leader = mechanismOf(plan.bound.statements[s].executedBy).leader;
        role.points.push_back(issue);
      }
    plan.roles.push_back(std::move(role));
  }
  addBarriers(plan);
  // A barrier that no point awaits is malformed: make it awaited.
  for (BarrierId b = 0; b < plan.barriers.size(); ++b)
    for (PlanRole &role : plan.roles) {
      bool awaited = false;
      for (const PlanRole &other : plan.roles)
        for (const PlanPoint &point : other.points)
          awaited |= point.kind == PlanPoint::WaitBarrier && point.barrier == b;
      if (awaited || role.points.empty())
        continue;
      PlanPoint w;
      w.kind = PlanPoint::WaitBarrier;
      w.at = role.points.back().at;
      w.stage = role.points.back().stage;
      w.barrier = b;
      role.points.push_back(w);
    }
  for (PlanRole &role : plan.roles)
    sprinkle(plan, role);
  for (PlanRole &role : plan.roles) {
    PlanPoint point;
    point.at = none;
    for (Engine waited : {Engine::CpAsync, Engine::Wgmma, Engine::TmaStore, Engine::Tcgen05Load,
                          Engine::Tcgen05Store}) {
      point.kind = PlanPoint::WaitGroup;
      point.engine = waited;
      point.leader = mechanismOf(waited).leader;
      if (chance(70))
        role.drain.push_back(point);
    }
    point.leader = false;
    for (BarrierId b = 0; b < plan.barriers.size(); ++b)
      for (int64_t d = 0; d < plan.barriers[b].slots; ++d)
        if (chance(40)) {
          point.kind = PlanPoint::WaitBarrier;
          point.barrier = b;
          point.distance = d;
          role.drain.push_back(point);
        }
    point.barrier = none;
    point.distance = 0;
    point.kind = PlanPoint::Join;
    if (chance(80))
      role.drain.push_back(point);
  }
  return plan;
}

} // namespace

BoundLoop randomBoundLoop(uint64_t seed) { return Generator(seed).loop(); }
Plan randomSyncPlan(uint64_t seed) { return Generator(seed).plan(); }

std::vector<ChangedPlan> changesOf(const Plan &plan) {
  std::vector<ChangedPlan> result;
  auto change = [&](std::string what, auto &&edit) {
    result.push_back({plan, std::move(what)});
    edit(result.back().plan);
  };
  for (size_t r = 0; r < plan.roles.size(); ++r) {
    for (size_t i = 0; i < plan.roles[r].points.size(); ++i) {
      const PlanPoint &point = plan.roles[r].points[i];
      std::string name = plan.roles[r].name + ": " + printPoint(plan, point);
      if (point.kind != PlanPoint::Issue)
        change("without " + name,
               [&](Plan &p) { p.roles[r].points.erase(p.roles[r].points.begin() + ptrdiff_t(i)); });
      if (point.kind == PlanPoint::WaitGroup && mechanismOf(point.engine).ends == Mechanism::Groups)
        change("one more pending: " + name, [&](Plan &p) { ++p.roles[r].points[i].pending; });
      if (point.kind == PlanPoint::WaitGroup && mechanismOf(point.engine).readsEndFirst &&
          !point.readsOnly)
        change("reads only: " + name, [&](Plan &p) { p.roles[r].points[i].readsOnly = true; });
      if (point.kind == PlanPoint::WaitBarrier)
        change("one token older: " + name, [&](Plan &p) { ++p.roles[r].points[i].distance; });
      if ((point.kind == PlanPoint::WaitBarrier || point.kind == PlanPoint::Fence) && !point.leader)
        change("leader only: " + name, [&](Plan &p) { p.roles[r].points[i].leader = true; });
      if (i + 1 < plan.roles[r].points.size())
        change("exchanged with the next: " + name,
               [&](Plan &p) { std::swap(p.roles[r].points[i], p.roles[r].points[i + 1]); });
    }
    for (size_t i = 0; i < plan.roles[r].drain.size(); ++i)
      change("drain without " + printPoint(plan, plan.roles[r].drain[i]),
             [&](Plan &p) { p.roles[r].drain.erase(p.roles[r].drain.begin() + ptrdiff_t(i)); });
  }
  for (BarrierId b = 0; b < plan.barriers.size(); ++b)
    if (plan.barriers[b].slots > 1)
      change("one slot fewer: " + plan.barriers[b].name, [&](Plan &p) { --p.barriers[b].slots; });
  for (size_t b = 0; b < plan.slots.size(); ++b)
    if (plan.slots[b] > 1)
      change("one version fewer: " + plan.bound.buffers[b].name, [&](Plan &p) { --p.slots[b]; });
  return result;
}

} // namespace penstock::fuzz
