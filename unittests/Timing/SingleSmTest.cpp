//===- SingleSmTest.cpp - Measured main loops of one SM -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Table.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>

using namespace penstock;
using namespace penstock::timing;

namespace {

/// The clock that the sweep was locked to.
constexpr double sweepGhz = 1.3;
/// Larger footprints spill one side of L2.
constexpr double l2SideBytes = 60e6;

/// The chip of the sweep. Its latency was fitted with the barrier in it.
hw::Chip sweepChip() {
  hw::Chip chip = *hw::findChip("B200");
  chip.barrier.value = 0;
  return chip;
}

double cyclesPerBlock(const Table &table, size_t r, const hw::Chip &chip) {
  Matmul m;
  m.tileM = m.m = table.integer(r, "tileM");
  m.tileN = m.n = table.integer(r, "tileN");
  m.tileK = table.integer(r, "tileK");
  m.k = table.integer(r, "k");
  m.elementBytes = table.integer(r, "elementBytes");
  m.stages = table.integer(r, "stages");
  int64_t stageBytes = (m.tileM + m.tileN) * m.tileK * m.elementBytes;
  if (m.stages == 0) // as many as fit
    m.stages = std::clamp<int64_t>((232448 - 2048) / stageBytes, 1, 64);
  m.rowBytes = std::min<int64_t>(128, m.tileK * m.elementBytes);
  Conditions at;
  at.alone = true;
  at.ghz = sweepGhz;
  at.iterations = 192;
  double footprint = double((m.tileM + m.tileN) * m.k * m.elementBytes);
  if (footprint > l2SideBytes)
    at.cold = std::min(1.0, double(m.stages * m.rowBytes) / 128);
  return steadyState(matmul(m, chip).loop, chip, at).interval;
}

TEST(SingleSm, Errors) {
  Table table("single-sm.csv");
  ASSERT_EQ(table.size(), 702u);
  hw::Chip chip = sweepChip();
  std::vector<double> errors, heldOut;
  for (size_t r = 0; r < table.size(); ++r) {
    double error = std::abs(cyclesPerBlock(table, r, chip) / table.number(r, "cycles") - 1);
    errors.push_back(error);
    // Rows of other widths fitted the latency and the rate of loads.
    if (int64_t n = table.integer(r, "tileN"); n == 32 || n == 128 || n == 192)
      heldOut.push_back(error);
  }
  auto meanOf = [](const std::vector<double> &v) {
    double sum = 0;
    for (double x : v)
      sum += x;
    return sum / double(v.size());
  };
  EXPECT_LE(meanOf(errors), 0.045);
  EXPECT_EQ(heldOut.size(), 344u);
  EXPECT_LE(meanOf(heldOut), 0.045);
  std::sort(errors.begin(), errors.end());
  EXPECT_LE(errors[errors.size() * 95 / 100], 0.11);
  EXPECT_LE(errors.back(), 0.20);
  expectDocumented("| main loops on one SM of a B200 | 702 | mean error " +
                   percent(meanOf(errors)) + ", 95th percentile " +
                   percent(errors[errors.size() * 95 / 100]) + ", worst " + percent(errors.back()) +
                   " | 4.5, 11, 20 % |");
}

TEST(SingleSm, EqualToReferenceImplementation) {
  Table table("single-sm.csv");
  hw::Chip chip = sweepChip();
  for (size_t r = 0; r < table.size(); ++r)
    EXPECT_NEAR(cyclesPerBlock(table, r, chip) / table.number(r, "reference"), 1, 0.01)
        << "row " << r + 2;
}

// The advice of a model without waits for loads was one more stage for a tenth; each
// stage up to six brings a quarter.
TEST(SingleSm, StagesOfOneShape) {
  Table table("single-sm.csv");
  hw::Chip chip = sweepChip();
  double previous = 0;
  int seen = 0;
  for (int64_t stages : {3, 4, 5, 6})
    for (size_t r = 0; r < table.size(); ++r)
      if (table.integer(r, "tileM") == 128 && table.integer(r, "tileN") == 128 &&
          table.integer(r, "tileK") == 64 && table.integer(r, "elementBytes") == 2 &&
          table.integer(r, "stages") == stages) {
        double cycles = cyclesPerBlock(table, r, chip);
        EXPECT_NEAR(cycles / table.number(r, "cycles"), 1, 0.05) << stages;
        if (previous)
          EXPECT_LT(cycles, 0.9 * previous);
        previous = cycles;
        ++seen;
      }
  EXPECT_EQ(seen, 4);
}

// Tuning by prediction: of the kernels of one shape, the best quarter by prediction
// contains the fastest by measurement.
TEST(SingleSm, PruningKeepsTheWinner) {
  Table table("single-sm.csv");
  hw::Chip chip = sweepChip();
  std::map<std::array<int64_t, 3>, std::vector<std::pair<double, double>>> shapes;
  for (size_t r = 0; r < table.size(); ++r) {
    auto k = double(table.integer(r, "tileK"));
    shapes[{table.integer(r, "elementBytes"), table.integer(r, "tileM"), table.integer(r, "tileN")}]
        .push_back({cyclesPerBlock(table, r, chip) / k, table.number(r, "cycles") / k});
  }
  for (auto &[shape, kernels] : shapes) {
    double best = 1e30, kept = 1e30;
    for (const auto &k : kernels)
      best = std::min(best, k.second);
    std::sort(kernels.begin(), kernels.end());
    for (size_t i = 0; i < std::max<size_t>(1, kernels.size() / 4); ++i)
      kept = std::min(kept, kernels[i].second);
    EXPECT_LE(kept, 1.005 * best) << shape[1] << "x" << shape[2];
  }
}

} // namespace
