//===- Plan.h - Synchronization plans of roles ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan is a schedule together with all of its synchronization: each role is a
// list of points in program order, and a back end emits one instruction sequence
// per point and decides nothing else. A skewed pipeline is a plan with one role, a
// warp-specialized one has several.
//
//   Plan plan = derive(problem, schedule, roles);    // Derive.cpp
//   if (!plan.diagnostics.empty()) ..                 // cannot be synchronized
//   std::vector<Uncovered> gaps = uncovered(plan);    // VerifyPlan.cpp: must be empty
//   for (const PlanPoint &point : plan.roles[r].points)
//     emit(point);                                    // at its stage, in this order
//
// Derive.cpp and VerifyPlan.cpp share no code, and neither sees MLIR.
//
// Execution. The loop has n iterations, 0 <= n. Point p of a role runs iteration k
// in step k + p.stage, 0 <= k < n. Within a step, points run in the order of
// `points`. A role is a group of threads with one leader (the elected thread): a
// point runs in all of its threads, or in the leader only. After the last step a
// role runs the points of `drain` once; then all threads of all roles meet.
//
// Happens-before. Two instances are ordered if a path of these edges leads from the
// first to the second:
//
// - program order of one thread;
// - Join: from all threads of the role to all threads of the role;
// - Arrive and Expect on a barrier, iteration k, in each thread that runs it: to
//   every WaitBarrier on it that awaits token k, in each thread that runs that;
// - the end of an asynchronous statement, to the instances that observe it:
//     an Issue with a barrier (TMA load) ends before a wait for token k of it;
//     a Commit with a barrier ends all that its engine was issued before it by the
//     same thread, before a wait for token k;
//     a WaitGroup ends what the same thread committed, but for the `pending` latest
//     groups. Commits without a barrier run in *every* step of the loop: where
//     their iteration does not exist, the group is empty. So `pending` is one number
//     for head, steady loop and tail. A wgmma is one operation of a warpgroup: in a role
//     of four warps, each thread's WaitGroup ends it for all of them.
//
// - between two asynchronous accesses to shared or global memory, and for the phases
//   of barriers: from a Commit with a barrier, iteration k, to every wait for token k.
//   The commit arrives after it has been executed, which is enough where no thread
//   reads or writes: the arrival publishes nothing that the thread wrote before.
//
// A loop that is entered again numbers its tokens on: the phases of its barriers do
// not start anew. All threads have met before, so no wait is left over.
//
// A path needs a fence where two paths to memory meet (FenceKind). A point that
// exists only under a condition is counted only where its condition follows from
// the conditions of the two statements (see uncovered).
//
// Waits, commits and fences that the user wrote decide which schedules are legal
// and how many versions buffers have. They are Issue points without effect: the
// plan has synchronization of its own.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PLAN_PLAN_H
#define PENSTOCK_SCHEDULING_PLAN_PLAN_H

#include "Scheduling/Problem/Problem.h"
#include "Scheduling/Protocol/Roles.h"
#include "Scheduling/Schedule/Modulo.h"

