//===- Table.h - Published measurements as tables ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tables of unittests/Timing/data, and the statistics of predictions against them.
// `measured` is what the source published. `reference` is what an independent Python
// implementation of the same model predicts.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_TIMING_TABLE_H
#define PENSTOCK_UNITTESTS_TIMING_TABLE_H

#include "Matmul.h"
#include "Timing/Predict.h"

#include <map>
#include <string>
#include <vector>

namespace penstock::timing {

class Table {
public:
  /// Reads a file of unittests/Timing/data; the test fails if it cannot be read.
  explicit Table(const std::string &name);

  size_t size() const { return rows.size(); }
  const std::string &text(size_t row, const std::string &column) const;
  double number(size_t row, const std::string &column) const;
  int64_t integer(size_t row, const std::string &column) const {
    return int64_t(number(row, column));
  }

private:
  std::map<std::string, size_t> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Predictions and measurements of one set.
struct Pairs {
  std::vector<double> predicted, measured;
  void add(double p, double m) {
    predicted.push_back(p);
    measured.push_back(m);
  }
  size_t size() const { return measured.size(); }
};

/// Prints a row of a table of results, and expects it in a page of docs/.
void expectDocumented(const std::string &row);
/// Expects a table of predictions beside published values in docs/results, from which
/// docs/draw-results draws; with PENSTOCK_UPDATE_PICTURES=1 it is written instead.
void expectStored(const std::string &file, const std::string &table);
/// "7.6 %" for 0.076.
std::string percent(double share);
/// With two digits: "0.97".
std::string twoDigits(double value);

/// Spearman's rank correlation.
double rankCorrelation(const Pairs &);
/// Mean of |predicted / measured - 1|.
double meanError(const Pairs &);
/// The same after one factor, which is the geometric mean of measured / predicted.
double scaledError(const Pairs &);
/// The same, with each row's factor taken from the other rows.
double leaveOneOut(const Pairs &);
std::vector<double> leaveOneOutErrors(const Pairs &);

/// The row of ladders.csv as a kernel.
Matmul matmulOf(const Table &, size_t row);

/// A row of a ladder: the best of its tuning space, which has several kernels.
struct LadderRow {
  std::string name;
  Matmul kernel;
  Prediction prediction;
  double measured = 0;
  double reference = 0;
  Pairs againstReference; ///< all kernels of the space
};
using Ladders = std::map<std::string, std::vector<LadderRow>>;
/// Predicts the ladders of a set: "validation" or "heldout".
Ladders ladders(const std::string &set, const PredictOptions & = {});

/// The 39 kernels of tile-shapes.csv: what the article leaves open is a parameter.
struct ShapeChoice {
  int64_t size = 8192;
  bool persistent = false;
  int64_t group = 8;
  /// Warpgroups that multiply: one for up to 192 rows, or one for each 64 rows.
  bool perRows = false;
  int64_t lag = 1;
};
std::vector<Matmul> shapeKernels(const Table &, const ShapeChoice &);
/// cuBLAS at 8192 on H100, which the table is relative to.
inline constexpr double cublasTflops = 795;

} // namespace penstock::timing

#endif // PENSTOCK_UNITTESTS_TIMING_TABLE_H
