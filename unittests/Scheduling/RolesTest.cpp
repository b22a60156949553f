//===- RolesTest.cpp - Deadlock of roles and rings ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Diagnostics/Render.h"
#include "RandomRoles.h"
#include "RoleSimulator.h"
#include "gtest/gtest.h"

#include <chrono>
#include <iostream>

using namespace penstock;
using namespace penstock::sched;
using namespace penstock::sched::test;

namespace {

RoleEvent event(RoleEventKind kind, unsigned ring = 0, int64_t stage = 0, int64_t token = 0) {
  RoleEvent e;
  e.kind = kind;
  e.ring = ring;
  e.stage = stage;
  e.token = token;
  return e;
}

Role role(std::string name, std::vector<RoleEvent> events) {
  Role r;
  r.name = std::move(name);
  r.events = std::move(events);
  return r;
}

RoleSystem producerConsumer(int64_t slots, int64_t releaseLag) {
  RoleSystem s;
  s.rings = {{"tiles", slots}};
  s.roles = {role("load", {event(Kind::Acquire), event(Kind::Commit)}),
             role("mma", {event(Kind::Wait), event(Kind::Release, 0, releaseLag)})};
  return s;
}

std::string describe(const RoleSystem &s) {
  std::string out;
  for (const Ring &r : s.rings)
    out += r.name + "[" + std::to_string(r.slots) + "] ";
  const char *names[] = {"acq", "com", "wait", "rel", "sig", "awt"};
  for (const Role &r : s.roles) {
    out += "\n" + r.name + " x" + std::to_string(r.factor) + " least " +
           std::to_string(r.leastTrips) + "/" + std::to_string(r.innerLeastTrips) + " extra " +
           std::to_string(r.extra) + ":";
    auto print = [&](const RoleEvent &e) {
      out += std::string(" ") + names[int(e.kind)] + std::to_string(e.ring) + "." +
             std::to_string(e.token) + "@" + std::to_string(e.stage);
    };
    for (size_t i = 0; i <= r.events.size(); ++i) {
      if (i == r.innerAt && !r.inner.empty()) {
        out += " (";
        for (const RoleEvent &e : r.inner)
          print(e);
        out += " )";
      }
      if (i < r.events.size())
        print(r.events[i]);
    }
  }
  for (const Link &l : s.links)
    out += "\nlink distance " + std::to_string(l.distance);
  return out;
}

TEST(Roles, ReleaseThatTrailsNeedsAnotherSlot) {
  for (int64_t slots = 1; slots <= 4; ++slots)
    for (int64_t lag = 0; lag <= 4; ++lag) {
      // Token k is released in step k + lag, after the waits of that step. The
      // producer fills slots tokens before it needs a release.
      bool expected = lag < slots;
      EXPECT_EQ(checkRoles(producerConsumer(slots, lag)).live, expected)
          << slots << " slots, lag " << lag;
    }
}

TEST(Roles, TwoRolesThatWaitForEachOther) {
  RoleSystem s;
  s.rings = {{"there", 2}, {"back", 2}};
  s.roles = {role("a", {event(Kind::Wait, 1), event(Kind::Release, 1), event(Kind::Acquire, 0),
                        event(Kind::Commit, 0)}),
             role("b", {event(Kind::Wait, 0), event(Kind::Release, 0), event(Kind::Acquire, 1),
                        event(Kind::Commit, 1)})};
  RolesVerdict verdict = checkRoles(s);
  EXPECT_FALSE(verdict.live);
  EXPECT_EQ(verdict.reason.code, Deadlock);
  EXPECT_GE(verdict.cycle.size(), 4u);
  // One of them sends before it receives.
  std::rotate(s.roles[0].events.begin(), s.roles[0].events.begin() + 2, s.roles[0].events.end());
  EXPECT_TRUE(checkRoles(s).live);
}

TEST(Roles, PeeledCodeWithoutAGuardHangsInShortLoops) {
  RoleSystem s = producerConsumer(3, 1);
  EXPECT_TRUE(checkRoles(s).live);
  s.roles[1].leastTrips = 1; // the first wait is peeled, whatever n is
  RolesVerdict verdict = checkRoles(s);
  EXPECT_FALSE(verdict.live);
  EXPECT_EQ(verdict.reason.code, TokensUnequal);
  EXPECT_FALSE(runsCleanly(s, {}));
}

TEST(Roles, WaitForAnIterationThatMayNotExist) {
  RoleSystem s;
  s.links = {{"ahead", -1}};
  s.roles = {role("a", {event(Kind::Signal)}), role("b", {event(Kind::Await)})};
  RolesVerdict verdict = checkRoles(s);
  EXPECT_FALSE(verdict.live);
  EXPECT_EQ(verdict.reason.code, WaitsBeyondEnd);
}

TEST(Roles, DifferentTripCountsWithEqualTokens) {
  RoleSystem s = producerConsumer(2, 0);
  // The consumer takes two tiles per iteration and runs half as often.
  s.roles[1].events = {event(Kind::Wait, 0, 0, 0), event(Kind::Wait, 0, 0, 1),
                       event(Kind::Release, 0, 0, 0), event(Kind::Release, 0, 0, 1)};
  EXPECT_EQ(checkRoles(s).reason.code, TokensUnequal);
  s.roles[0].factor = 2;
  EXPECT_TRUE(checkRoles(s).live);
  s.rings[0].slots = 1; // both tiles at once need two slots
  EXPECT_FALSE(checkRoles(s).live);
}

TEST(Roles, MoreIterationsThanTheLoop) {
  RoleSystem s = producerConsumer(2, 0);
  s.roles[0].extra = 1; // the producer loads a tile that nobody takes
  EXPECT_EQ(checkRoles(s).reason.code, TokensUnequal);
  s.roles[1].extra = 1;
  EXPECT_TRUE(checkRoles(s).live);
}

TEST(Roles, DataThatDecidesIsNotAccepted) {
  RoleSystem s = producerConsumer(2, 0);
  s.outsideModel = true;
  EXPECT_FALSE(checkRoles(s).live);
  EXPECT_EQ(checkRoles(s).reason.code, RolesOutsideModel);
}

/// The graph's verdict against execution, both ways.
TEST(Roles, AgreesWithSimulation) {
  RandomRoles random(20240);
  int live = 0, dead = 0, nested = 0, several = 0, unequal = 0;
  for (int trial = 0; trial < 12000; ++trial) {
    RoleSystem s = random.system({});
    bool verdict = checkRoles(s).live;
    bool clean = true;
    std::vector<int64_t> witness;
    auto attempt = [&](std::vector<int64_t> counts, int64_t extra = 0) {
      if (clean && !runsCleanly(s, counts, extra)) {
        clean = false;
        witness = counts;
      }
    };
    int64_t slots = 0;
    for (const Ring &r : s.rings)
      slots += r.slots;
    if (!s.nested()) {
      // All trip counts up to the sum of the absolute distances + 2.
      int64_t most = 2;
      if (verdict)
        for (const GraphEdge &e : eventGraph(s).edges)
          most += std::abs(e.distance);
      else
        most += 2 * slots + 12;
      for (int64_t n = 0; n <= most && clean; ++n)
        attempt(std::vector<int64_t>(n, 0));
    } else {
      ++nested;
      for (int64_t n = 0; n <= slots + 2 && clean; ++n)
        for (int64_t tiles : {0, 1, 2, 3, 6})
          attempt(std::vector<int64_t>(tiles, n), n);
      for (int mixed = 0; mixed < 12 && clean; ++mixed) {
        std::vector<int64_t> counts(random.pick(1, 7));
        for (int64_t &c : counts)
          c = random.pick(0, random.chance(50) ? 2 : int(slots) + 1);
        attempt(counts);
      }
      if (!verdict && clean)
        for (int64_t n = 0; n <= slots + 2 && clean; ++n)
          attempt(std::vector<int64_t>(2 * slots + 10, n));
    }
    ASSERT_EQ(verdict, clean) << "trial " << trial << "\n"
                              << describe(s) << "\n"
                              << render(checkRoles(s).reason) << testing::PrintToString(witness);
    (verdict ? live : dead)++;
    unequal += !verdict && checkRoles(s).reason.code == TokensUnequal;
    for (const Role &r : s.roles)
      for (const RoleEvent &e : r.events)
        if (e.token > 0) {
          ++several;
          goto next;
        }
  next:;
  }
  std::cout << "live=" << live << " dead=" << dead << " nested=" << nested
            << " several-tokens=" << several << " unequal=" << unequal << "\n";
  EXPECT_GE(live, 2400);
  EXPECT_GE(dead - unequal, 2400);
  EXPECT_GE(nested, 1000);
  EXPECT_GE(several, 1000);
}

TEST(Roles, LargeSystemIsDecidedInMilliseconds) {
  // 8 roles in a circle, each handing 2 tokens per iteration to the next
  // through a ring of 8 slots.
  RoleSystem s;
  for (unsigned r = 0; r < 8; ++r)
    s.rings.push_back({"q" + std::to_string(r), 8});
  for (unsigned r = 0; r < 8; ++r) {
    std::vector<RoleEvent> events;
    unsigned in = (r + 7) % 8;
    for (int64_t t = 0; t < 2; ++t) {
      int64_t stage = r == 0 ? 2 : 0; // the first role starts the circle
      events.push_back(event(Kind::Wait, in, stage, t));
      events.push_back(event(Kind::Release, in, stage, t));
      events.push_back(event(Kind::Acquire, r, 0, t));
      events.push_back(event(Kind::Commit, r, 0, t));
    }
    s.roles.push_back(role("r" + std::to_string(r), events));
  }
  auto start = std::chrono::steady_clock::now();
  bool live = checkRoles(s).live;
  auto took = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(live);
  EXPECT_LT(std::chrono::duration<double>(took).count(), 0.010);
  for (RoleEvent &e : s.roles[0].events)
    e.stage = 0;
  start = std::chrono::steady_clock::now();
  live = checkRoles(s).live;
  took = std::chrono::steady_clock::now() - start;
  EXPECT_FALSE(live);
  EXPECT_LT(std::chrono::duration<double>(took).count(), 0.010);
}

} // namespace
