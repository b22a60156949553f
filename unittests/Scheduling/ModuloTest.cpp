//===- ModuloTest.cpp - Solvers against brute force -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Schedule/Modulo.h"
#include "Diagnostics/Codes.h"
#include "gtest/gtest.h"

#include <functional>
#include <iostream>
#include <random>

using namespace penstock;
using namespace penstock::sched;

namespace {

/// The smallest interval by trying, for each interval, all offsets modulo it.
/// With the offsets given, whole turns are a system of differences that has a
/// solution exactly if no circle of it is positive.
class BruteForce {
public:
  explicit BruteForce(const ModuloProblem &problem) : problem(problem) {}

  int64_t smallestInterval(int64_t most) {
    for (interval = 1; interval <= most; ++interval) {
      offset.assign(problem.operations.size(), 0);
      if (place(0))
        return interval;
    }
    return -1;
  }

private:
  bool place(size_t op) {
    if (op == problem.operations.size())
      return turnsExist();
    // All offsets may be turned together, so the first one is 0.
    for (int64_t o = 0; o < (op ? interval : 1); ++o) {
      offset[op] = o;
      if (fits(op) && place(op + 1))
        return true;
    }
    return false;
  }
  /// Marks the cycles that each operation keeps its engine, one by one.
  bool fits(size_t op) const {
    unsigned resource = problem.operations[op].resource;
    if (resource == none)
      return true;
    std::vector<bool> taken(interval);
    for (size_t i = 0; i <= op; ++i) {
      if (problem.operations[i].resource != resource)
        continue;
      for (int64_t c = 0; c < problem.operations[i].busy; ++c) {
        size_t cycle = (offset[i] + c) % interval;
        if (taken[cycle])
          return false;
        taken[cycle] = true;
      }
    }
    return true;
  }
  bool turnsExist() const {
    size_t count = problem.operations.size();
    std::vector<int64_t> turn(count, 0);
    for (size_t round = 0; round <= count; ++round) {
      bool changed = false;
      for (const ModuloDependence &d : problem.dependences) {
        // turn_to * ii + offset_to + distance * ii >= turn_from * ii +
        // offset_from + latency
        int64_t least = turn[d.from] - d.distance;
        while (least * interval + offset[d.to] - turn[d.from] * interval + d.distance * interval <
               offset[d.from] + d.latency)
          ++least;
        if (turn[d.to] < least) {
          turn[d.to] = least;
          changed = true;
        }
      }
      if (!changed)
        return true;
    }
    return false;
  }

  const ModuloProblem &problem;
  int64_t interval = 0;
  std::vector<int64_t> offset;
};

ModuloProblem randomProblem(std::mt19937 &rng) {
  auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng); };
  ModuloProblem p;
  p.resources = {"x", "y"};
  int count = pick(4, 7);
  for (int i = 0; i < count; ++i)
    // Both engines have at least two operations.
    p.operations.push_back(
        {"op" + std::to_string(i), unsigned(i < 4 ? i % 2 : pick(0, 1)), pick(1, 3)});
  for (int i = 1; i < count; ++i)
    p.dependences.push_back({unsigned(pick(0, i - 1)), unsigned(i), pick(1, 4), 0, none});
  // A recurrence, and perhaps more of them.
  for (int extra = pick(1, 3); extra > 0; --extra) {
    int from = pick(1, count - 1), to = pick(0, from - 1);
    p.dependences.push_back({unsigned(from), unsigned(to), pick(1, 4), pick(1, 2), none});
  }
  return p;
}

bool hasRecurrence(const ModuloProblem &p) {
  EventGraph graph;
  for (const ModuloOperation &op : p.operations)
    graph.add(op.name);
  for (const ModuloDependence &d : p.dependences)
    graph.edge(d.from, d.to, d.distance, d.latency);
  return maximumCycleRatio(graph).has_value();
}

TEST(Modulo, ExactEqualsBruteForce) {
  if (!exactSolverBuilt())
    GTEST_SKIP() << "this build has no exact solver (Z3 was not found)";
  std::mt19937 rng(99);
  int tested = 0, above = 0, heuristicMissed = 0;
  for (int trial = 0; tested < 240; ++trial) {
    ModuloProblem p = randomProblem(rng);
    if (!hasRecurrence(p))
      continue;
    ModuloBounds bounds = lowerBounds(p);
    if (bounds.best() > 9)
      continue; // keep the enumeration small
    int64_t expected = BruteForce(p).smallestInterval(40);
    ASSERT_GT(expected, 0);
    bool isAbove = expected > bounds.best();
    // Half of the instances must need more than both bounds say.
    if (!isAbove && 2 * above < tested + 1)
      continue;
    ModuloResult exact = solveExact(p);
    ASSERT_TRUE(exact.schedule) << trial;
    EXPECT_TRUE(exact.optimal);
    EXPECT_EQ(exact.schedule->interval, expected) << trial;
    EXPECT_EQ(verifyModulo(p, *exact.schedule), std::vector<std::string>{});
    ModuloResult quick = solveHeuristic(p);
    ASSERT_TRUE(quick.schedule);
    EXPECT_EQ(verifyModulo(p, *quick.schedule), std::vector<std::string>{});
    EXPECT_GE(quick.schedule->interval, expected);
    EXPECT_TRUE(!quick.optimal || quick.schedule->interval == expected);
    heuristicMissed += quick.schedule->interval > expected;
    ++tested;
    above += isAbove;
  }
  std::cout << "instances=" << tested << " above-both-bounds=" << above
            << " heuristic-above-optimum=" << heuristicMissed << "\n";
  EXPECT_GE(tested, 200);
  EXPECT_GE(2 * above, tested);
}

