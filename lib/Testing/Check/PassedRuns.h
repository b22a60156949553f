//===- PassedRuns.h - Runs that need not be repeated ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A long check can be stopped and taken up again: every run that passed is a line
// of a file, written at once. A line names the exact PTX by a fingerprint, so that
// a kernel that was changed is checked again.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_CHECK_PASSEDRUNS_H
#define PENSTOCK_TESTING_CHECK_PASSEDRUNS_H

#include "penstock/diagnostics.h"

#include <cstdio>
#include <mutex>
#include <set>

namespace penstock {

class PassedRuns {
public:
  PassedRuns() = default;
  PassedRuns(const PassedRuns &) = delete;
  PassedRuns &operator=(const PassedRuns &) = delete;
  ~PassedRuns();

  /// Reads what the file holds and appends to it from now on. An empty name is
  /// no file. Says what is wrong with the file.
  std::vector<Diagnostic> open(const std::string &file);
  bool has(const std::string &run);
  void add(const std::string &run);

private:
  std::mutex mutex;
  std::set<std::string> passed;
  std::FILE *out = nullptr;
};

/// 16 hexadecimal digits that change with the text.
std::string fingerprint(const std::string &text);

} // namespace penstock

#endif // PENSTOCK_TESTING_CHECK_PASSEDRUNS_H
