//===- LadderTest.cpp - Published kernels on whole chips ------------------===//
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

/// Error limits of each ladder: with one factor from its other rows.
const std::map<std::string, double> &ladderLimits() {
  static const std::map<std::string, double> limits = {
      {"Tilus B200", 0.059},
      {"gau-nernst B200 4096", 0.069},
      {"ThunderKittens B200 4096", 0.108},
      {"Modular B200 4096", 0.072},
      {"Gluon B200 8192x8192x16384 no pipeline", 0.128},
      {"Gluon B200 128x256 pipelined", 0.066},
      {"Gluon H100 no pipeline", 0.142},
      {"Gluon H100 128x256 pipelined", 0.048},
      {"pranjalssh H100 8192", 0.103},
      {"Gluon B200 K sweep not persistent", 0.09},
      {"Gluon B200 K sweep WS persistent", 0.061},
      {"Gluon H100 K sweep not persistent", 0.059},
      {"Gluon H100 async product 2 buffers", 0.112},
      {"Gluon H100 K sweep persistent", 0.036},
      {"Gluon H100 K sweep persistent overlapped", 0.065},
      {"Gluon B200 K sweep persistent", 0.115},
      {"Gluon B200 K sweep 2-CTA", 0.068},
      {"gau-nernst B200 v7a sizes", 0.10},
      {"cuda_study H100 TF32", 0.057},
  };
  return limits;
}

struct Errors {
  double absolute = 0, oneFactor = 0;
  size_t rows = 0;
};

Errors errorsOf(const Ladders &all) {
  Errors e;
  for (const auto &[name, rows] : all) {
    Pairs pairs;
    for (const LadderRow &row : rows)
      pairs.add(row.prediction.tflops, row.measured);
    double one = leaveOneOut(pairs);
    EXPECT_LE(one, ladderLimits().at(name)) << name;
    e.absolute += meanError(pairs) * double(pairs.size());
    e.oneFactor += one * double(pairs.size());
    e.rows += pairs.size();
  }
  e.absolute /= double(e.rows);
  e.oneFactor /= double(e.rows);
  return e;
}

TEST(Ladders, Validation) {
  Errors e = errorsOf(ladders("validation"));
  EXPECT_EQ(e.rows, 65u);
  EXPECT_LE(e.oneFactor, 0.08) << "with one factor per ladder";
  EXPECT_LE(e.absolute, 0.12) << "absolute";
  expectDocumented("| twelve ladders of kernels, seen while the model was made | 65 | " +
                   percent(e.oneFactor) + " with one factor, " + percent(e.absolute) +
                   " absolute | 8, 12 % |");
}

TEST(Ladders, HeldOut) {
  Errors e = errorsOf(ladders("heldout"));
  EXPECT_EQ(e.rows, 36u);
  EXPECT_LE(e.oneFactor, 0.08);
  EXPECT_LE(e.absolute, 0.12);
  expectDocumented("| seven ladders, held out | 36 | " + percent(e.oneFactor) +
                   " with one factor, " + percent(e.absolute) + " absolute | 8, 12 % |");
}

TEST(Ladders, PictureOfPredictions) {
  std::string table = "chip,set,ladder,row,predicted,published\n";
  size_t count = 0;
  for (const char *set : {"validation", "heldout"})
    for (const auto &[name, rows] : ladders(set))
      for (const LadderRow &row : rows) {
        table += (name.find("B200") != name.npos ? "B200," : "H100,") + std::string(set) + "," +
                 name + "," + row.name + "," + std::to_string(std::lround(row.prediction.tflops)) +
                 "," + std::to_string(std::lround(row.measured)) + "\n";
        ++count;
      }
  EXPECT_EQ(count, 101u);
  expectStored("predicted-matmuls.csv", table);
}

TEST(Ladders, TilusVersionsInOrder) {
  const Ladders all = ladders("validation");
  Pairs pairs;
  for (const LadderRow &row : all.at("Tilus B200"))
    pairs.add(row.prediction.tflops, row.measured);
  EXPECT_EQ(rankCorrelation(pairs), 1);
  EXPECT_LE(meanError(pairs), 0.057);
}

TEST(Ladders, EqualToReferenceImplementation) {
  for (const char *set : {"validation", "heldout"})
    for (const auto &[name, rows] : ladders(set))
      for (const LadderRow &row : rows) {
        const Pairs &p = row.againstReference;
        for (size_t i = 0; i < p.size(); ++i)
          EXPECT_NEAR(p.predicted[i] / p.measured[i], 1, 0.01)
              << name << ", " << row.name << " " << i << ": " << p.predicted[i] << " for "
              << p.measured[i];
      }
}

