//===- ParityTest.cpp - Waits by parity, by exhaustive interleaving -------===//
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

#include <iostream>
#include <set>

using namespace penstock;
using namespace penstock::sched;
using namespace penstock::sched::test;

namespace {

/// Explores every interleaving with barriers that hold only a phase and a count
/// of arrivals. Exact means: no arrival falls into another phase than its own,
/// and a test of the parity always says whether the phase is complete.
class Explorer {
public:
  Explorer(const RoleSystem &system, int64_t n)
      : system(system), programs(Layout(system).programs(std::vector<int64_t>(n), 0)) {
    for (unsigned r = 0; r < system.rings.size(); ++r)
      for (const Role &role : system.roles) {
        auto has = [&](Kind kind) {
          return std::any_of(role.events.begin(), role.events.end(),
                             [&](auto &e) { return e.kind == kind && e.ring == r; });
        };
        full[r] += has(Kind::Commit);
        empty[r] += has(Kind::Release);
      }
  }

  bool exact() {
    std::vector<std::vector<uint16_t>> open = {std::vector<uint16_t>(programs.size(), 0)};
    std::set<std::vector<uint16_t>> seen(open.begin(), open.end());
    while (!open.empty()) {
      auto state = open.back();
      open.pop_back();
      for (size_t r = 0; r < programs.size(); ++r) {
        if (state[r] >= programs[r].size())
          continue;
        int step = advance(state, programs[r][state[r]]);
        if (step < 0)
          return false;
        if (step == 0)
          continue;
        auto next = state;
        ++next[r];
        if (seen.insert(next).second)
          open.push_back(next);
      }
      if (seen.size() > 2000000)
        ADD_FAILURE() << "too many states";
    }
    return true;
  }

private:
  /// The phase in which a barrier is: arrivals so far over arrivals per phase.
  int64_t phase(const std::vector<uint16_t> &state, Kind arrive, unsigned ring, int64_t slot) {
    int64_t arrivals = 0;
    for (size_t r = 0; r < programs.size(); ++r)
      for (size_t i = 0; i < state[r]; ++i) {
        const Action &a = programs[r][i];
        arrivals += a.kind == arrive && a.on == ring && a.token % system.rings[ring].slots == slot;
      }
    int64_t count = arrive == Kind::Commit ? full[ring] : empty[ring];
    return count ? arrivals / count : 0;
  }
  /// 1: may run, 0: must wait, -1: parity is not exact here.
  int advance(const std::vector<uint16_t> &state, const Action &a) {
    int64_t slots = system.rings[a.on].slots;
    int64_t slot = a.token % slots, own = a.token / slots;
    bool onFull = a.kind == Kind::Commit || a.kind == Kind::Wait;
    int64_t now = phase(state, onFull ? Kind::Commit : Kind::Release, a.on, slot);
    if (a.kind == Kind::Commit || a.kind == Kind::Release)
      return now == own ? 1 : -1;
    int64_t awaited = a.kind == Kind::Acquire ? own - 1 : own;
    bool passes = ((now ^ awaited) & 1) != 0;
    bool complete = now > awaited;
    if (passes != complete)
      return -1;
    return passes;
  }

