//===- VerifyPlan.cpp - Does a plan order everything that conflicts -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifier of plans. It states what must be ordered and asks CoverSearch
// whether it is. It does not use the code that derives plans.
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Plan/PlanChecks.h"
#include "Scheduling/Plan/PlanForm.h"
#include "Scheduling/Plan/PlanSearch.h"

#include <algorithm>
#include <optional>

namespace penstock::sched {
namespace {

using namespace verifier;

/// The point that issues a statement.
struct Issued {
  unsigned role = none;
  size_t point = 0;
};

class Cover {
public:
  Cover(const Plan &plan, const LoopModel &model, bool reentered = false)
      : plan(plan), problem(plan.bound), model(model), ways(plan), reentered(reentered) {
    issued.resize(problem.statements.size());
    for (unsigned r = 0; r < plan.roles.size(); ++r)
      for (size_t p = 0; p < plan.roles[r].points.size(); ++p) {
        const PlanPoint &point = plan.roles[r].points[p];
        guardedPoints |= point.guarded;
        if (point.kind == PlanPoint::Issue)
          issued[point.at] = {r, p};
      }
  }

  std::vector<Uncovered> run(bool firstOnly) {
    checkConflicts(firstOnly);
    auto go = [&] { return !firstOnly || found.empty(); };
    for (StatementId s = 0; go() && s < problem.statements.size(); ++s)
      checkDrain(s);
    for (const PlanRole &role : plan.roles)
      for (size_t p = 0; go() && !problem.enteredOnce && !reentered && p < role.points.size(); ++p)
        checkArrival(role.points[p]);
    for (BarrierId b = 0; go() && b < plan.barriers.size(); ++b)
      checkPhases(b);
    return std::move(found);
  }
  bool checkConflicts(bool firstOnly) {
    // A plan that lacks a point often has the gap that it had without another one.
    if (firstOnly && suspect && suspect->pair < model.pairs.size())
      checkPair(model.pairs[suspect->pair]);
    for (size_t p = 0; (!firstOnly || found.empty()) && p < model.pairs.size(); ++p) {
      checkPair(model.pairs[p]);
      if (suspect && !found.empty())
        suspect->pair = p;
    }
    return found.empty();
  }
  /// Begins with the conflict that was not ordered the last time.
  Cover &suspecting(Suspect *last) {
    suspect = last;
    return *this;
  }
  bool keepsPhases(BarrierId b, std::string &what);
  bool endsIn(unsigned role, bool inEach);
  bool endsForAll();
  /// Whatever follows the end of a statement, from each thread that issues it and in each of the
  /// last iterations, satisfies \p isKnown.
  template <typename Fn> bool endIsKnown(StatementId s, Fn isKnown);

private:
  void checkPair(const Pair &pair);
  bool checkAt(const Pair &pair, int64_t d);
  void checkDrain(StatementId s);
  void checkArrival(const PlanPoint &commit);
  void checkPhases(BarrierId b);
  std::vector<int64_t> distances(const Pair &pair) const;
  bool orderedByQueue(const Pair &pair) const;
  unsigned fencesFor(const Pair &pair, Thread from, Thread to) const;

  bool byLeader(StatementId s) const {
    return plan.roles[issued[s].role].points[issued[s].point].leader;
  }
  Search searchFrom(Thread first, Thread last, int64_t lastIteration, Known known, bool drain) {
    Search search(plan, ways, first, last, lastIteration, known, drain);
    if (reentered)
      search.mayBeReentered();
    return search;
  }
  /// The threads that stand for all of a point's.
  static std::vector<unsigned> threadsOf(const PlanPoint &point) {
    return point.leader ? std::vector<unsigned>{0} : std::vector<unsigned>{0, 1, 2};
  }

