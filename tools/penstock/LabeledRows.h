//===- LabeledRows.h - Results as labeled rows ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_LABELEDROWS_H
#define PENSTOCK_TOOLS_LABELEDROWS_H

#include <string>
#include <vector>

/// "bound by   the tensor core", and the lines below it that begin with as many spaces.
struct LabeledRow {
  std::string label; ///< empty: a line without a label
  std::vector<std::string> lines;
};

/// Splits summaries and predictions into their rows.
std::vector<LabeledRow> rowsOf(const std::string &text);

/// Labels in bold and lines wrapped, as standard output needs it. Text without labels is left as it
/// is.
std::string forTerminal(const std::string &text);

std::string rowText(const std::string &label, const std::vector<std::string> &lines);

#endif // PENSTOCK_TOOLS_LABELEDROWS_H