  const RoleSystem &system;
  std::vector<Program> programs;
  std::map<unsigned, int64_t> full, empty;
};

TEST(Parity, DisciplineImpliesIt) {
  RoleSystem s;
  s.rings = {{"q", 2}};
  Role load, mma;
  load.name = "load";
  mma.name = "mma";
  RoleEvent e;
  for (auto kind : {Kind::Acquire, Kind::Commit}) {
    e.kind = kind;
    load.events.push_back(e);
  }
  for (auto kind : {Kind::Wait, Kind::Release}) {
    e.kind = kind;
    mma.events.push_back(e);
  }
  s.roles = {load, mma};
  ParityVerdict verdict = checkParity(s);
  EXPECT_TRUE(verdict.exact);
  EXPECT_TRUE(verdict.byDiscipline);
  // A second consumer that waits and never releases can be lapped.
  Role spy;
  spy.name = "spy";
  e.kind = Kind::Wait;
  e.location = {"kernel.cpp", 7, 3};
  spy.events = {e};
  s.roles.push_back(spy);
  ASSERT_TRUE(checkRoles(s).live);
  verdict = checkParity(s);
  EXPECT_FALSE(verdict.exact);
  EXPECT_EQ(verdict.reason.code, PhaseNotExact);
  // At the wait, with the arrival that does not wait for it.
  EXPECT_EQ(verdict.reason.location.line, 7u);
  ASSERT_EQ(verdict.reason.notes.size(), 1u);
  EXPECT_NE(verdict.reason.notes[0].message.find("load: commit"), std::string::npos)
      << verdict.reason.notes[0].message;
}

// A producer that never asks for slots laps its consumer in the second round, however
// many slots there are.
TEST(Parity, ProducerThatDoesNotAskIsSeenToLap) {
  for (int64_t slots : {1, 2, 4, 8}) {
    RoleSystem s;
    s.rings = {{"q", slots}};
    s.roles.resize(2);
    s.roles[0].name = "load";
    s.roles[1].name = "read";
    RoleEvent e;
    e.kind = Kind::Commit;
    s.roles[0].events = {e};
    e.kind = Kind::Wait;
    s.roles[1].events = {e};
    ASSERT_TRUE(checkRoles(s).live);
    EXPECT_FALSE(checkParity(s).exact) << slots;
  }
}

TEST(Parity, InnerLoopsNeedTheDiscipline) {
  // A persistent kernel: tiles of a varying number of steps, and a result per
  // tile.
  auto event = [](Kind kind, unsigned ring) {
    RoleEvent e;
    e.kind = kind;
    e.ring = ring;
    return e;
  };
  RoleSystem s;
  s.rings = {{"tiles", 3}, {"results", 2}};
  s.roles.resize(3);
  s.roles[0].inner = {event(Kind::Acquire, 0), event(Kind::Commit, 0)};
  s.roles[1].inner = {event(Kind::Wait, 0), event(Kind::Release, 0)};
  s.roles[1].events = {event(Kind::Acquire, 1), event(Kind::Commit, 1)};
  s.roles[1].innerAt = 1;
  s.roles[2].events = {event(Kind::Wait, 1), event(Kind::Release, 1)};
  ASSERT_TRUE(checkRoles(s).live);
  EXPECT_TRUE(checkParity(s).exact);
  EXPECT_TRUE(checkParity(s).byDiscipline);
  s.roles[1].inner = {event(Kind::Release, 0), event(Kind::Wait, 0)};
  EXPECT_FALSE(checkParity(s).exact);
  EXPECT_EQ(checkParity(s).reason.code, RolesOutsideModel);
}

TEST(Parity, AgreesWithExhaustiveInterleaving) {
  RandomRoles random(77);
  int exact = 0, inexact = 0, byDiscipline = 0;
  for (int trial = 0; trial < 6000; ++trial) {
    RandomRoles::Shape shape;
    shape.maxRoles = 3;
    shape.maxRings = 2;
    shape.maxSlots = 2;
    shape.mayNest = false;
    shape.disorder = 40;
    RoleSystem s = random.system(shape);
    if (!s.links.empty() || !checkRoles(s).live)
      continue;
    ParityVerdict verdict = checkParity(s);
    bool expected = true;
    int64_t n = 0;
    for (; n <= 6 && expected; ++n)
      expected = Explorer(s, n).exact();
    std::string text;
    for (const Role &r : s.roles) {
      text += r.name + ":";
      for (const RoleEvent &e : r.events)
        text += " " + std::to_string(int(e.kind)) + "/" + std::to_string(e.ring) + "." +
                std::to_string(e.token) + "@" + std::to_string(e.stage);
      text += "\n";
    }
    ASSERT_EQ(verdict.exact, expected)
        << "trial " << trial << " n " << n - 1 << "\n"
        << text << render(verdict.reason) << testing::PrintToString(verdict.reason.facts);
    (expected ? exact : inexact)++;
    byDiscipline += verdict.byDiscipline;
  }
  std::cout << "exact=" << exact << " inexact=" << inexact << " by-discipline=" << byDiscipline
            << "\n";
  EXPECT_GE(exact, 300);
  EXPECT_GE(inexact, 300);
  EXPECT_GT(byDiscipline, 100);
  EXPECT_GT(exact - byDiscipline, 20);
}

/// A link with `slots` barriers is a ring without empty barriers, whose waits come
/// `distance` iterations later. Rings are explored above.
TEST(Parity, LinksAreOneSidedRings) {
  auto event = [](Kind kind, unsigned on, int64_t stage) {
    RoleEvent e;
    e.kind = kind;
    e.ring = on;
    e.stage = stage;
    return e;
  };
  int exact = 0, confused = 0;
  for (int64_t distance = 0; distance <= 3; ++distance)
    for (int64_t back = 0; back <= 3; ++back) // 0: the signals run freely
      for (int64_t slots = 1; slots <= 5; ++slots)
        for (int64_t backSlots = 1; backSlots <= 3; ++backSlots) {
          RoleSystem links, rings;
          links.links = {{"there", distance, slots}, {"back", back, backSlots}};
          rings.rings = {{"there", slots}, {"back", backSlots}};
          auto roles = [&](RoleEvent arrival, RoleEvent wait) {
            Role first, second;
            first.name = "first";
            first.events = {std::move(arrival)};
            second.name = "second";
            second.events = {std::move(wait)};
            return std::vector<Role>{first, second};
          };
          links.roles = roles(event(Kind::Signal, 0, 0), event(Kind::Await, 0, 0));
          rings.roles = roles(event(Kind::Commit, 0, 0), event(Kind::Wait, 0, distance));
          if (back) {
            auto &before = links.roles[0].events;
            before.insert(before.begin(), event(Kind::Await, 1, 0));
            links.roles[1].events.push_back(event(Kind::Signal, 1, 0));
            auto &wait = rings.roles[0].events;
            wait.insert(wait.begin(), event(Kind::Wait, 1, back));
            rings.roles[1].events.push_back(event(Kind::Commit, 1, 0));
          } else {
            links.links.pop_back();
            rings.rings.pop_back();
          }
          ASSERT_TRUE(checkRoles(links).live);
          ASSERT_EQ(checkParity(links).exact, checkParity(rings).exact)
              << distance << " " << back << " " << slots << " " << backSlots;
          ++(checkParity(links).exact ? exact : confused);
          EXPECT_FALSE(!back && checkParity(links).exact); // nothing holds the signals back
        }
  EXPECT_GT(exact, 20);
  EXPECT_GT(confused, 100);
}

} // namespace
