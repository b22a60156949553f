//===- PlanSearch.h - Earliest positions that an event leads to -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to VerifyPlan.cpp. A search in the event graph of a plan from one instance,
// for all trip counts at once. It rests on two facts. Program order makes all later
// positions of a thread reachable, so the earliest one per thread and set of fences
// is all that counts. And more iterations only add instances and edges, so the loop
// that has just the iterations between the two statements is the worst one.
//
// Three threads of a role are followed: the leader and two others. Points treat all
// other threads alike, so two of them stand for any two.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PLAN_PLANSEARCH_H
#define PENSTOCK_SCHEDULING_PLAN_PLANSEARCH_H

#include "Scheduling/Plan/Mechanisms.h"
#include "Scheduling/Plan/Plan.h"

#include <compare>
#include <vector>

namespace penstock::sched::verifier {

constexpr unsigned threadsOfRole = 3; ///< 0 is the leader
constexpr unsigned fenceSets = 16;

inline unsigned bitOf(FenceKind kind) { return 1u << unsigned(kind); }

/// A position in the program order of a role, relative to iteration 0 of the
/// instance that the search starts from.
struct At {
  int64_t step = 0;
  int64_t index = 0;
  friend auto operator<=>(const At &, const At &) = default;
};
/// From where on a thread has been reached: positions after `at`, of iterations from
/// `floor` on.
struct Reached {
  At at;
  int64_t floor = 0;
};
constexpr At never{INT64_MAX, 0};
/// The step of the points of `drain`.
constexpr int64_t drainStep = INT64_MAX - 1;

struct Thread {
  unsigned role = 0;
  unsigned number = 0;
  friend bool operator==(const Thread &, const Thread &) = default;
};

inline bool runsIn(const PlanPoint &point, unsigned thread) { return !point.leader || thread == 0; }

/// Guards that hold in the first and in the last iteration of a search.
struct Known {
  const Guard *atFirst = nullptr;
  const Guard *atLast = nullptr;
};

/// The points of a plan that order leads through, listed once for all searches in it.
struct Ways {
  explicit Ways(const Plan &plan);
  struct Wait {
    unsigned role;
    size_t point;
  };
  std::vector<std::vector<size_t>> onward;       ///< by role: joins, arrivals, commits, fences
  std::vector<std::vector<Wait>> waits, drained; ///< by barrier, of the loop and of its drain
};

class Search {
public:
  /// \p first executes what the search starts from, \p last what it is to reach; both
  /// matter for fences only. Iterations 0 .. \p lastIteration exist, and no others
  /// are certain. With \p drain, the loop ends after them.
  Search(const Plan &plan, const Ways &ways, Thread first, Thread last, int64_t lastIteration,
         Known known, bool drain);

  /// Between any two iterations the loop may end and be entered again, without a barrier
  /// of all roles. A role then finishes all points of earlier iterations first, so only
  /// order that leads from an iteration to itself or to later ones holds in any case.
  void mayBeReentered() { reentered = true; }
  /// Execution order is enough: commits lead to the waits for them.
  void followCommits() { commitsLead = true; }
  /// Fences of the later thread count only before this instance of it. The search ends when
  /// \p threads, a set of bits, have been reached before it with all of \p fences.
  void aimAt(size_t point, int64_t iteration, unsigned threads, unsigned fences) {
    aim = position(last.role, point, iteration);
    aimIteration = iteration;
    missing = threads;
    asked = fences;
  }
  /// The search starts after iteration \p iteration of a point, in a thread.
  void startAfter(Thread thread, size_t point, int64_t iteration);
  /// It starts where the effects of iteration 0 of a statement end.
  void startAtEndOf(size_t issue, bool writes);
  /// It starts where threads know that token \p token of a barrier is complete, or
  /// with \p orLater where the drain knows it of a later token.
  void startAtToken(BarrierId barrier, int64_t token, unsigned fences, bool orLater);
  void run();

  /// Has a path with all of \p fences reached the thread before this instance?
  bool reached(Thread thread, size_t point, int64_t iteration, unsigned fences) const;
  /// Has one reached the thread before this point of its drain?
  bool reachedDrain(Thread thread, size_t point) const;
  /// Has one reached the end of any thread, or of this one?
  bool reachedEnd() const;
  bool reachedEnd(Thread thread) const;

private:
  At position(unsigned role, size_t point, int64_t iteration) const;
  bool exists(const PlanPoint &point, int64_t iteration) const;
  bool conditional(const PlanPoint &point) const {
    return point.guarded && !plan.bound.statements[point.at].guard.empty();
  }
  /// The earliest iteration of a point after a position, or -1.
  int64_t earliest(unsigned role, size_t point, Reached after) const;
  /// At \p at, by a point of iteration \p iteration.
  void reach(Thread thread, unsigned fences, At at, int64_t iteration);
  void reachAll(unsigned role, const PlanPoint &point, unsigned fences, At at, int64_t iteration);
  void pass(Thread thread, unsigned fences, const PlanPoint &point, int64_t iteration, At at);
  void startAtGroups(size_t issue, bool writes);
  size_t stateOf(Thread thread, unsigned fences) const {
    return (thread.role * threadsOfRole + thread.number) * fenceSets + fences;
  }

  const Plan &plan;
  const Ways &ways;
  const Thread first, last;
  const int64_t lastIteration;
  const Known known;
  const bool drain;
  At aim = never;
  int64_t aimIteration = 0;
  unsigned missing = 0; ///< threads at which the search aims and that it has not reached
  unsigned asked = 0;
  bool done = false;
  bool commitsLead = false;
  bool reentered = false;
  /// By thread and fences. None follows from another one: there is at most one unless the
  /// loop is reentered.
  std::vector<std::vector<Reached>> states;
  struct Work {
    Thread thread;
    unsigned fences;
    Reached from;
  };
  std::vector<Work> work;
};

} // namespace penstock::sched::verifier

#endif // PENSTOCK_SCHEDULING_PLAN_PLANSEARCH_H