TEST(Modulo, VerifyRefusesEachKindOfMistake) {
  ModuloProblem p;
  p.resources = {"x"};
  p.operations = {{"a", 0, 2}, {"b", 0, 2}};
  p.dependences = {{0, 1, 3, 0, none}, {1, 0, 2, 0, 0}};
  p.storages = {{"tile", Space::Shared, 100, 1, 4}};
  p.capacity[size_t(Space::Shared)] = 250;
  ModuloSchedule good{4, {0, 6}, {2}};
  EXPECT_TRUE(verifyModulo(p, good).empty());
  auto broken = [&](ModuloSchedule s) { return verifyModulo(p, s).size(); };
  EXPECT_EQ(broken({4, {0, 2}, {2}}), 1u); // b before a is done
  EXPECT_EQ(broken({4, {0, 5}, {2}}), 1u); // the engine, modulo 4
  EXPECT_EQ(broken({4, {0, 6}, {1}}), 1u); // the slot is used again too early
  EXPECT_EQ(broken({4, {0, 6}, {3}}), 1u); // 300 of 250 bytes
  EXPECT_EQ(broken({1, {0, 6}, {2}}), 4u); // too long for the interval, ...
  EXPECT_EQ(broken({4, {0}, {2}}), 1u);
}

TEST(Modulo, MemoryLimitsTheInterval) {
  if (!exactSolverBuilt())
    GTEST_SKIP() << "this build has no exact solver (Z3 was not found)";
  // load (100 cycles) then use (10): with v versions the slot is busy for 110
  // cycles of v intervals.
  ModuloProblem p;
  p.resources = {"tma", "tensor"};
  p.operations = {{"load", 0, 10}, {"use", 1, 10}};
  p.dependences = {{0, 1, 100, 0, none}, {1, 0, 10, 0, 0}, {0, 0, 100, 0, 0}};
  p.storages = {{"tile", Space::Shared, 1000, 1, 16}};
  for (int64_t versions = 1; versions <= 14; ++versions) {
    p.capacity[size_t(Space::Shared)] = 1000 * versions + 999;
    ModuloResult result = solveExact(p);
    ASSERT_TRUE(result.schedule);
    int64_t expected = std::max<int64_t>(10, (110 + versions - 1) / versions);
    EXPECT_EQ(result.schedule->interval, expected) << versions;
    EXPECT_TRUE(result.optimal);
    // No more than are needed for that interval.
    EXPECT_EQ(result.schedule->versions[0], unsigned((110 + expected - 1) / expected));
  }
}

TEST(Modulo, DepthSaysWhatEachVersionGains) {
  if (!exactSolverBuilt())
    GTEST_SKIP() << "this build has no exact solver (Z3 was not found)";
  // As above: the slot is busy for 110 cycles, the engines for 25.
  ModuloProblem p;
  p.resources = {"tma", "tensor"};
  p.operations = {{"load", 0, 25}, {"use", 1, 10}};
  p.dependences = {{0, 1, 100, 0, none}, {1, 0, 10, 0, 0}};
  p.storages = {{"tile", Space::Shared, 1000, 1, 8}};
  std::vector<std::pair<int64_t, int64_t>> found;
  for (const DepthStep &step : depthTable(p))
    found.emplace_back(step.schedule.interval, step.bytes);
  // ceil(110/1), ceil(110/2), ceil(110/3), ceil(110/4), then the engine: 25.
  EXPECT_EQ(found, (std::vector<std::pair<int64_t, int64_t>>{
                       {110, 1000}, {55, 2000}, {37, 3000}, {28, 4000}, {25, 5000}}));
}

TEST(Modulo, FewestBytesThenSmallestVersions) {
  if (!exactSolverBuilt())
    GTEST_SKIP() << "this build has no exact solver (Z3 was not found)";
  // A chain a -> b -> c in which either tile may hold the slack: the cheaper
  // one must take it.
  ModuloProblem p;
  p.resources = {"x"};
  p.operations = {{"a", none, 0}, {"b", none, 0}, {"c", 0, 10}, {"d", 0, 10}};
  p.dependences = {{0, 1, 5, 0, none}, {1, 2, 5, 0, none}, {0, 2, 45, 0, none},
                   {1, 0, 1, 0, 0},    {2, 1, 1, 0, 1},    {2, 3, 10, 0, none}};
  p.storages = {{"dear", Space::Shared, 100, 1, 8}, {"cheap", Space::Shared, 10, 1, 8}};
  ModuloResult result = solveExact(p);
  ASSERT_TRUE(result.schedule);
  EXPECT_EQ(result.schedule->interval, 20);
  EXPECT_EQ(result.schedule->versions, (std::vector<unsigned>{1, 2}));
}

TEST(Modulo, ImpossibleProblemsSaySo) {
  ModuloProblem circle;
  circle.operations = {{"a", none, 0}, {"b", none, 0}};
  circle.dependences = {{0, 1, 1, 0, none}, {1, 0, 1, 0, none}};
  EXPECT_FALSE(solveHeuristic(circle).schedule);
  EXPECT_EQ(solveHeuristic(circle).diagnostics.at(0).code, ProblemMalformed);
  ModuloProblem big;
  big.operations = {{"a", none, 0}};
  big.storages = {{"tile", Space::Shared, 1000, 1, 2}};
  big.capacity[size_t(Space::Shared)] = 10;
  EXPECT_EQ(solveHeuristic(big).diagnostics.at(0).code, VersionsDoNotFit);
  EXPECT_FALSE(solveExact(big).schedule);
}

} // namespace
