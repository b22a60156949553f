//===- Table.cpp - Published measurements as tables -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Table.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

using namespace penstock;
using namespace penstock::timing;

Table::Table(const std::string &name) {
  std::ifstream file(std::string(PENSTOCK_SOURCE_DIR "/unittests/Timing/data/") + name);
  EXPECT_TRUE(file) << name;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#')
      continue;
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');)
      cells.push_back(cell);
    if (columns.empty())
      for (size_t i = 0; i < cells.size(); ++i)
        columns[cells[i]] = i;
    else
      rows.push_back(cells);
  }
  for (const auto &row : rows)
    EXPECT_EQ(row.size(), columns.size()) << name << ": " << (row.empty() ? "" : row[0]);
}

const std::string &Table::text(size_t row, const std::string &column) const {
  auto found = columns.find(column);
  if (found == columns.end())
    throw std::runtime_error("no column " + column);
  return rows.at(row).at(found->second);
}

double Table::number(size_t row, const std::string &column) const {
  return std::stod(text(row, column));
}

void penstock::timing::expectDocumented(const std::string &row) {
  std::printf("%s\n", row.c_str());
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(PENSTOCK_SOURCE_DIR "/docs")) {
    if (entry.path().extension() != ".md")
      continue;
    std::ifstream page(entry.path());
    for (std::string line; std::getline(page, line);)
      if (line == row)
        return;
  }
  ADD_FAILURE() << "no page of docs/ has this row:\n" << row;
}

void penstock::timing::expectStored(const std::string &file, const std::string &table) {
  std::string path = PENSTOCK_SOURCE_DIR "/docs/results/" + file;
  if (std::getenv("PENSTOCK_UPDATE_PICTURES"))
    std::ofstream(path) << table;
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), table)
      << path
      << " is out of date; PENSTOCK_UPDATE_PICTURES=1 writes it, then run docs/draw-results";
}

std::string penstock::timing::percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

std::string penstock::timing::twoDigits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

namespace {

std::vector<double> ranks(const std::vector<double> &values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t j = i;
    while (j + 1 < order.size() && values[order[j + 1]] == values[order[i]])
      ++j;
    for (size_t q = i; q <= j; ++q)
      rank[order[q]] = double(i + j) / 2;
    i = j + 1;
  }
  return rank;
}

double correlation(const std::vector<double> &x, const std::vector<double> &y) {
  double n = double(x.size());
  double mx = std::accumulate(x.begin(), x.end(), 0.0) / n;
  double my = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mx) * (y[i] - my);
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
  }
  return xy / std::sqrt(xx * yy);
}

Pairs scaled(const Pairs &pairs) {
  double sum = 0;
  for (size_t i = 0; i < pairs.size(); ++i)
    sum += std::log(pairs.measured[i] / pairs.predicted[i]);
  double factor = std::exp(sum / double(pairs.size()));
  Pairs result = pairs;
  for (double &p : result.predicted)
    p *= factor;
  return result;
}

double mean(const std::vector<double> &values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

Matmul::Form formOf(const std::string &name) {
  for (Matmul::Form form : {Matmul::Form::Serial, Matmul::Form::Skewed, Matmul::Form::Trailing,
                            Matmul::Form::Specialized})
    if (describe(form) == name)
      return form;
  throw std::runtime_error("no form " + name);
}

} // namespace

double timing::rankCorrelation(const Pairs &pairs) {
  return correlation(ranks(pairs.predicted), ranks(pairs.measured));
}

double timing::meanError(const Pairs &pairs) {
  double sum = 0;
  for (size_t i = 0; i < pairs.size(); ++i)
    sum += std::abs(pairs.predicted[i] / pairs.measured[i] - 1);
  return sum / double(pairs.size());
}

double timing::scaledError(const Pairs &pairs) { return meanError(scaled(pairs)); }

