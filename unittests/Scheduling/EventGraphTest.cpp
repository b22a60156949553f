//===- EventGraphTest.cpp - Cycles and their ratios -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Plan/EventGraph.h"
#include "gtest/gtest.h"

#include <functional>
#include <random>

using namespace penstock::sched;

namespace {

/// All simple cycles by depth-first search, each from its smallest event.
void forEachCycle(const EventGraph &graph,
                  const std::function<void(int64_t distance, int64_t latency)> &visit) {
  size_t count = graph.events.size();
  std::vector<bool> on(count);
  for (unsigned root = 0; root < count; ++root) {
    std::function<void(unsigned, int64_t, int64_t)> walk = [&](unsigned at, int64_t distance,
                                                               int64_t latency) {
      for (const GraphEdge &e : graph.edges) {
        if (e.from != at || e.to < root)
          continue;
        if (e.to == root)
          visit(distance + e.distance, latency + e.latency);
        else if (!on[e.to]) {
          on[e.to] = true;
          walk(e.to, distance + e.distance, latency + e.latency);
          on[e.to] = false;
        }
      }
    };
    on[root] = true;
    walk(root, 0, 0);
    on[root] = false;
  }
}

TEST(EventGraph, CyclesEqualEnumeration) {
  std::mt19937 rng(5);
  int without = 0, ratios = 0, fractions = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    EventGraph graph;
    int events = 2 + rng() % 5;
    for (int i = 0; i < events; ++i)
      graph.add("e" + std::to_string(i));
    int edges = events + rng() % 5;
    for (int i = 0; i < edges; ++i)
      graph.edge(rng() % events, rng() % events, int64_t(rng() % 6) - 1, rng() % 30);
    bool tokenless = false;
    Rational best{-1, 1};
    forEachCycle(graph, [&](int64_t distance, int64_t latency) {
      tokenless |= distance <= 0;
      if (distance > 0)
        best = std::max(best, Rational::of(latency, distance));
    });
    auto cycle = findCycleWithoutToken(graph);
    ASSERT_EQ(cycle.has_value(), tokenless) << trial;
    if (tokenless) {
      ++without;
      EXPECT_LE(cycle->distance, 0);
      for (size_t i = 0; i < cycle->edges.size(); ++i)
        EXPECT_EQ(graph.edges[cycle->edges[i]].to,
                  graph.edges[cycle->edges[(i + 1) % cycle->edges.size()]].from);
      continue;
    }
    auto critical = maximumCycleRatio(graph);
    ASSERT_EQ(critical.has_value(), best.num >= 0) << trial;
    if (!critical)
      continue;
    ++ratios;
    fractions += critical->ratio.den > 1;
    EXPECT_EQ(critical->ratio, best) << trial;
    EXPECT_EQ(Rational::of(critical->cycle.latency, critical->cycle.distance), best);
  }
  EXPECT_GT(without, 300);
  EXPECT_GT(ratios, 300);
  EXPECT_GT(fractions, 100);
}

TEST(Rational, Rounding) {
  EXPECT_EQ(Rational::of(7, 2).ceil(), 4);
  EXPECT_EQ(Rational::of(8, 2).ceil(), 4);
  EXPECT_EQ(Rational::of(-7, 2).ceil(), -3);
  EXPECT_EQ(Rational::of(6, -4), (Rational{-3, 2}));
  EXPECT_EQ(Rational::of(10, 4).str(), "2.5");
  EXPECT_EQ(Rational::of(140, 3).str(), "46.7");
  EXPECT_EQ(Rational::of(12, 4).str(), "3");
}

} // namespace