  const Plan &plan;
  const Problem &problem;
  const LoopModel &model;
  const Ways ways;
  const bool reentered; ///< without a barrier of all roles
  std::vector<Issued> issued;
  bool guardedPoints = false;
  Suspect *suspect = nullptr;
  std::vector<Uncovered> found;
};

/// Members of an in-order queue execute in the order of issue, as far as its
/// accumulators are concerned.
bool Cover::orderedByQueue(const Pair &pair) const {
  const Statement &first = problem.statements[pair.first];
  const Statement &second = problem.statements[pair.second];
  if (first.queue == none || first.queue != second.queue || !first.async || !second.async ||
      first.executedBy != second.executedBy || issued[pair.first].role != issued[pair.second].role)
    return false;
  const Queue &queue = problem.queues[first.queue];
  return queue.inOrder && std::count(queue.orders.begin(), queue.orders.end(), pair.buffer);
}

unsigned Cover::fencesFor(const Pair &pair, Thread from, Thread to) const {
  Engine first = problem.statements[pair.first].executedBy;
  Engine second = problem.statements[pair.second].executedBy;
  switch (problem.buffers[pair.buffer].space) {
  case Space::Global:
  case Space::Shared:
    return pair.firstProxy == Proxy::Generic && pair.secondProxy == Proxy::Async
               ? bitOf(FenceKind::Proxy)
               : 0;
  case Space::Local:
    return second == Engine::Wgmma && first != Engine::Wgmma ? bitOf(FenceKind::Registers) : 0;
  case Space::Tensor:
    return from == to ? 0 : bitOf(FenceKind::TensorBefore) | bitOf(FenceKind::TensorAfter);
  }
  return 0;
}

/// Without guarded points the nearest distance answers for all larger ones: the
/// second statement only runs later. With them, what exists depends on the distance
/// until whole iterations lie between the two statements.
std::vector<int64_t> Cover::distances(const Pair &pair) const {
  std::vector<int64_t> result;
  if (plan.straight)
    return pair.occursAt(0) ? std::vector<int64_t>{0} : result;
  int64_t slots = plan.slots[pair.buffer];
  int64_t enough = 0;
  if (guardedPoints) {
    enough = plan.numStages();
    for (const PlanRole &role : plan.roles)
      for (const PlanPoint &point : role.points)
        enough += point.distance + 1;
  }
  for (int64_t d = 0; d <= maxDistance; d += slots)
    if (pair.occursAt(d)) {
      result.push_back(d);
      if (d >= enough)
        break;
    }
  return result;
}

void Cover::checkPair(const Pair &pair) {
  for (int64_t d : distances(pair))
    if (!checkAt(pair, d))
      return;
}

bool Cover::checkAt(const Pair &pair, int64_t d) {
  const Issued &first = issued[pair.first], &second = issued[pair.second];
  bool queued = orderedByQueue(pair);
  Space space = problem.buffers[pair.buffer].space;
  bool registers = space == Space::Local;
  bool together = first.role == second.role && !byLeader(pair.first) && !byLeader(pair.second);
  bool sameThreads =
      together &&
      (registers || queued || (pair.firstHolder != none && pair.firstHolder == pair.secondHolder));
  auto report = [&](Uncovered::Kind kind, unsigned fences, std::string what) {
    Uncovered u;
    u.kind = kind;
    u.first = pair.first;
    u.second = pair.second;
    u.distance = d;
    u.buffer = pair.buffer;
    for (FenceKind f :
         {FenceKind::TensorAfter, FenceKind::TensorBefore, FenceKind::Registers, FenceKind::Proxy})
      if (fences & bitOf(f))
        u.fence = f;
    u.what = std::move(what);
    found.push_back(std::move(u));
    return false;
  };
  std::string names = "`" + problem.statements[pair.first].name + "` and `" +
                      problem.statements[pair.second].name + "` on `" +
                      problem.buffers[pair.buffer].name + "`";
  if (registers && first.role != second.role)
    return report(Uncovered::Conflict, 0, names + ": registers cannot be shared between roles");
  Known known{&problem.statements[pair.first].guard, &problem.statements[pair.second].guard};
  const PlanPoint &from = plan.roles[first.role].points[first.point];
  const PlanPoint &to = plan.roles[second.role].points[second.point];
  auto searched = [&](Thread a, Thread b, unsigned fences) {
    Search search = searchFrom(a, b, d, known, false);
    unsigned all = byLeader(pair.second) ? 1 : (1u << threadsOfRole) - 1;
    search.aimAt(second.point, d, fences || sameThreads ? 1u << b.number : all, fences);
    if (pair.firstProxy == Proxy::Async && pair.secondProxy == Proxy::Async &&
        (space == Space::Shared || space == Space::Global))
      search.followCommits();
    if (queued)
      search.startAfter(a, first.point, 0);
    else
      search.startAtEndOf(first.point, pair.firstWrites);
    search.run();
    return search;
  };
  for (unsigned t : threadsOf(from)) {
    std::optional<Search> common; // for all later threads from which no fence is asked
    for (unsigned u : threadsOf(to)) {
      // The two other threads are alike: (2, ..) repeats (1, ..).
      if ((sameThreads && t != u) || t == 2)
        continue;
      Thread a{first.role, t}, b{second.role, u};
      unsigned fences = queued ? 0 : fencesFor(pair, a, b);
      std::optional<Search> own;
      std::optional<Search> &usable = fences ? own : common;
      if (!usable)
        usable.emplace(searched(a, b, fences));
      const Search &search = *usable;
      if (search.reached(b, second.point, d, fences))
        continue;
      if (!search.reached(b, second.point, d, 0))
        return report(Uncovered::Conflict, 0, names + " are not ordered");
      unsigned missing = 0;
      for (unsigned f = 1; f < fenceSets; f <<= 1)
        if ((fences & f) && !search.reached(b, second.point, d, f))
          missing |= f;
      return report(Uncovered::MissingFence, missing ? missing : fences,
                    names + " are ordered without a fence");
    }
  }
  return true;
}

void Cover::checkDrain(StatementId s) {
  const Issued &at = issued[s];
  const PlanPoint &issue = plan.roles[at.role].points[at.point];
  if (mechanismOf(problem.statements[s].executedBy).ends == Mechanism::AtIssue)
    return;
  // Once the writes have ended, the reads have.
  const std::vector<Access> &accesses = problem.statements[s].accesses;
  bool writes = std::any_of(accesses.begin(), accesses.end(),
                            [](const Access &access) { return access.write; });
  for (int64_t left = 0; !accesses.empty() && left <= drainBound(plan); ++left)
    for (unsigned t : threadsOf(issue)) {
      if (t == 2)
        continue;
      Thread from{at.role, t};
      Search search = searchFrom(from, from, left, {&problem.statements[s].guard, nullptr}, true);
      search.startAtEndOf(at.point, writes);
      // Groups that are in flight when a thread begins the next run would shift its counts.
      bool own =
          reentered && mechanismOf(problem.statements[s].executedBy).ends == Mechanism::Groups;
      if (own ? search.reachedEnd(from) : search.reachedEnd())
        continue;
      Uncovered missing;
      missing.kind = Uncovered::InFlight;
      missing.first = s;
      missing.distance = left;
      missing.what = "`" + problem.statements[s].name + "` may be in flight after the loop";
      found.push_back(std::move(missing));
      return;
    }
}

template <typename Fn> bool Cover::endIsKnown(StatementId s, Fn isKnown) {
  const Issued &at = issued[s];
  for (int64_t left = 0; left <= drainBound(plan); ++left)
    for (unsigned t : threadsOf(plan.roles[at.role].points[at.point])) {
      Thread from{at.role, t};
      Search search = searchFrom(from, from, left, {&problem.statements[s].guard, nullptr}, true);
      search.startAtEndOf(at.point, /*writes=*/true);
      search.run();
      if (!isKnown(search))
        return false;
    }
  return true;
}

bool Cover::endsForAll() {
  auto toAll = [&](const Search &search) {
    for (unsigned role = 0; role < plan.roles.size(); ++role)
      for (unsigned u = 0; u < threadsOfRole; ++u)
        if (!search.reachedEnd({role, u}))
          return false;
    return true;
  };
  for (StatementId s = 0; s < problem.statements.size(); ++s)
    if (mechanismOf(problem.statements[s].executedBy).ends != Mechanism::AtIssue &&
        !endIsKnown(s, toAll))
      return false;
  return true;
}

bool Cover::endsIn(unsigned role, bool inEach) {
  auto isShared = [&](const Access &access) {
    return problem.buffers[access.buffer].space == Space::Shared;
  };
  auto toRole = [&](const Search &search) {
    unsigned known = 0;
    for (unsigned u = 0; u < threadsOfRole; ++u)
      known += search.reachedEnd({role, u});
    return inEach ? known == threadsOfRole : known > 0;
  };
  for (StatementId s = 0; s < problem.statements.size(); ++s) {
    const std::vector<Access> &accesses = problem.statements[s].accesses;
    if (std::none_of(accesses.begin(), accesses.end(), isShared))
      continue;
    bool atIssue = mechanismOf(problem.statements[s].executedBy).ends == Mechanism::AtIssue;
    if (atIssue ? inEach || issued[s].role != role : !endIsKnown(s, toRole))
      return false;
  }
  return true;
}

/// An engine arrives some time after what it completes: who knows that a copy has ended, by its
/// groups, does not know that the barrier has. An arrival that no thread awaits could come when
/// the loop is entered again.
void Cover::checkArrival(const PlanPoint &commit) {
  if (commit.kind != PlanPoint::Commit || commit.barrier == none)
    return;
  for (int64_t left = 0; left <= drainBound(plan); ++left) {
    Search search = searchFrom({}, {}, left, {}, true);
    search.startAtToken(commit.barrier, 0, 0, false);
    if (search.reachedEnd())
      continue;
    Uncovered missing;
    missing.kind = Uncovered::InFlight;
    missing.first = commit.at;
    missing.distance = left;
    missing.what = "an arrival on `" + plan.barriers[commit.barrier].name +
                   "` may be in flight after the loop";
    found.push_back(std::move(missing));
    return;
  }
}

/// Waiting by parity is exact if phases of one slot cannot be confused: all that a
/// phase waits for happens after the phase before is complete, every wait begins
/// after the phase before its own is complete, and returns before the phase after
/// its own can complete.
bool Cover::keepsPhases(BarrierId b, std::string &what) {
  if (plan.straight)
    return true; // there is one phase
  struct Use {
    unsigned role;
    size_t point;
  };
  std::vector<Use> arrivals, signals, waits;
  for (unsigned r = 0; r < plan.roles.size(); ++r)
    for (size_t p = 0; p < plan.roles[r].points.size(); ++p) {
      const PlanPoint &point = plan.roles[r].points[p];
      if (point.barrier != b)
        continue;
      if (point.kind == PlanPoint::WaitBarrier)
        waits.push_back({r, p});
      else
        (point.kind == PlanPoint::Issue ? signals : arrivals).push_back({r, p});
    }
  int64_t slots = plan.barriers[b].slots;
  std::vector<Use> sources = arrivals;
  sources.insert(sources.end(), signals.begin(), signals.end());
  auto at = [&](const Use &use) -> const PlanPoint & {
    return plan.roles[use.role].points[use.point];
  };
  // Each arrival of token 0, seen from token `slots`.
  for (const Use &source : sources)
    for (unsigned t : threadsOf(at(source))) {
      if (t == 2)
        continue;
      Thread from{source.role, t};
      auto start = [&](Search &search) {
        // An engine arrives some time after its instruction, a thread at once.
        search.followCommits();
        bool late = at(source).kind == PlanPoint::Issue || at(source).kind == PlanPoint::Commit;
        search.startAtToken(b, 0, 0, !late);
        if (!late)
          search.startAfter(from, source.point, 0);
        search.run();
      };
      auto ordered = [&](const Use &use, int64_t iteration) {
        Search search = searchFrom(from, from, iteration, {}, false);
        start(search);
        for (unsigned u : threadsOf(at(use)))
          if (!search.reached({use.role, u}, use.point, iteration, 0))
            return false;
        return true;
      };
      for (const Use &next : sources)
        if (!ordered(next, slots)) {
          what = "token k + " + std::to_string(slots) + " can arrive before token k is complete";
          return false;
        }
      for (const Use &wait : waits)
        if (!ordered(wait, slots + at(wait).distance)) {
          what = "a wait for token k + " + std::to_string(slots) +
                 " can begin before token k is complete";
          return false;
        }
      for (unsigned r = 0; r < plan.roles.size(); ++r)
        for (size_t p = 0; p < plan.roles[r].drain.size(); ++p) {
          const PlanPoint &wait = plan.roles[r].drain[p];
          if (wait.kind != PlanPoint::WaitBarrier || wait.barrier != b)
            continue;
          Search search = searchFrom(from, from, slots + wait.distance, {}, true);
          start(search);
          for (unsigned u : threadsOf(wait))
            if (!search.reachedDrain({r, u}, p)) {
              what = "a wait of the drain can begin before the token before it is complete";
              return false;
            }
        }
    }
  for (const Use &wait : waits)
    for (unsigned t : threadsOf(at(wait))) {
      if (t == 2)
        continue;
      Thread from{wait.role, t};
      int64_t distance = at(wait).distance;
      Search search = searchFrom(from, from, std::max(distance, slots), {}, false);
      search.followCommits();
      search.startAfter(from, wait.point, distance);
      search.run();
      bool held = std::any_of(arrivals.begin(), arrivals.end(), [&](const Use &arrival) {
        for (unsigned u : threadsOf(at(arrival)))
          if (search.reached({arrival.role, u}, arrival.point, slots, 0))
            return true;
        return false;
      });
      if (!held) {
        what = "token k + " + std::to_string(slots) +
               " can complete while a thread still waits for token k";
        return false;
      }
    }
  return true;
}

void Cover::checkPhases(BarrierId b) {
  Uncovered u;
  if (keepsPhases(b, u.what))
    return;
  u.kind = Uncovered::Phase;
  u.barrier = b;
  u.what = "`" + plan.barriers[b].name + "`: " + u.what;
  found.push_back(std::move(u));
}

} // namespace

int64_t Plan::numStages() const {
  int64_t stages = 1;
  for (const PlanRole &role : roles)
    for (const PlanPoint &point : role.points)
      stages = std::max(stages, point.stage + 1);
  return stages;
}

int64_t drainBound(const Plan &plan) {
  if (plan.straight)
    return 0;
  int64_t most = plan.numStages() + 1;
  for (const PlanBarrier &barrier : plan.barriers)
    most = std::max(most, barrier.slots + 2);
  for (int64_t slots : plan.slots)
    most = std::max(most, slots + 2);
  for (const PlanRole &role : plan.roles)
    for (const PlanPoint &point : role.points)
      most = std::max({most, point.distance + 2, point.pending + 2});
  return 2 * most;
}

namespace verifier {

std::vector<Uncovered> gaps(const Plan &plan, const LoopModel &model, bool firstOnly,
                            Suspect *suspect) {
  return Cover(plan, model).suspecting(suspect).run(firstOnly);
}

bool conflictsOrdered(const Plan &plan, const LoopModel &model, Suspect *suspect) {
  return Cover(plan, model).suspecting(suspect).checkConflicts(true);
}

bool phasesKept(const Plan &plan, const LoopModel &model, BarrierId barrier) {
  std::string what;
  return Cover(plan, model).keepsPhases(barrier, what);
}

} // namespace verifier

std::vector<Uncovered> uncovered(const Plan &plan) {
  // The search trusts indices, so the form comes first.
  if (std::vector<Uncovered> malformed = verifier::malformedPoints(plan); !malformed.empty())
    return malformed;
  return verifier::gaps(plan, LoopModel(plan.bound), false);
}

bool isCovered(const Plan &plan) {
  return verifier::malformedPoints(plan).empty() &&
         verifier::gaps(plan, LoopModel(plan.bound), true).empty();
}

bool isCoveredIfReentered(const Plan &plan) {
  if (plan.straight || !verifier::malformedPoints(plan).empty())
    return false;
  LoopModel model(plan.bound);
  return Cover(plan, model, /*reentered=*/true).run(/*firstOnly=*/true).empty();
}

bool endsInRole(const Plan &plan, size_t role, bool inEach) {
  if (plan.straight || !verifier::malformedPoints(plan).empty())
    return false;
  LoopModel model(plan.bound);
  return Cover(plan, model, /*reentered=*/false).endsIn(unsigned(role), inEach);
}

bool endsInAllThreads(const Plan &plan) {
  if (plan.straight || !verifier::malformedPoints(plan).empty())
    return false;
  LoopModel model(plan.bound);
  return Cover(plan, model, /*reentered=*/false).endsForAll();
}

} // namespace penstock::sched
