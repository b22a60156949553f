//===- TuneProgress.h - Progress of tuning ----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_TUNEPROGRESS_H
#define PENSTOCK_TOOLS_TUNEPROGRESS_H

#include "CommandLine/Progress.h"
#include "penstock/tune.h"

/// Shows a bar and the best candidates so far: on a terminal in place, else a line every
/// ten seconds.
class TuneDisplay {
public:
  void show(const penstock::TuneProgress &now);
  /// Makes room for other output.
  void clear();

private:
  penstock::Progress progress;
  penstock::TimeLeft left;
  size_t lines = 0; ///< on the terminal
  std::chrono::steady_clock::time_point next = std::chrono::steady_clock::now();
};

/// "[#####.....]  5/10".
std::string progressBar(size_t done, size_t total);

#endif // PENSTOCK_TOOLS_TUNEPROGRESS_H
