//===- ClockTest.cpp - Vector clocks --------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Time/Clock.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace penstock::emu;

namespace {

/// The obvious implementation.
struct Model {
  std::map<std::pair<uint32_t, unsigned>, uint32_t> lanes;
  std::map<uint64_t, uint32_t> agents;
  void raise(uint32_t &slot, uint32_t count) { slot = std::max(slot, count); }
  void join(const Model &o) {
    for (auto &[k, v] : o.lanes)
      raise(lanes[k], v);
    for (auto &[k, v] : o.agents)
      raise(agents[k], v);
  }
};

TEST(Clock, AgreesWithPlainMaps) {
  std::mt19937 rng(7);
  // Warps 10..13 are dense; 3 and 20 are not.
  const uint32_t warps[] = {10, 11, 12, 13, 3, 20};
  std::vector<Clock> clocks(5, Clock(10, 4));
  clocks[4] = Clock(20, 1); // another cluster's
  std::vector<Model> models(5);
  for (int step = 0; step < 20000; ++step) {
    size_t i = rng() % 5, j = rng() % 5;
    uint32_t warp = warps[rng() % 6], count = rng() % 50;
    unsigned lane = rng() % 32;
    switch (rng() % 4) {
    case 0:
      clocks[i].setLane(warp, lane, count);
      models[i].raise(models[i].lanes[{warp, lane}], count);
      break;
    case 1:
      clocks[i].setWarp(warp, count / 8);
      for (unsigned l = 0; l < 32; ++l)
        models[i].raise(models[i].lanes[{warp, l}], count / 8);
      break;
    case 2:
      clocks[i].setAgent(rng() % 3, count);
      break;
    default:
      clocks[i].join(clocks[j]);
      models[i].join(models[j]);
    }
    uint32_t w = warps[rng() % 6];
    unsigned l = rng() % 32;
    ASSERT_EQ(clocks[i].lane(w, l), (models[i].lanes[{w, l}])) << step;
  }
}

TEST(Clock, AgentsSurviveJoins) {
  Clock a(0, 2), b(0, 2);
  a.setAgent(5, 3);
  b.setAgent(5, 7);
  b.setAgent(6, 1);
  a.join(b);
  EXPECT_EQ(a.agent(5), 7u);
  EXPECT_EQ(a.agent(6), 1u);
  EXPECT_EQ(a.agent(7), 0u);
}

} // namespace