namespace penstock::sched {

using BarrierId = unsigned;

/// Which ordering a Fence point adds to a path.
enum class FenceKind {
  /// fence.proxy.async: generic accesses to shared or global memory before accesses
  /// through the async proxy. Executed by the threads of the generic access, after
  /// it and before they synchronize.
  Proxy,
  /// wgmma.fence: register accesses of a thread before a wgmma that uses them.
  Registers,
  /// tcgen05.fence::before_thread_sync, by the threads of the earlier access to
  /// tensor memory. A Commit implies it.
  TensorBefore,
  /// tcgen05.fence::after_thread_sync, by the threads of the later access.
  TensorAfter
};

struct PlanPoint {
  enum Kind {
    /// Statement `at`. A TMA load signals `barrier` with `bytes`. Runs under the
    /// statement's guard.
    Issue,
    /// Waits for all groups of `engine` that this thread committed, but for the
    /// `pending` latest; `readsOnly`: only until their sources have been read
    /// (cp.async.bulk.wait_group.read). For tcgen05.ld and .st, which have no groups:
    /// tcgen05.wait::ld and ::st.
    WaitGroup,
    /// Waits until token k - distance of `barrier` is complete. Skipped in
    /// iterations k < distance. Slot (k - distance) mod slots, parity of phase
    /// (k - distance) / slots.
    WaitBarrier,
    /// One arrival of the leader on `barrier` that announces `bytes`
    /// (mbarrier.arrive.expect_tx). Runs in every iteration: a copy whose guard does
    /// not hold takes its bytes off the sum.
    Expect,
    /// Arrives on `barrier`, once per thread that runs it; `count` arrivals in all.
    Arrive,
    /// Without a barrier: closes a group of `engine`, in every step of the loop.
    /// With a barrier: arrives on it when all of `engine` that this thread has
    /// issued is complete (tcgen05.commit, cp.async.mbarrier.arrive.noinc).
    Commit,
    /// The fence named by `fence`.
    Fence,
    /// bar.sync of all threads of the role.
    Join
  };
  Kind kind = Issue;
  /// The statement that is issued, or the one that the point serves: source
  /// location, and guard if `guarded`.
  StatementId at = none;
  BarrierId barrier = none;
  /// Iteration k runs in step k + stage.
  int64_t stage = 0;
  /// WaitBarrier: iteration k awaits token k - distance.
  int64_t distance = 0;
  /// WaitGroup: how many of the latest groups may still be in flight.
  int64_t pending = 0;
  /// Arrive, Expect, Commit with a barrier: arrivals per token.
  int64_t count = 0;
  /// Issue of a TMA load: its bytes. Expect: bytes of the token.
  int64_t bytes = 0;
  /// WaitGroup and Commit: whose groups.
  Engine engine = Engine::Threads;
  FenceKind fence = FenceKind::Proxy;
  /// Runs in the leader only, not in all threads of the role.
  bool leader = false;
  /// WaitGroup: ends the reads of what it awaits, not the writes.
  bool readsOnly = false;
  /// Fence, Join, WaitGroup: runs only where the guard of `at` holds. Issue points
  /// always do. All points on barriers, and commits, are unconditional.
  bool guarded = false;
  friend bool operator==(const PlanPoint &, const PlanPoint &) = default;
};

/// An array of `slots` mbarriers. Token k uses slot k mod slots, and there is one
/// token per iteration.
struct PlanBarrier {
  std::string name;
  int64_t slots = 1;
  /// Arrivals of one phase over all roles: the count of mbarrier.init.
  int64_t arrivals = 0;
  /// Bytes of one phase, if every guarded copy runs.
  int64_t bytes = 0;
  friend bool operator==(const PlanBarrier &, const PlanBarrier &) = default;
};

struct PlanRole {
  std::string name;
  int64_t firstWarp = 0;
  int64_t warps = 1;
  /// Registers per thread for setmaxnreg; 0: as launched.
  int64_t registers = 0;
  /// In program order of one step; an Issue point for each statement of the role.
  std::vector<PlanPoint> points;
  /// After the last step, in order: WaitGroup, WaitBarrier (token n - 1 - distance,
  /// skipped if there is none), Fence and Join. Stages are ignored.
  std::vector<PlanPoint> drain;
};

struct Plan {
  /// The loop, with engines, proxies and holders.
  Problem bound;
  /// Slots per buffer: iteration k uses slot k mod slots.
  std::vector<int64_t> slots;
  std::vector<PlanBarrier> barriers;
  std::vector<PlanRole> roles;
  /// Straight code: a loop that has exactly one iteration.
  bool straight = false;
  /// Why there is no plan; the rest is meaningless if there is one.
  std::vector<Diagnostic> diagnostics;

