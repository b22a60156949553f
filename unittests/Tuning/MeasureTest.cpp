//===- MeasureTest.cpp - Rounds of measuring and their progress -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tuning/Measure.h"
#include "gtest/gtest.h"

using namespace penstock;
using namespace penstock::tuning;

namespace {

/// Times are constant. The first probes are slow, as on a busy machine.
class BusyMachine : public Machine {
public:
  explicit BusyMachine(int slowProbes) : slow(slowProbes) {}
  std::vector<Diagnostic> run(const AnyKernel &, MadeArguments &) override { return {}; }
  std::optional<double> time(const AnyKernel &, int, std::vector<Diagnostic> &) override {
    return 1e-3;
  }
  double probe() override { return probes++ < slow ? 10 : 1; }
  double delay() override { return 0; }

private:
  int slow, probes = 0;
};

std::vector<std::pair<int, int>> progressOf(int slowProbes, int rounds) {
  BusyMachine machine(slowProbes);
  TuneCandidate candidate;
  std::vector<Runnable> runnable(1);
  runnable[0].candidate = &candidate;
  std::vector<Diagnostic> diagnostics;
  std::vector<std::pair<int, int>> seen;
  RoundOptions options;
  options.rounds = rounds;
  measureRounds(machine, runnable, options, diagnostics, [&](int round, int total) {
    seen.emplace_back(round, total);
    return true;
  });
  EXPECT_TRUE(diagnostics.empty());
  return seen;
}

TEST(MeasureRounds, ReportTheStatedNumberOnAQuietMachine) {
  std::vector<std::pair<int, int>> expected = {{1, 4}, {2, 4}, {3, 4}, {4, 4}};
  EXPECT_EQ(progressOf(0, 4), expected);
}

TEST(MeasureRounds, NeverCountBeyondTheTotal) {
  // 20 probes before the first round, and two beside each sample: the samples of three rounds are
  // replaced by those of three more.
  auto seen = progressOf(26, 4);
  ASSERT_EQ(seen.size(), 7u);
  for (auto [round, total] : seen)
    EXPECT_LE(round, total);
  EXPECT_EQ(seen.back(), (std::pair{7, 7}));
}

} // namespace