TEST(TileShapes, RankCorrelation) {
  Table table("tile-shapes.csv");
  ASSERT_EQ(table.size(), 39u);
  const hw::Chip &chip = *hw::findChip("H100");
  // What the article does not say: each choice must do. Two come out lower. Persistent
  // kernels at 4096 have so few rounds that the last one decides, which depends on the
  // scheduler. In plain order at 16384 all kernels are bound by HBM, so that the article's
  // 0.98 of cuBLAS would be impossible.
  auto limit = [](int64_t size, bool persistent, int64_t group) {
    if (size == 4096 && persistent)
      return 0.945;
    return size == 16384 && group == 0 ? 0.91 : 0.95;
  };
  for (int64_t size : {4096, 8192, 16384})
    for (bool persistent : {false, true})
      for (int64_t group : {0, 1, 8, 16})
        for (bool perRows : {false, true}) {
          Pairs pairs;
          std::vector<Matmul> kernels = shapeKernels(table, {size, persistent, group, perRows, 1});
          for (size_t i = 0; i < kernels.size(); ++i)
            pairs.add(predictValue(matmul(kernels[i], chip), chip).tflops / cublasTflops,
                      table.number(i, "measured"));
          EXPECT_GE(rankCorrelation(pairs), limit(size, persistent, group))
              << size << " persistent " << persistent << " group " << group << " per rows "
              << perRows;
          if (size == 8192 && !persistent && group == 8 && !perRows) {
            EXPECT_LE(scaledError(pairs), 0.085);
            expectDocumented("| tile shape x K depth on H100, relative to cuBLAS | 39 | rank "
                             "correlation " +
                             twoDigits(rankCorrelation(pairs)) + ", error with one factor " +
                             percent(scaledError(pairs)) + " | 0.95, 8.5 % |");
          }
        }
}

// Tuning by prediction: the fastest of the 39 kernels is among the best quarter.
TEST(Pruning, KeepsTheWinnerOfTheTileShapes) {
  Table table("tile-shapes.csv");
  const hw::Chip &chip = *hw::findChip("H100");
  std::vector<Matmul> kernels = shapeKernels(table, {});
  size_t winner = 0, better = 0;
  std::vector<double> predicted;
  for (size_t i = 0; i < kernels.size(); ++i) {
    predicted.push_back(predictValue(matmul(kernels[i], chip), chip).tflops);
    if (table.number(i, "measured") > table.number(winner, "measured"))
      winner = i;
  }
  for (double p : predicted)
    better += p > predicted[winner];
  EXPECT_LT(better, kernels.size() / 4);
}

// Small sweeps of tile sizes and buffers: a tuner keeps what is tied with the best, and the
// fastest is. By value alone it would not be kept on H100: without a pipeline four of six
// kernels are predicted to be faster, and of two buffers that differ by 0.7 % the other.
TEST(Pruning, WinnersOfSmallSweepsAreTied) {
  PredictOptions known;
  known.machine.emplace();
  const Ladders seen = ladders("validation", known), held = ladders("heldout", known);
  for (const auto &[name, rows] :
       {*seen.find("Gluon B200 8192x8192x16384 no pipeline"), *seen.find("Gluon H100 no pipeline"),
        *seen.find("Gluon B200 128x256 pipelined"), *seen.find("Gluon H100 128x256 pipelined"),
        *held.find("Gluon H100 async product 2 buffers")}) {
    const LadderRow *winner = &rows[0], *best = &rows[0];
    for (const LadderRow &row : rows) {
      winner = row.measured > winner->measured ? &row : winner;
      best = row.prediction.tflops > best->prediction.tflops ? &row : best;
    }
    EXPECT_GE(winner->prediction.high, best->prediction.low) << name;
  }
}

TEST(TileShapes, EqualToReferenceImplementation) {
  Table table("tile-shapes.csv");
  const hw::Chip &chip = *hw::findChip("H100");
  std::vector<Matmul> kernels = shapeKernels(table, {});
  for (size_t i = 0; i < kernels.size(); ++i)
    EXPECT_NEAR(predictValue(matmul(kernels[i], chip), chip).tflops / table.number(i, "reference"),
                1, 0.01)
        << kernels[i].tileM << "x" << kernels[i].tileK;
}

} // namespace
