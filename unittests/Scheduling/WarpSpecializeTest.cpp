//===- WarpSpecializeTest.cpp - Schedules divided among roles -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/WarpSpecialize.h"
#include "Kernels.h"
#include "RandomLoops.h"
#include "Scheduling/Infer.h"

#include <iostream>

using namespace penstock;
using namespace penstock::sched;
using namespace penstock::sched::test;

namespace {

TEST(WarpSpecialize, GemmBecomesTwoRings) {
  Problem p = gemmProblem(*hw::findArchitecture("sm_90a"));
  Schedule schedule = *infer(p, 3).schedule;
  WarpSpecialized s = warpSpecialize(p, schedule, {{0, 0, 1}, {"load", "mma"}});
  ASSERT_TRUE(s.diagnostics.empty());
  ASSERT_EQ(s.system.rings.size(), 2u);
  EXPECT_EQ(s.system.rings[0].slots, 3);
  EXPECT_EQ(s.system.links.size(), 0u);
  ASSERT_EQ(s.system.roles.size(), 2u);
  EXPECT_EQ(s.system.roles[0].events.size(), 4u); // acquire, commit twice
  EXPECT_EQ(s.system.roles[1].events.size(), 4u); // wait, release twice
  EXPECT_TRUE(checkRoles(s.system).live);
  EXPECT_TRUE(checkParity(s.system).byDiscipline);
}

TEST(WarpSpecialize, QueuesAreNotDivided) {
  Problem p = attentionProblem(*hw::findArchitecture("sm_90a"), false);
  Schedule schedule = *infer(p, 2).schedule;
  // QK and PV use one queue.
  WarpSpecialized s = warpSpecialize(p, schedule, {{0, 1, 2, 0, 2}, {"load", "qk", "rest"}});
  EXPECT_EQ(s.diagnostics.size(), 1u);
}

/// A role as a program: statements and barriers in the order of the schedule.
struct Step {
  bool barrier;
  unsigned index; ///< statement, or event of the role
  int64_t k;
};

/// Runs all roles in a random order and notes when each instance was issued.
/// Every statement takes effect when it is issued, or at its wait.
class RandomRun {
public:
  RandomRun(const Problem &p, const Schedule &s, const RoleAssignment &roles,
            const WarpSpecialized &special, int64_t n)
      : special(special) {
    for (size_t r = 0; r < roles.names.size(); ++r) {
      std::vector<std::tuple<int64_t, int64_t, int, size_t, Step>> all;
      for (StatementId i = 0; i < p.statements.size(); ++i)
        if (roles.roleOf[i] == r)
          for (int64_t k = 0; k < n + 4; ++k) // waits run past the end
            if (k < n || p.statements[i].kind == StatementKind::Wait)
              all.emplace_back(k + s.stage[i], s.order[i], 1, 0, Step{false, i, k});
      const auto &events = special.system.roles[r].events;
      for (size_t e = 0; e < events.size(); ++e)
        for (int64_t k = 0; k < n; ++k)
          all.emplace_back(k + events[e].stage, s.order[special.anchors[r][e].statement],
                           special.anchors[r][e].after ? 2 : 0, e, Step{true, unsigned(e), k});
      std::sort(all.begin(), all.end(), [](auto &a, auto &b) {
        return std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(a), std::get<3>(a)) <
               std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(b), std::get<3>(b));
      });
      std::vector<Step> program;
      for (auto &entry : all)
        program.push_back(std::get<4>(entry));
      programs.push_back(std::move(program));
    }
    time.assign(p.statements.size(), std::vector<int64_t>(n + 4, -1));
  }

  /// False if some role cannot end.
  bool run(RandomLoops &random) {
    std::vector<size_t> at(programs.size(), 0);
    int64_t clock = 0;
    while (true) {
      std::vector<size_t> able;
      bool open = false;
      for (size_t r = 0; r < programs.size(); ++r)
        if (at[r] < programs[r].size()) {
          open = true;
          if (may(r, programs[r][at[r]]))
            able.push_back(r);
        }
      if (able.empty())
        return !open;
      size_t r = able[random.pick(0, int(able.size()) - 1)];
      // Let one role run far ahead now and then.
      for (int burst = random.chance(30) ? 50 : 1;
           burst > 0 && at[r] < programs[r].size() && may(r, programs[r][at[r]]); --burst) {
        Step step = programs[r][at[r]++];
        if (step.barrier) {
          const RoleEvent &e = special.system.roles[r].events[step.index];
          ++arrivals[{int(e.kind), e.ring, step.k}];
        } else {
          time[step.index][step.k] = ++clock;
        }
      }
    }
  }

  std::vector<std::vector<int64_t>> time;

