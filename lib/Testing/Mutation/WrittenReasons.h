//===- WrittenReasons.h - Reasons that authors of kernels register -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_MUTATION_WRITTENREASONS_H
#define PENSTOCK_TESTING_MUTATION_WRITTENREASONS_H

#include "penstock/check.h"

#include <mutex>

namespace penstock {

/// Reasons by kernel and by a part of a source line or instruction.
class WrittenReasons {
public:
  void add(const std::string &kernel, const std::string &text, const std::string &reason);
  /// Returns the reason for a source line or an instruction; empty: none. Besides its text, a line
  /// is named by "file.h:12".
  std::string find(const std::string &kernel, const SourceLocation &source,
                   const std::string &instruction = {});

private:
  struct Row {
    std::string kernel, text, reason;
  };
  std::mutex mutex;
  std::vector<Row> rows;
};

/// Returns whether \p text names a source line: it is a part of it, or "file.h:12".
bool namesLine(const std::string &text, const SourceLocation &source);

/// Reasons of PENSTOCK_EQUIVALENT.
WrittenReasons &equivalenceReasons();
/// Reasons of PENSTOCK_WAIVE.
WrittenReasons &coverageWaivers();

} // namespace penstock

#endif // PENSTOCK_TESTING_MUTATION_WRITTENREASONS_H