  /// One more than the largest stage of a point.
  int64_t numStages() const;
};

/// Warps of each role, by role; absent: one warp each.
struct RoleSizes {
  std::vector<int64_t> firstWarp, warps;
};

/// Adds all synchronization to a schedule. \p schedule must be legal. With one role
/// the plan is a skewed pipeline. A role assignment without entries means one role.
Plan derive(const Problem &, const Schedule &, const RoleAssignment & = {}, const RoleSizes & = {});

/// The same for straight code: statements run once, in source order.
Plan deriveStraight(const Problem &, const RoleAssignment & = {}, const RoleSizes & = {});

/// A conflict that a plan does not order for some number of iterations.
struct Uncovered {
  enum Kind {
    /// `first` of iteration k may still run, or not be visible, when `second` of
    /// iteration k + distance is issued.
    Conflict,
    /// The same, but only a fence is missing: `fence`.
    MissingFence,
    /// `first`, or the arrival of its commit, may be in flight when all roles have run their
    /// drains: no thread knows that it has ended.
    InFlight,
    /// A wait on `barrier` may return for the wrong phase: tokens `slots` apart are
    /// not kept apart.
    Phase,
    /// A point contradicts the plan: bytes or arrivals that do not add up, an index
    /// out of range, a condition on a barrier.
    Malformed
  };
  Kind kind = Conflict;
  StatementId first = none;
  StatementId second = none;
  int64_t distance = 0;
  BufferId buffer = none;
  BarrierId barrier = none;
  FenceKind fence = FenceKind::Proxy;
  std::string what; ///< in words, without source locations
};

/// The verifier: everything that conflicts is ordered, for every number of
/// iterations, every timing and every thread. Empty: the plan is right.
///
/// A requirement is a conflicting pair (first of iteration k, second of iteration
/// k + d): the end of the first, in every thread that takes part, happens before the
/// issue of the second in every thread that takes part. With equal holders, and for
/// registers, it is asked of equal threads only.
///
/// Existence. Both statements exist, so iterations k .. k + d do, and no others are
/// certain: a point is counted at these iterations only. A guarded point is counted
/// in iteration k if the guard of the first implies its guard, in iteration k + d if
/// that of the second does, with d = 0 if both together do, and in no other.
///
/// The end of the loop is checked for a last iteration at every distance from the
/// end up to `drainBound`, by enumeration.
std::vector<Uncovered> uncovered(const Plan &);

/// A gap as a diagnostic (PlanUncovered) with the source lines of both statements.
Diagnostic describe(const Plan &, const Uncovered &);

/// Is \ref uncovered empty? Stops at the first gap.
bool isCovered(const Plan &);

/// The same where roles do not meet between two runs of the loop: tokens and slots go on,
/// and a role begins the next run when its own part of this one has ended. A wait for
/// token k - distance then counts tokens of earlier runs, too. Sound, not complete.
bool isCoveredIfReentered(const Plan &);

/// Returns whether a role knows, after its own part of the loop, that all accesses to shared memory
/// have ended: each is its own, or a thread of it has waited for the end; \p inEach: each thread of
/// it knows. Sound, not complete.
bool endsInRole(const Plan &, size_t role, bool inEach = false);

/// Returns true if each thread knows, after its own part of the loop, that all that engines do has
/// ended.
/// Sound, not complete.
bool endsInAllThreads(const Plan &);

/// Largest number of iterations before the end for which the drain is checked.
int64_t drainBound(const Plan &);

/// The barriers and roles of a plan for checkRoles and checkParity: each wait is a link
/// from the arrivals on its barrier.
RoleSystem systemOf(const Plan &);

/// Returns how many groups may be in flight at iteration \p k of a WaitGroup in a loop of
/// \p n iterations that leaves out empty groups. 0 waits for all of them.
int64_t pendingAt(const Plan &, unsigned role, size_t point, int64_t k, int64_t n);

/// One line per point, for tests and `explain`.
std::string printPlan(const Plan &);
std::string printPoint(const Plan &, const PlanPoint &);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PLAN_PLAN_H