std::vector<double> timing::leaveOneOutErrors(const Pairs &pairs) {
  std::vector<double> errors;
  for (size_t i = 0; i < pairs.size(); ++i) {
    double sum = 0;
    for (size_t j = 0; j < pairs.size(); ++j)
      if (j != i)
        sum += std::log(pairs.measured[j] / pairs.predicted[j]);
    double factor = std::exp(sum / double(pairs.size() - 1));
    errors.push_back(std::abs(pairs.predicted[i] * factor / pairs.measured[i] - 1));
  }
  return errors;
}

double timing::leaveOneOut(const Pairs &pairs) { return mean(leaveOneOutErrors(pairs)); }

Matmul timing::matmulOf(const Table &table, size_t r) {
  auto get = [&](const char *column) { return table.integer(r, column); };
  Matmul m;
  m.m = get("m");
  m.n = get("n");
  m.k = get("k");
  m.tileM = get("tileM");
  m.tileN = get("tileN");
  m.tileK = get("tileK");
  m.stages = get("stages");
  m.elementBytes = get("elementBytes");
  m.outputBytes = get("outputBytes");
  m.form = formOf(table.text(r, "form"));
  m.lag = get("lag");
  m.pair = get("pair");
  m.multicast = get("multicast");
  m.consumers = get("consumers");
  m.threadCopies = table.text(r, "loader") == "threads";
  m.rowBytes = get("rowBytes");
  m.persistent = get("persistent");
  m.accumulators = get("accumulators");
  m.group = get("group");
  m.epilogue =
      table.text(r, "epilogue") == "bulk" ? Matmul::Epilogue::Bulk : Matmul::Epilogue::Stores;
  m.epilogueColumns = get("epilogueColumns");
  m.epilogueWarps = get("epilogueWarps");
  m.registers = get("registers");
  m.threads = get("threads");
  m.blocksPerSm = get("blocksPerSm");
  m.maxBlocks = get("maxBlocks");
  m.extraShared = get("extraShared");
  return m;
}

Ladders timing::ladders(const std::string &set, const PredictOptions &options) {
  Table table("ladders.csv");
  Ladders result;
  for (size_t r = 0; r < table.size(); ++r) {
    if (table.text(r, "set") != set)
      continue;
    auto &rows = result[table.text(r, "ladder")];
    if (rows.empty() || rows.back().name != table.text(r, "row"))
      rows.push_back({table.text(r, "row"), {}, {}, table.number(r, "measured"), 0, {}});
    LadderRow &row = rows.back();
    const hw::Chip &chip = *hw::findChip(table.text(r, "chip"));
    Matmul m = matmulOf(table, r);
    Prediction p = predict(matmul(m, chip), chip, options);
    row.againstReference.add(p.tflops, table.number(r, "reference"));
    row.reference = std::max(row.reference, table.number(r, "reference"));
    if (p.tflops > row.prediction.tflops) {
      row.prediction = p;
      row.kernel = m;
    }
  }
  return result;
}

std::vector<Matmul> timing::shapeKernels(const Table &table, const ShapeChoice &choice) {
  std::vector<Matmul> kernels;
  for (size_t r = 0; r < table.size(); ++r) {
    Matmul m;
    m.m = m.n = m.k = choice.size;
    m.tileM = table.integer(r, "tileM");
    m.tileN = 128;
    m.tileK = table.integer(r, "tileK");
    m.stages = table.integer(r, "stages");
    m.lag = std::min(choice.lag, m.stages - 1);
    // Accumulators of 256 x 128 do not fit one warpgroup; those of 320 x 128 do not fit
    // two, and 320 rows are no whole number of products for two.
    m.consumers = m.tileM == 256 ? 2 : 1;
    if (choice.perRows && m.tileM < 320)
      m.consumers = m.tileM / 64;
    // The widest swizzle whose span divides the rows.
    m.rowBytes = m.tileK % 64 == 0 ? 128 : 64;
    m.threads = 128 * (m.consumers + 1);
    m.blocksPerSm = 1;
    m.persistent = choice.persistent;
    m.group = choice.group;
    kernels.push_back(m);
  }
  return kernels;
}
