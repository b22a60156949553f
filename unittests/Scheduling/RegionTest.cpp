//===- RegionTest.cpp - Boxes that move with the loop index ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Problem/Region.h"
#include "gtest/gtest.h"

#include <random>
#include <set>

using namespace penstock::sched;

namespace {

Region box(std::vector<AffineInterval> dims) { return {Region::Kind::Box, std::move(dims)}; }

/// The cells of a box in iteration k, one by one.
std::set<std::vector<int64_t>> cells(const Region &r, int64_t k) {
  std::set<std::vector<int64_t>> out = {{}};
  for (const AffineInterval &x : r.box) {
    std::set<std::vector<int64_t>> next;
    for (const auto &prefix : out)
      for (int64_t i = 0; i < x.length; ++i) {
        auto cell = prefix;
        cell.push_back(x.scale * k + x.offset + i);
        next.insert(cell);
      }
    out = std::move(next);
  }
  return out;
}

bool meet(const Region &a, int64_t ka, const Region &b, int64_t kb) {
  auto x = cells(a, ka), y = cells(b, kb);
  return std::any_of(x.begin(), x.end(), [&](const auto &cell) { return y.count(cell) != 0; });
}

TEST(Region, OverlapEqualsEnumeration) {
  std::mt19937 rng(7);
  auto random = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng); };
  int overlapping = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    auto make = [&](size_t rank) {
      std::vector<AffineInterval> dims;
      for (size_t i = 0; i < rank; ++i)
        dims.push_back({random(-2, 2), random(-6, 6), random(1, 3)});
      return box(dims);
    };
    size_t rank = random(1, 2);
    Region a = make(rank), b = make(rank);
    DistanceSet set = overlapDistances(a, b);
    for (int64_t d = 0; d <= 6; ++d) {
      // Offsets differ by at most 12 + 2*6 and speeds by at least 1 where they
      // differ, so boxes that ever meet at this distance do so before k = 40.
      bool expected = false;
      for (int64_t k = 0; k <= 40 && !expected; ++k)
        expected = meet(a, k, b, k + d);
      EXPECT_EQ(overlapAt(a, b, d), expected) << trial << " d=" << d;
      EXPECT_EQ(set.contains(d), expected) << trial << " d=" << d;
      overlapping += expected;
    }
  }
  EXPECT_GT(overlapping, 500);
}

TEST(Region, CoveredEqualsEnumeration) {
  std::mt19937 rng(11);
  auto random = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng); };
  int yes = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    auto make = [&](int longest) {
      return box({{random(0, 1), random(0, 3), random(1, longest)},
                  {0, random(0, 2), random(1, longest)}});
    };
    Region read = make(3);
    std::vector<Region> writes;
    for (int i = random(1, 4); i > 0; --i)
      writes.push_back(make(5));
    bool expected = true;
    for (int64_t k = 0; k <= 20 && expected; ++k) {
      std::set<std::vector<int64_t>> all;
      for (const Region &w : writes)
        all.merge(cells(w, k));
      for (const auto &cell : cells(read, k))
        expected &= all.count(cell) != 0;
    }
    EXPECT_EQ(covered(read, writes), expected) << trial;
    yes += expected;
  }
  EXPECT_GT(yes, 300);
}

TEST(Region, WholeAndUnknown) {
  Region whole, unknown{Region::Kind::Unknown, {}};
  EXPECT_TRUE(overlapAt(whole, box({{1, 5, 1}}), 3));
  EXPECT_TRUE(overlapAt(unknown, box({{1, 5, 1}}), 3));
  EXPECT_TRUE(covered(unknown, {whole}));
  EXPECT_FALSE(covered(whole, {box({{0, 0, 100}})}));
  EXPECT_FALSE(covered(box({{0, 0, 1}}), {unknown}));
}

TEST(Region, LargeNumbersDoNotOverflow) {
  int64_t big = int64_t(1) << 40;
  Region a = box({{big, -big, big}}), b = box({{-big, big, 1}});
  // big*k - big <= -big*(k+d) + big < big*k, so 2k + d is 1 or 2: that is d=1
  // with k=0, d=0 with k=1, d=2 with k=0 (the last one: -big <= -big < 0).
  EXPECT_TRUE(overlapAt(a, b, 0));
  EXPECT_TRUE(overlapAt(a, b, 2));
  EXPECT_FALSE(overlapAt(a, b, 3));
}

TEST(Region, WhatIsLeftEqualsEnumeration) {
  std::mt19937 rng(11);
  auto random = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng); };
  int some = 0, all = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    size_t rank = size_t(random(1, 2));
    int64_t scale = random(-1, 1);
    auto make = [&](int longest) {
      std::vector<AffineInterval> dims;
      for (size_t i = 0; i < rank; ++i)
        dims.push_back({scale, random(0, 5), random(1, longest)});
      return box(dims);
    };
    Region read = make(5);
    std::vector<Region> writes;
    for (int i = random(1, 3); i > 0; --i)
      writes.push_back(make(7));
    std::set<std::vector<int64_t>> expected = cells(read, 3), left;
    for (const Region &write : writes)
      for (const auto &cell : cells(write, 3))
        expected.erase(cell);
    size_t pieces = 0;
    for (const Region &piece : uncovered(read, writes))
      for (const auto &cell : cells(piece, 3)) {
        left.insert(cell);
        ++pieces;
      }
    ASSERT_EQ(left, expected) << trial;
    EXPECT_EQ(pieces, left.size()) << "pieces overlap, " << trial;
    EXPECT_EQ(covered(read, writes), expected.empty()) << trial;
    some += !expected.empty() && expected != cells(read, 3);
    all += expected.empty();
  }
  EXPECT_GT(some, 100);
  EXPECT_GT(all, 100);
}

} // namespace
