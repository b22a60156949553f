//===- SyncOracleTest.cpp - Plans whose faults are known ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans written by hand, small enough to see what is wrong with them, so that the
// oracle that the verifier is compared with can be trusted itself.
//
//===----------------------------------------------------------------------===//
#include "SyncOracle.h"

#include "gtest/gtest.h"

using namespace penstock;
using namespace penstock::fuzz;
using namespace penstock::sched;

namespace {

using Conflict = std::tuple<unsigned, unsigned, unsigned>;

/// Two statements on one buffer with one slot: the first writes, the second reads.
class TwoStatements {
public:
  TwoStatements(Engine first, Engine second, Space space = Space::Shared) {
    Buffer buffer;
    buffer.name = "tile";
    buffer.space = space;
    plan.bound.buffers.push_back(buffer);
    plan.slots = {1};
    plan.roles.push_back({});
    add(first, true);
    add(second, false);
  }

  PlanPoint &point(PlanPoint::Kind kind, StatementId at = 0) {
    PlanPoint p;
    p.kind = kind;
    p.at = at;
    p.leader = kind == PlanPoint::Issue && byLeader(plan.bound.statements[at].executedBy);
    plan.roles[0].points.push_back(p);
    return plan.roles[0].points.back();
  }
  SyncFaults faults() const { return checkInstances(plan); }

  Plan plan;

private:
  static bool byLeader(Engine e) {
    return e == Engine::TmaLoad || e == Engine::TmaStore || e == Engine::Tcgen05Mma;
  }
  void add(Engine engine, bool write) {
    Statement s;
    s.name = write ? "write" : "read";
    s.executedBy = engine;
    Access a;
    a.buffer = 0;
    a.write = write;
    bool async = engine == Engine::TmaLoad || engine == Engine::TmaStore || engine == Engine::Wgmma;
    a.proxy = async ? Proxy::Async : Proxy::Generic;
    s.accesses.push_back(a);
    plan.bound.statements.push_back(s);
  }
};

TEST(SyncOracle, ThreadsMustMeetTwice) {
  TwoStatements two(Engine::Threads, Engine::Threads);
  two.point(PlanPoint::Issue, 0);
  two.point(PlanPoint::Join);
  two.point(PlanPoint::Issue, 1);
  // A slow thread may still read the tile that the next iteration writes.
  EXPECT_EQ(two.faults().conflicts, (std::set<Conflict>{{1, 0, 0}}));
  two.point(PlanPoint::Join);
  EXPECT_FALSE(two.faults().any());
}

TEST(SyncOracle, EqualHoldersNeedNoJoin) {
  TwoStatements two(Engine::Threads, Engine::Threads);
  two.point(PlanPoint::Issue, 0);
  two.point(PlanPoint::Issue, 1);
  EXPECT_EQ(two.faults().conflicts, (std::set<Conflict>{{0, 0, 0}, {0, 1, 0}, {1, 0, 0}}));
  for (Statement &s : two.plan.bound.statements)
    s.accesses[0].holder = 3;
  EXPECT_FALSE(two.faults().any());
}

TEST(SyncOracle, FencesAreTheWriters) {
  TwoStatements two(Engine::Threads, Engine::TmaStore);
  PlanPoint wait;
  wait.kind = PlanPoint::WaitGroup;
  wait.engine = Engine::TmaStore;
  wait.leader = wait.readsOnly = true;
  two.plan.roles[0].points.push_back(wait);
  two.point(PlanPoint::Join);
  two.point(PlanPoint::Issue, 0);
  two.point(PlanPoint::Fence).fence = FenceKind::Proxy;
  two.point(PlanPoint::Join);
  two.point(PlanPoint::Issue, 1);
  PlanPoint &commit = two.point(PlanPoint::Commit, 1);
  commit.engine = Engine::TmaStore;
  commit.leader = true;
  EXPECT_EQ(two.faults().inFlight, (std::set<unsigned>{1})); // the last store
  two.plan.roles[0].drain.push_back(wait);
  EXPECT_FALSE(two.faults().any());
  // A fence of the leader does not publish what the others wrote.
  two.plan.roles[0].points[3].leader = true;
  EXPECT_EQ(two.faults().conflicts, (std::set<Conflict>{{0, 1, 0}}));
  // Neither does one after threads have met.
  two.plan.roles[0].points[3].leader = false;
  std::swap(two.plan.roles[0].points[3], two.plan.roles[0].points[4]);
  EXPECT_EQ(two.faults().conflicts, (std::set<Conflict>{{0, 1, 0}}));
}

TEST(SyncOracle, LoadsEndAtTheirBarrier) {
  TwoStatements two(Engine::TmaLoad, Engine::Threads);
  two.plan.barriers.push_back({"full", 1, 1, 128});
  PlanPoint &expect = two.point(PlanPoint::Expect);
  expect.barrier = 0;
  expect.leader = true;
  two.point(PlanPoint::Issue, 0).barrier = 0;
  two.point(PlanPoint::WaitBarrier, 1).barrier = 0;
  two.point(PlanPoint::Issue, 1);
  two.point(PlanPoint::Fence, 1).fence = FenceKind::Proxy; // generic reads, then a copy
  two.point(PlanPoint::Join);
  EXPECT_FALSE(two.faults().any());
  // Only the leader knows that the tile is there.
  two.plan.roles[0].points[2].leader = true;
  EXPECT_EQ(two.faults().conflicts, (std::set<Conflict>{{0, 1, 0}}));
  // Without the join, the leader can start a phase that others have not seen end.
  two.plan.roles[0].points[2].leader = false;
  two.plan.roles[0].points.pop_back();
  EXPECT_EQ(two.faults().phases, (std::set<unsigned>{0}));
}

TEST(SyncOracle, GroupsAreCounted) {
  for (int64_t pending : {0, 1}) {
    TwoStatements two(Engine::CpAsync, Engine::Threads);
    two.plan.slots = {2};
    two.point(PlanPoint::Issue, 0);
    two.point(PlanPoint::Commit, 0).engine = Engine::CpAsync;
    PlanPoint &wait = two.point(PlanPoint::WaitGroup, 1);
    wait.engine = Engine::CpAsync;
    wait.pending = pending;
    wait.stage = 1;
    two.point(PlanPoint::Join, 1).stage = 1;
    two.point(PlanPoint::Issue, 1).stage = 1;
    two.point(PlanPoint::Join, 1).stage = 1;
    // One group is younger than the one that is read; the tail commits empty groups.
    EXPECT_FALSE(two.faults().any()) << pending;
    ++two.plan.roles[0].points[2].pending;
    EXPECT_EQ(two.faults().any(), pending == 1);
  }
}

} // namespace
