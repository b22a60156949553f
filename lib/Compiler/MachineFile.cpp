//===- MachineFile.cpp - Measurements of one machine ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of lines, so that calibrations can be kept under version control:
//
//   penstock machine 1
//   row H100 0.00171 0.00155 Matmul M=8192, N=8192, K=8192
//
// A row has the chip, seconds measured and predicted, and what was run. The factor of a chip
// is the geometric mean of its rows.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "penstock/inspect.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

using namespace penstock;

namespace {

constexpr const char *firstLine = "penstock machine 1";

Diagnostic problem(const std::string &file, const std::string &what, const char *help) {
  Diagnostic d;
  d.code = ToolUsage;
  d.message = "the machine file `" + file + "` " + what;
  d.helps.push_back(help);
  return d;
}

constexpr const char *makeOne = "`penstock bench --calibrate FILE` makes one";

/// All rows; no value, with a diagnostic, if the file has another form.
std::optional<std::vector<CalibrationRow>> readRows(const std::string &file,
                                                    std::vector<Diagnostic> &diagnostics) {
  std::ifstream input(file);
  std::string line;
  if (!input || !std::getline(input, line)) {
    diagnostics.push_back(problem(file, "cannot be read", makeOne));
    return std::nullopt;
  }
  if (line != firstLine) {
    diagnostics.push_back(problem(file, "does not begin with `penstock machine 1`", makeOne));
    return std::nullopt;
  }
  std::vector<CalibrationRow> rows;
  while (std::getline(input, line)) {
    if (line.empty())
      continue;
    std::istringstream words(line);
    std::string keyword;
    CalibrationRow row;
    words >> keyword >> row.chip >> row.measured >> row.predicted;
    if (!words || keyword != "row" || !(row.measured > 0) || !(row.predicted > 0) ||
        !std::isfinite(row.measured / row.predicted)) {
      diagnostics.push_back(problem(
          file, "has a line that is not `row CHIP SECONDS SECONDS ..`: `" + line + "`", makeOne));
      return std::nullopt;
    }
    std::getline(words >> std::ws, row.what);
    rows.push_back(std::move(row));
  }
  return rows;
}

} // namespace

std::vector<Diagnostic> penstock::add_calibration(const std::string &file,
                                                  const CalibrationRow &row) {
  std::vector<Diagnostic> diagnostics;
  std::vector<CalibrationRow> rows;
  if (std::ifstream(file)) {
    auto found = readRows(file, diagnostics);
    if (!found)
      return diagnostics; // not ours to overwrite
    rows = std::move(*found);
  }
  // A kernel that is measured again replaces its row.
  std::erase_if(rows, [&](const CalibrationRow &each) {
    return each.chip == row.chip && each.what == row.what;
  });
  rows.push_back(row);
  std::ofstream output(file);
  output << firstLine << "\n";
  for (const CalibrationRow &each : rows) {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "%.6g %.6g", each.measured, each.predicted);
    output << "row " << each.chip << " " << numbers << " " << each.what << "\n";
  }
  if (!output.flush())
    diagnostics.push_back(problem(file, "cannot be written", "choose another file"));
  return diagnostics;
}

double penstock::machine_factor(const std::string &file, const std::string &chip,
                                std::vector<Diagnostic> &diagnostics) {
  auto rows = readRows(file, diagnostics);
  if (!rows)
    return 0;
  double sum = 0;
  int count = 0;
  for (const CalibrationRow &row : *rows)
    if (row.chip == chip) {
      sum += std::log(row.measured / row.predicted);
      ++count;
    }
  if (count == 0) {
    diagnostics.push_back(problem(file, "has no row of " + chip, makeOne));
    return 0;
  }
  return std::exp(sum / count);
}