private:
  bool may(size_t r, const Step &step) {
    if (!step.barrier)
      return true;
    const RoleEvent &e = special.system.roles[r].events[step.index];
    auto arrived = [&](RoleEventKind kind, int64_t k) {
      if (k < 0)
        return true;
      int wanted = 0;
      for (const Role &role : special.system.roles)
        for (const RoleEvent &other : role.events)
          wanted += other.kind == kind && other.ring == e.ring;
      return arrivals[{int(kind), e.ring, k}] == wanted;
    };
    switch (e.kind) {
    case RoleEventKind::Acquire:
      return arrived(RoleEventKind::Release, step.k - special.system.rings[e.ring].slots);
    case RoleEventKind::Wait:
      return arrived(RoleEventKind::Commit, step.k);
    case RoleEventKind::Await:
      return arrived(RoleEventKind::Signal, step.k - special.system.links[e.ring].distance);
    default:
      return true;
    }
  }

  const WarpSpecialized &special;
  std::vector<std::vector<Step>> programs;
  std::map<std::tuple<int, unsigned, int64_t>, int> arrivals;
};

/// Random legal schedules divided among random roles: no role waits for ever,
/// and no conflict between roles ever runs out of order.
TEST(WarpSpecialize, RandomDivisionsAreLiveAndSound) {
  RandomLoops random(31);
  int divided = 0, rings = 0, links = 0, checkedPairs = 0;
  for (int trial = 0; divided < 1500; ++trial) {
    ASSERT_LT(trial, 200000);
    Instance i = random.instance();
    const Problem &p = i.problem;
    if (!check(p).empty() || !verify(p, *i.schedule).legal() || p.statements.size() < 2)
      continue;
    RoleAssignment roles{{}, {"r0", "r1", "r2"}};
    for (size_t s = 0; s < p.statements.size(); ++s)
      roles.roleOf.push_back(random.pick(0, 2));
    WarpSpecialized special = warpSpecialize(p, *i.schedule, roles);
    if (!special.diagnostics.empty())
      continue;
    ++divided;
    rings += int(special.system.rings.size());
    links += int(special.system.links.size());
    ASSERT_TRUE(checkRoles(special.system).live) << printInstance(i);
    const int64_t n = 7;
    LoopModel model(p);
    Order order(model, *i.schedule);
    auto versionsOf = versions(order);
    for (int runs = 0; runs < 3; ++runs) {
      RandomRun run(p, *i.schedule, roles, special, n);
      ASSERT_TRUE(run.run(random)) << printInstance(i);
      for (const Pair &pair : model.pairs)
        for (int64_t k = 0; k < n; ++k)
          for (int64_t d = 0; k + d < n; ++d) {
            if (roles.roleOf[pair.first] == roles.roleOf[pair.second] ||
                d % int64_t(versionsOf[pair.buffer].count) != 0 || !pair.occursAt(d))
              continue;
            Completion by = order.completedBy(pair.first, pair.firstWrites);
            int64_t end =
                by.wait == none ? run.time[pair.first][k] : run.time[by.wait][k + by.distance];
            EXPECT_LT(end, run.time[pair.second][k + d])
                << printInstance(i) << p.statements[pair.first].name << " " << k << " and "
                << p.statements[pair.second].name << " " << k + d;
            ++checkedPairs;
          }
      if (testing::Test::HasFailure())
        return;
    }
  }
  std::cout << "divided=" << divided << " rings=" << rings << " links=" << links
            << " pairs=" << checkedPairs << "\n";
  EXPECT_GT(rings, 100);
  EXPECT_GT(links, 500);
  EXPECT_GT(checkedPairs, 20000);
}

} // namespace
