//===- ProtocolTest.cpp - Following roles step by step --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The event graph decides for all numbers of iterations, following decides for
// one. On random rings both must say the same. Kernels with errors, line by
// line, are in unittests/Explicit.
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Protocol/Protocol.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Render.h"
#include "RandomRoles.h"
#include "Scheduling/Protocol/RoleShape.h"
#include "gtest/gtest.h"

using namespace penstock;
using namespace penstock::sched;
using namespace penstock::sched::test;

namespace {

using Kind = ProtocolStep::Kind;

/// What the roles of a system do for \p n iterations, with a full and an empty
/// barrier for each slot and waits by parity.
Protocol protocolOf(const RoleSystem &system, int64_t n) {
  Protocol p;
  p.sources.push_back({"op", {}});
  std::vector<unsigned> first; // barrier of each array
  for (const Ring &ring : system.rings)
    for (bool full : {true, false}) {
      RoleEventKind arrives = full ? RoleEventKind::Commit : RoleEventKind::Release;
      int64_t count = 0;
      auto array = unsigned(p.arrays.size());
      for (const Role &role : system.roles)
        count += std::any_of(role.events.begin(), role.events.end(), [&](const RoleEvent &e) {
          return e.kind == arrives && e.ring == array / 2;
        });
      p.arrays.push_back(ring.name + (full ? ".full" : ".empty"));
      first.push_back(unsigned(p.barriers.size()));
      for (int64_t slot = 0; slot < ring.slots; ++slot)
        p.barriers.push_back(
            {p.arrays.back() + std::to_string(slot), array, slot, std::max<int64_t>(count, 1)});
    }
  for (const Role &role : system.roles) {
    p.roles.push_back({role.name});
    std::map<std::pair<unsigned, RoleEventKind>, int64_t> perIteration;
    int64_t least = 0;
    for (const RoleEvent &e : role.events) {
      ++perIteration[{e.ring, e.kind}];
      least = std::min(least, e.stage);
    }
    for (auto [index, k] : executionOrder(role.events, n)) {
      const RoleEvent &e = role.events[index];
      int64_t token = k * perIteration[{e.ring, e.kind}] + e.token;
      int64_t slots = system.rings[e.ring].slots;
      bool full = e.kind == RoleEventKind::Commit || e.kind == RoleEventKind::Wait;
      ProtocolStep step;
      bool waits = e.kind == RoleEventKind::Wait || e.kind == RoleEventKind::Acquire;
      step.kind = waits ? Kind::Wait : Kind::Arrive;
      step.barrier = first[2 * e.ring + (full ? 0 : 1)] + unsigned(token % slots);
      step.parity = (token / slots & 1) != (e.kind == RoleEventKind::Acquire);
      step.count = 1;
      step.iteration = k + e.stage - least;
      p.roles.back().steps.push_back(step);
    }
  }
  return p;
}

/// Whether every role waits for a token before it arrives for it. Where it does not,
/// a wait by parity may return for another token's phase, and what is dead by
/// tokens goes on.
bool waitsBeforeItArrives(const RoleSystem &system) {
  for (const Role &role : system.roles)
    for (size_t i = 0; i < role.events.size(); ++i) {
      const RoleEvent &arrive = role.events[i];
      if (arrive.kind != RoleEventKind::Commit && arrive.kind != RoleEventKind::Release)
        continue;
      RoleEventKind waits =
          arrive.kind == RoleEventKind::Commit ? RoleEventKind::Acquire : RoleEventKind::Wait;
      bool before = false;
      for (size_t j = 0; j < role.events.size(); ++j) {
        const RoleEvent &e = role.events[j];
        before |= e.kind == waits && e.ring == arrive.ring && e.token == arrive.token &&
                  (e.stage < arrive.stage || (e.stage == arrive.stage && j < i));
      }
      if (!before)
        return false;
    }
  return true;
}

bool deadlocks(const std::vector<Diagnostic> &found) {
  return std::any_of(found.begin(), found.end(),
                     [](const Diagnostic &d) { return d.code == ProtocolDeadlock; });
}

TEST(Protocol, AgreesWithTheEventGraphOnRandomRings) {
  RandomRoles random(20261115);
  RandomRoles::Shape shape;
  shape.maxRoles = 4;
  shape.maxRings = 4;
  shape.mayNest = false;
  int live = 0, dead = 0, recognized = 0;
  for (int i = 0; i < 3000; ++i) {
    RoleSystem system = random.system(shape);
    bool plain = system.links.empty();
    for (const Role &role : system.roles)
      plain &= role.factor == 1 && role.extra == 0 && role.leastTrips == 0;
    if (!plain)
      continue;
    RolesVerdict verdict = checkRoles(system);
    if (!verdict.live && verdict.reason.code != Deadlock)
      continue;
    if (verdict.live ? !checkParity(system).exact : !waitsBeforeItArrives(system))
      continue;
    int64_t most = 4;
    for (const Ring &ring : system.rings)
      most += 2 * ring.slots;
    std::vector<Protocol> byIterations;
    bool stuck = false;
    for (int64_t n = 0; n <= most; ++n) {
      byIterations.push_back(protocolOf(system, n));
      auto found = simulateProtocol(byIterations.back());
      stuck |= deadlocks(found);
      if (verdict.live)
        ASSERT_TRUE(found.empty()) << "system " << i << ", n = " << n << "\n"
                                   << render(found.front());
    }
    ASSERT_EQ(stuck, !verdict.live) << "system " << i;
    live += verdict.live;
    dead += !verdict.live;
    if (auto again = rolesOf(byIterations)) {
      ++recognized;
      EXPECT_EQ(checkRoles(*again).live, verdict.live) << "system " << i;
    }
  }
  EXPECT_GT(live, 300);
  EXPECT_GT(dead, 100);
  EXPECT_GT(recognized, 300);
}

/// A producer whose engine fills slots, and a consumer that reads them.
Protocol copyRing(int64_t slots, int64_t n) {
  Protocol p;
  p.sources = {{"load", {}}, {"read", {}}, {"wait", {}}, {"arrive", {}}};
  p.arrays = {"full", "empty"};
  for (unsigned array : {0u, 1u})
    for (int64_t s = 0; s < slots; ++s)
      p.barriers.push_back({p.arrays[array] + std::to_string(s), array, s, 1});
  p.tiles = {{"As", ""}};
  p.roles = {{"producer"}, {"consumer"}};
  for (int64_t t = 0; t < n; ++t) {
    auto slot = unsigned(t % slots);
    bool parity = t / slots & 1;
    ProtocolAccess access;
    access.box.rank = 3;
    access.box.begin = {slot, 0, 0, 0};
    access.box.end = {slot + 1, 64, 64, 0};
    auto add = [&](unsigned role, Kind kind, unsigned barrier, unsigned source) -> ProtocolStep & {
      ProtocolStep step;
      step.kind = kind;
      step.barrier = barrier;
      step.source = source;
      step.iteration = t;
      step.count = 1;
      p.roles[role].steps.push_back(step);
      return p.roles[role].steps.back();
    };
    auto empty = unsigned(slots) + slot;
    add(0, Kind::Wait, empty, 2).parity = !parity;
    add(0, Kind::Arrive, slot, 3).bytes = 128;
    ProtocolStep &copy = add(0, Kind::Copy, slot, 0);
    copy.bytes = 128;
    copy.accesses = {access};
    copy.accesses[0].write = true;
    add(1, Kind::Wait, slot, 2).parity = parity;
    add(1, Kind::Touch, 0, 1).accesses = {access};
    add(1, Kind::Arrive, empty, 3);
  }
  return p;
}

unsigned firstCode(const Protocol &p) {
  auto found = simulateProtocol(p);
  return found.empty() ? 0 : found.front().code;
}

TEST(Protocol, RingOfCopies) {
  for (int64_t slots : {1, 2, 3})
    for (int64_t n = 0; n < 8; ++n)
      EXPECT_EQ(firstCode(copyRing(slots, n)), 0u) << slots << " slots, " << n;
}

TEST(Protocol, EveryStepOfTheRingIsNeeded) {
  // Without the step at this position of each round, in one role.
  auto without = [](unsigned role, size_t position) {
    Protocol p = copyRing(2, 6);
    auto &steps = p.roles[role].steps;
    for (size_t i = steps.size(); i-- > 0;)
      if (i % 3 == position)
        steps.erase(steps.begin() + std::ptrdiff_t(i));
    return firstCode(p);
  };
  EXPECT_EQ(without(0, 0), unsigned(ProtocolOrder)); // fills a slot in use
  EXPECT_EQ(without(0, 1), unsigned(ProtocolBytes));
  EXPECT_EQ(without(0, 2), unsigned(ProtocolBytes));
  EXPECT_EQ(without(1, 0), unsigned(ProtocolOrder)); // reads what is not there
  EXPECT_EQ(without(1, 2), unsigned(ProtocolDeadlock));
}

TEST(Protocol, UnusedCopyIsUnfinished) {
  Protocol p = copyRing(2, 3);
  p.roles[1].steps.resize(6); // the consumer takes two of three
  EXPECT_EQ(firstCode(p), unsigned(ProtocolUnfinished));
}

TEST(Protocol, TooManyArrivals) {
  Protocol p = copyRing(2, 3);
  p.roles[1].steps[2].count = 32;
  EXPECT_EQ(firstCode(p), unsigned(ProtocolArrivals));
}

TEST(Protocol, EmptyRingIsReadBeforeItIsWritten) {
  Protocol p = copyRing(2, 0);
  ProtocolStep read;
  read.kind = Kind::Touch;
  read.source = 1;
  read.accesses.emplace_back();
  p.roles[1].steps.push_back(read);
  EXPECT_EQ(firstCode(p), unsigned(ProtocolUninitialized));
}

/// Roles on barriers alone, each as a word for each step: a letter for what is done
/// ("a" arrives, "c" commits, "0" and "1" wait for that parity, "o" waits for the
/// phase of the own arrival), and the letter of a barrier.
Protocol listsOf(const std::vector<int64_t> &counts, const std::vector<std::string> &roles) {
  Protocol p;
  p.sources = {{"step", {}}};
  for (size_t b = 0; b < counts.size(); ++b) {
    p.arrays.push_back(std::string(1, char('x' + b)));
    p.barriers.push_back({p.arrays.back(), unsigned(b), 0, counts[b]});
  }
  for (const std::string &words : roles) {
    p.roles.push_back({"role " + std::to_string(p.roles.size())});
    for (size_t at = 0; at < words.size(); at += 3) {
      ProtocolStep step;
      char what = words[at];
      step.kind = what == 'a' ? Kind::Arrive : what == 'c' ? Kind::Commit : Kind::Wait;
      step.parity = what == '1';
      step.own = what == 'o';
      step.count = 1;
      step.barrier = unsigned(words[at + 1] - 'x');
      p.roles.back().steps.push_back(step);
    }
  }
  return p;
}

// The other role can complete the second phase before the wait for the first has
// begun. The first timing that comes to mind does not show it.
TEST(Protocol, WaitThatCanMissItsPhase) {
  EXPECT_EQ(firstCode(listsOf({1}, {"0x", "ax ax"})), unsigned(ProtocolDeadlock));
  // What follows the wait holds the second phase back.
  EXPECT_EQ(firstCode(listsOf({1, 1}, {"0x ay", "ax 0y ax"})), 0u);
  // A phase that never ends cannot overtake anybody.
  EXPECT_EQ(firstCode(listsOf({1}, {"0x", "ax"})), 0u);
}

// Before the first phase is over, a wait for the second returns at once, for the phase
// before the first: here one role arrives in the phase that the other one waits for.
TEST(Protocol, WaitThatCanReturnTooEarly) {
  EXPECT_EQ(firstCode(listsOf({1, 1}, {"ax 0y ax", "1x ay ay"})), unsigned(ProtocolDeadlock));
  EXPECT_EQ(firstCode(listsOf({1, 1}, {"ax 0y ax", "0x ay 1x"})), 0u);
}

// Two arrivals that can change positions count in other phases, which matters if one of
// them is waited for.
TEST(Protocol, ArrivalThatCanComeTooEarly) {
  EXPECT_EQ(firstCode(listsOf({1}, {"ax 0x ax", "cx"})), unsigned(ProtocolDeadlock));
  EXPECT_EQ(firstCode(listsOf({1, 1}, {"ax 0x ax", "0y cx"})), unsigned(ProtocolDeadlock));
  // It does not matter who comes first where nobody can tell.
  EXPECT_EQ(firstCode(listsOf({2}, {"ax", "ax", "0x"})), 0u);
  EXPECT_EQ(firstCode(listsOf({1}, {"ax", "ax"})), 0u);
}

TEST(Protocol, WaitForTheOwnArrival) {
  // The second role takes part in the first phase without waiting for it.
  EXPECT_EQ(firstCode(listsOf({2, 1}, {"ax ox ay ax ox", "ax 0y ax ox"})), 0u);
  // It may come twice in the first phase, and then nobody comes in the second.
  EXPECT_EQ(firstCode(listsOf({2}, {"ax ox ax ox", "ax ax ox"})), unsigned(ProtocolDeadlock));
}

// Two arrivals that can change positions, among so many roles and steps that not all
// orders can be looked at: the lists are refused, and the finding says what is in doubt.
TEST(Protocol, DoubtThatCannotBeResolved) {
  std::vector<int64_t> counts = {1};
  std::vector<std::string> roles = {"ax", "ax"};
  for (int i = 0; i < 7; ++i) {
    std::string name(1, char('x' + counts.size())), rounds = "a" + name + " 0" + name;
    for (int round = 1; round < 12; ++round)
      rounds += " a" + name + (round % 2 ? " 1" : " 0") + name;
    counts.push_back(1);
    roles.push_back(rounds);
  }
  EXPECT_EQ(firstCode(listsOf(counts, roles)), unsigned(PhaseNotExact));
  roles.pop_back();
  roles.erase(roles.begin()); // one arrival is in no doubt, however many others there are
  EXPECT_EQ(firstCode(listsOf(counts, roles)), 0u);
}

// A wait of scope Cta acquires what threads of its own block released, and nothing from others.
TEST(Protocol, ScopeOfWaits) {
  auto codeWith = [](bool remote, bool narrow, bool secondReaderIsNarrow) {
    Protocol p = listsOf({1}, {"ax", "0x", "0x"});
    ProtocolStep write, read;
    write.accesses.emplace_back().write = true;
    read.accesses.emplace_back();
    p.tiles = {{"As", ""}, {"Bs", ""}};
    p.roles[0].steps[0].remote = remote;
    p.roles[0].steps.insert(p.roles[0].steps.begin(), write);
    p.roles[1].steps[0].narrow = narrow;
    p.roles[1].steps.push_back(read);
    p.roles[2].steps[0].narrow = secondReaderIsNarrow; // it reads nothing
    return firstCode(p);
  };
  EXPECT_EQ(codeWith(true, true, false), unsigned(ProtocolOrder));
  EXPECT_EQ(codeWith(true, false, false), 0u);
  EXPECT_EQ(codeWith(false, true, true), 0u);
  EXPECT_EQ(codeWith(true, false, true), 0u); // only the scope of the reader's wait matters
}

TEST(Protocol, BytesThatAreNegative) {
  Protocol p = copyRing(1, 2);
  p.roles[0].steps[1].bytes = 512;
  p.roles[0].steps[4].bytes = -256; // the sum is right
  EXPECT_EQ(firstCode(p), unsigned(ProtocolBytes));
}

TEST(Protocol, SyncThatOneRoleDoesNotReach) {
  Protocol p = copyRing(2, 1);
  p.syncs = {{0, 1}};
  ProtocolStep sync;
  sync.kind = Kind::Sync;
  p.roles[0].steps.push_back(sync);
  EXPECT_EQ(firstCode(p), unsigned(ProtocolDeadlock));
  p.roles[1].steps.push_back(sync);
  EXPECT_EQ(firstCode(p), 0u);
}

} // namespace
