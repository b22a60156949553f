//===- PlanSearch.cpp - Earliest positions that an event leads to ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Plan/PlanSearch.h"

#include <algorithm>

namespace penstock::sched::verifier {

Ways::Ways(const Plan &plan)
    : onward(plan.roles.size()), waits(plan.barriers.size()), drained(plan.barriers.size()) {
  for (unsigned r = 0; r < plan.roles.size(); ++r) {
    const PlanRole &role = plan.roles[r];
    for (size_t p = 0; p < role.points.size(); ++p)
      switch (const PlanPoint &point = role.points[p]; point.kind) {
      case PlanPoint::WaitBarrier:
        waits[point.barrier].push_back({r, p});
        break;
      case PlanPoint::Join:
      case PlanPoint::Arrive:
      case PlanPoint::Expect:
      case PlanPoint::Commit:
      case PlanPoint::Fence:
        onward[r].push_back(p);
        break;
      case PlanPoint::Issue:
      case PlanPoint::WaitGroup:
        break;
      }
    for (size_t p = 0; p < role.drain.size(); ++p)
      if (role.drain[p].kind == PlanPoint::WaitBarrier)
        drained[role.drain[p].barrier].push_back({r, p});
  }
}

Search::Search(const Plan &plan, const Ways &ways, Thread first, Thread last, int64_t lastIteration,
               Known known, bool drain)
    : plan(plan), ways(ways), first(first), last(last), lastIteration(lastIteration), known(known),
      drain(drain), states(plan.roles.size() * threadsOfRole * fenceSets) {}

At Search::position(unsigned role, size_t point, int64_t iteration) const {
  return {iteration + plan.roles[role].points[point].stage, int64_t(point)};
}

bool Search::exists(const PlanPoint &point, int64_t iteration) const {
  if (iteration < 0 || iteration > lastIteration)
    return false;
  if (!conditional(point))
    return true;
  Guard holds;
  if (iteration == 0 && known.atFirst)
    holds = *known.atFirst;
  if (iteration == lastIteration && known.atLast)
    holds.insert(holds.end(), known.atLast->begin(), known.atLast->end());
  return implies(holds, plan.bound.statements[point.at].guard);
}

int64_t Search::earliest(unsigned role, size_t index, Reached from) const {
  const PlanPoint &point = plan.roles[role].points[index];
  At after = from.at;
  // The first instance that exists leads to everything that later ones lead to.
  auto follows = [&](int64_t k) {
    return k >= from.floor && exists(point, k) && position(role, index, k) > after;
  };
  if (conditional(point)) {
    if (follows(0))
      return 0;
    return follows(lastIteration) ? lastIteration : -1;
  }
  if (after.step >= drainStep)
    return -1;
  int64_t k = std::max(from.floor, after.step - point.stage);
  if (position(role, index, k) <= after)
    ++k;
  return follows(k) ? k : -1;
}

void Search::reach(Thread thread, unsigned fences, At at, int64_t iteration) {
  Reached now{at, reentered ? iteration : 0};
  auto follows = [](const Reached &later, const Reached &from) {
    return from.at <= later.at && from.floor <= later.floor;
  };
  std::vector<Reached> &known = states[stateOf(thread, fences)];
  for (const Reached &from : known)
    if (follows(now, from))
      return;
  std::erase_if(known, [&](const Reached &later) { return follows(later, now); });
  known.push_back(now);
  work.push_back({thread, fences, now});
  if (!missing || thread.role != last.role || at >= aim || now.floor > aimIteration ||
      (fences & asked) != asked)
    return;
  missing &= ~(1u << thread.number);
  done = missing == 0;
}

void Search::reachAll(unsigned role, const PlanPoint &point, unsigned fences, At at,
                      int64_t iteration) {
  for (unsigned t = 0; t < threadsOfRole; ++t)
    if (runsIn(point, t))
      reach({role, t}, fences, at, iteration);
}

void Search::startAfter(Thread thread, size_t point, int64_t iteration) {
  reach(thread, 0, position(thread.role, point, iteration), iteration);
}

void Search::startAtToken(BarrierId barrier, int64_t token, unsigned fences, bool orLater) {
  for (auto [r, p] : ways.waits[barrier]) {
    const PlanPoint &point = plan.roles[r].points[p];
    if (int64_t k = token + point.distance; exists(point, k))
      reachAll(r, point, fences, position(r, p, k), k);
  }
  if (!drain)
    return;
  for (auto [r, p] : ways.drained[barrier]) {
    const PlanPoint &point = plan.roles[r].drain[p];
    int64_t awaited = lastIteration - point.distance;
    if (awaited == token || (orLater && awaited > token))
      reachAll(r, point, fences, {drainStep, int64_t(p)}, lastIteration);
  }
}

/// Ends by counting groups. Commits run in every step, so the number of groups
/// between two positions does not depend on the iteration.
void Search::startAtGroups(size_t issue, bool writes) {
  const PlanRole &role = plan.roles[first.role];
  const PlanPoint &from = role.points[issue];
  Engine engine = plan.bound.statements[from.at].executedBy;
  bool counted = mechanismOf(engine).ends == Mechanism::Groups;
  At start = position(first.role, issue, 0);
  std::vector<int64_t> commits; // positions within a step
  for (size_t p = 0; p < role.points.size(); ++p) {
    const PlanPoint &point = role.points[p];
    if (point.kind == PlanPoint::Commit && point.barrier == none && point.engine == engine &&
        runsIn(point, first.number))
      commits.push_back(int64_t(p));
  }
  if (counted && commits.empty())
    return;
  // Groups that are closed after the issue and before a position; the first of them
  // is the statement's own.
  auto closed = [&](At at) {
    int64_t count = 0;
    for (int64_t c : commits) {
      int64_t low = start.step + (c > start.index ? 0 : 1);
      int64_t high = at.step - (c < at.index ? 0 : 1);
      count += std::max<int64_t>(0, high - low + 1);
    }
    return count;
  };
  auto waits = [&](const PlanPoint &wait) {
    return wait.kind == PlanPoint::WaitGroup && wait.engine == engine &&
           runsIn(wait, first.number) && !(wait.readsOnly && writes);
  };
  auto ends = [&](const PlanPoint &wait, At at) {
    return at > start && (!counted || closed(at) > wait.pending);
  };
  // Threads count alike, so that all of a warpgroup know at the same point.
  bool byWarpgroup = engine == Engine::Wgmma && role.warps == 4;
  auto learn = [&](const PlanPoint &wait, At at, int64_t k) {
    if (byWarpgroup)
      reachAll(first.role, wait, 0, at, k);
    else
      reach(first, 0, at, k);
  };
  for (size_t p = 0; p < role.points.size(); ++p)
    for (int64_t k = 0; waits(role.points[p]) && k <= lastIteration; ++k)
      if (At at = position(first.role, p, k);
          exists(role.points[p], k) && ends(role.points[p], at)) {
        learn(role.points[p], at, k);
        break;
      }
  // The steps after the last iteration close groups, too.
  for (size_t p = 0; drain && p < role.drain.size(); ++p)
    if (waits(role.drain[p]) && ends(role.drain[p], {lastIteration + plan.numStages(), -1}))
      learn(role.drain[p], {drainStep, int64_t(p)}, lastIteration);
}

void Search::startAtEndOf(size_t issue, bool writes) {
  const PlanRole &role = plan.roles[first.role];
  const PlanPoint &from = role.points[issue];
  Engine engine = plan.bound.statements[from.at].executedBy;
  switch (mechanismOf(engine).ends) {
  case Mechanism::AtIssue:
    return startAfter(first, issue, 0);
  case Mechanism::Bytes:
    if (from.barrier != none)
      startAtToken(from.barrier, 0, 0, false);
    return;
  case Mechanism::Groups:
  case Mechanism::WaitAll:
    startAtGroups(issue, writes);
    break;
  case Mechanism::Committed:
    break;
  }
  for (size_t p = 0; p < role.points.size(); ++p) {
    const PlanPoint &commit = role.points[p];
    if (commit.kind != PlanPoint::Commit || commit.barrier == none || commit.engine != engine ||
        !runsIn(commit, first.number))
      continue;
    unsigned fences = engine == Engine::Tcgen05Mma ? bitOf(FenceKind::TensorBefore) : 0;
    if (int64_t token = earliest(first.role, p, {position(first.role, issue, 0)}); token >= 0)
      startAtToken(commit.barrier, token, fences, true);
  }
}

void Search::pass(Thread thread, unsigned fences, const PlanPoint &point, int64_t iteration,
                  At at) {
  switch (point.kind) {
  case PlanPoint::Join:
    return reachAll(thread.role, point, fences, at, iteration);
  case PlanPoint::Arrive:
  case PlanPoint::Expect:
    return startAtToken(point.barrier, iteration, fences, true);
  case PlanPoint::Fence: {
    bool later = point.fence == FenceKind::TensorAfter;
    // The fence of the later thread pairs with one before it on the path.
    if (later && (at >= aim || !(fences & bitOf(FenceKind::TensorBefore))))
      return;
    if (thread == (later ? last : first))
      reach(thread, fences | bitOf(point.fence), at, iteration);
    return;
  }
  case PlanPoint::Issue:
  case PlanPoint::WaitGroup:
  case PlanPoint::WaitBarrier:
    return;
  case PlanPoint::Commit:
    if (commitsLead && point.barrier != none)
      startAtToken(point.barrier, iteration, fences, true);
    return;
  }
}

void Search::run() {
  while (!work.empty() && !done) {
    auto [thread, fences, from] = work.back();
    work.pop_back();
    const PlanRole &role = plan.roles[thread.role];
    for (size_t p : ways.onward[thread.role]) {
      const PlanPoint &point = role.points[p];
      if (!runsIn(point, thread.number))
        continue;
      if (int64_t k = earliest(thread.role, p, from); k >= 0)
        pass(thread, fences, point, k, position(thread.role, p, k));
    }
    for (size_t p = 0; drain && p < role.drain.size(); ++p)
      if (At at{drainStep, int64_t(p)}; at > from.at && runsIn(role.drain[p], thread.number))
        pass(thread, fences, role.drain[p], lastIteration, at);
  }
}

bool Search::reached(Thread thread, size_t point, int64_t iteration, unsigned fences) const {
  At at = position(thread.role, point, iteration);
  for (unsigned set = 0; set < fenceSets; ++set)
    for (const Reached &from : states[stateOf(thread, set)])
      if ((set & fences) == fences && from.at < at && from.floor <= iteration)
        return true;
  return false;
}

bool Search::reachedDrain(Thread thread, size_t point) const {
  for (unsigned set = 0; set < fenceSets; ++set)
    for (const Reached &from : states[stateOf(thread, set)])
      if (from.at < At{drainStep, int64_t(point)})
        return true;
  return false;
}

bool Search::reachedEnd() const {
  return std::any_of(states.begin(), states.end(),
                     [](const auto &known) { return !known.empty(); });
}

bool Search::reachedEnd(Thread thread) const {
  for (unsigned set = 0; set < fenceSets; ++set)
    if (!states[stateOf(thread, set)].empty())
      return true;
  return false;
}

} // namespace penstock::sched::verifier
