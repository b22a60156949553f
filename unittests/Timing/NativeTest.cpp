//===- NativeTest.cpp - Native code against measured tables ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tables of benchmarks/measure-native-model, which name their machine. Predictions are those
// of `penstock explain` for that machine and one thread, on any machine that runs this.
//
//===----------------------------------------------------------------------===//
#include "Hardware/Cpu.h"
#include "Table.h"
#include "native/ModelKernels.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cstdio>
#include <map>
#include <penstock/inspect.h>
#include <sstream>

using namespace penstock;
using penstock::timing::Pairs;
using penstock::timing::Table;

namespace {

constexpr const char *machine = "graniterapids";

/// "block_m=64 block_n=32".
std::vector<std::pair<std::string, std::string>> pairsOf(const std::string &text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    size_t equals = word.find('=');
    pairs.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return pairs;
}

PredictedRun predicted(const std::string &kernel, const std::string &fields,
                       const std::string &sizes, const std::string &machineFile = "") {
  InspectOptions options;
  options.machine = machineFile;
  options.set = pairsOf(fields);
  std::vector<std::pair<std::string, double>> shape;
  for (const auto &[name, value] : pairsOf(sizes))
    shape.emplace_back(name, std::stod(value));
  std::vector<Diagnostic> diagnostics;
  PredictedRun run = predict_registered(kernel, machine, shape, options, diagnostics, false);
  EXPECT_TRUE(diagnostics.empty()) << kernel << " " << fields << ": " << to_text(diagnostics);
  return run;
}

double cycles(const Table &table, size_t row) {
  PredictedRun run =
      predicted(table.text(row, "kernel"), table.text(row, "fields"), table.text(row, "sizes"));
  return run.seconds * hw::findCpu(machine)->clock.value * 1e9;
}

/// With PENSTOCK_PRINT_ROWS, each row for people who work on the model.
void printRow(const Table &table, size_t row, const Pairs &pairs) {
  double p = pairs.predicted.back(), m = pairs.measured.back();
  if (std::getenv("PENSTOCK_PRINT_ROWS"))
    std::printf("%.2f\t%s %s %s\t%.0f for %.0f\t%s samples\n", p / m,
                table.text(row, "kernel").c_str(), table.text(row, "fields").c_str(),
                table.text(row, "sizes").c_str(), p, m, table.text(row, "samples").c_str());
}

TEST(Native, MeasuredConfigurations) {
  Table table("native.csv");
  ASSERT_GE(table.size(), 200u);
  Pairs all;
  std::map<std::string, Pairs> kernels;
  for (size_t r = 0; r < table.size(); ++r) {
    double p = cycles(table, r), m = table.number(r, "cycles");
    all.add(p, m);
    kernels[table.text(r, "kernel")].add(p, m);
    printRow(table, r, all);
  }
  EXPECT_LE(meanError(all), 0.15);
  EXPECT_GE(rankCorrelation(all), 0.9);
  for (const auto &[name, pairs] : kernels) {
    std::printf("%-12s %3zu rows: mean error %.1f %%, with one factor %.1f %%, rank correlation "
                "%.3f\n",
                name.c_str(), pairs.size(), 100 * meanError(pairs), 100 * leaveOneOut(pairs),
                rankCorrelation(pairs));
    EXPECT_GE(rankCorrelation(pairs), 0.9) << name;
  }
  timing::expectDocumented(
      "| native code on Granite Rapids, one thread: matmul in f32, f16, bf16 and i8, "
      "softmax, attention | " +
      std::to_string(all.size()) + " | mean error " + timing::percent(meanError(all)) +
      ", rank correlation " + timing::twoDigits(rankCorrelation(all)) + " | 15 %, 0.9 |");
}

// Bars without the error of the machine, which is the one that was measured. A machine file
// scales times by its factor.
TEST(Native, BarsHoldMostRows) {
  std::string file = testing::TempDir() + "native-machine.txt";
  std::remove(file.c_str());
  ASSERT_TRUE(add_calibration(file, {machine, 3, 3, "rows of the table"}).empty());
  Table table("native.csv");
  double held = 0;
  for (size_t r = 0; r < table.size(); ++r) {
    PredictedRun run =
        predicted(table.text(r, "kernel"), table.text(r, "fields"), table.text(r, "sizes"), file);
    size_t at = run.json.find("\"high\":");
    ASSERT_NE(at, std::string::npos);
    double spread = std::strtod(&run.json[at + 7], nullptr) / run.seconds;
    double ratio =
        run.seconds * hw::findCpu(machine)->clock.value * 1e9 / table.number(r, "cycles");
    held += ratio < spread && ratio > 1 / spread;
  }
  EXPECT_GE(held, 0.85 * double(table.size()));
  EXPECT_LE(held, 0.97 * double(table.size()));
  PredictedRun once = predicted("Softmax", "rows=4", "R=64 C=512");
  ASSERT_TRUE(add_calibration(file, {machine, 6, 1.5, "another"}).empty());
  PredictedRun twice = predicted("Softmax", "rows=4", "R=64 C=512", file);
  EXPECT_NEAR(twice.seconds / once.seconds, 2, 1e-3); // of 1 and 4
  std::remove(file.c_str());
}

// A tuner that measures the best quarter by prediction measures the fastest configuration.
TEST(Native, BestQuarterHoldsTheWinnersOfSweeps) {
  Table table("native-sweeps.csv");
  std::map<std::string, std::vector<size_t>> sweeps;
  for (size_t r = 0; r < table.size(); ++r)
    sweeps[table.text(r, "kernel") + " " + table.text(r, "sizes")].push_back(r);
  ASSERT_EQ(sweeps.size(), 5u);
  size_t points = 0;
  std::vector<size_t> places;
  for (const auto &[name, rows] : sweeps) {
    points += rows.size();
    Pairs pairs;
    for (size_t r : rows) {
      pairs.add(cycles(table, r), table.number(r, "cycles"));
      printRow(table, r, pairs);
    }
    size_t winner = size_t(std::min_element(pairs.measured.begin(), pairs.measured.end()) -
                           pairs.measured.begin());
    size_t better = size_t(std::count_if(pairs.predicted.begin(), pairs.predicted.end(),
                                         [&](double p) { return p < pairs.predicted[winner]; }));
    size_t best = size_t(std::min_element(pairs.predicted.begin(), pairs.predicted.end()) -
                         pairs.predicted.begin());
    std::printf("%s: winner is number %zu of %zu by prediction; the best predicted one takes %.2f "
                "of its time; rank correlation %.3f\n",
                name.c_str(), better + 1, rows.size(),
                pairs.measured[best] / pairs.measured[winner], rankCorrelation(pairs));
    EXPECT_LT(better, rows.size() / 4) << name;
    places.push_back(better + 1);
  }
  EXPECT_EQ(points, 500u);
  std::sort(places.begin(), places.end());
  std::string numbers;
  for (size_t i = 0; i < places.size(); ++i)
    numbers += (i == 0 ? "" : i + 1 < places.size() ? ", " : " and ") + std::to_string(places[i]);
  timing::expectDocumented(
      "| exhaustive sweeps of five native kernels | 500 | the fastest is number " + numbers +
      " of 100 by prediction | best quarter |");
}

} // namespace
