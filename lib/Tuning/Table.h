//===- Table.h - Tables of tuned kernels, for version control ---*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TUNING_TABLE_H
#define PENSTOCK_TUNING_TABLE_H

#include "Tuning/Points.h"

namespace penstock::tuning {

struct TableEntry {
  std::string kernel, target, shapeClass;
  /// In the order of the space's axes.
  FieldTexts fields;
  double seconds = 0;
  std::string times, machine;
};

struct Table {
  /// Ordered by kernel, target and class, each once.
  std::vector<TableEntry> entries;

  void set(TableEntry entry);
};

std::string writeTable(const Table &table);
/// No value, with the reason, if the text is not a table.
std::optional<Table> readTable(const std::string &text, const std::string &file,
                               std::vector<Diagnostic> &diagnostics);

} // namespace penstock::tuning

#endif // PENSTOCK_TUNING_TABLE_H
