//===- Contest.h - Native code beside libraries -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All contenders take turns in one process, and each round starts with another one. The
// ratio is the median over rounds of the fastest other's time by ours. A round counts if
// the unit that multiplies was in its fast state before and after each of its samples and other
// processes left the cores alone; after PENSTOCK_BENCH_GATED_SECONDS (120) without seven
// such rounds, all of them count and the result says so.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_NATIVE_CONTEST_H
#define PENSTOCK_BENCHMARKS_NATIVE_CONTEST_H

#include "Anchors.h"
#include "FusedAnchors.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// The unit of a core that does most of the work, which a probe checks.
enum class Unit { Tiles, Vectors };
/// Returns tiles where native code uses them.
Unit bestUnit();

/// Libraries of benchmarks/install-anchors, and OpenBLAS where it was there when this was built.
/// PENSTOCK_CPU restricts them to the same instructions, as far as each library can do it.
std::vector<Anchor> openAnchors();
const std::vector<const FusedAnchor *> &openFusedAnchors();

struct Contender {
  std::string name;
  std::function<void()> run;
};

struct Result {
  double ours = 0, others = 0, ratio = 0; ///< seconds; of the fastest other one
  double ofPeak = 0;                      ///< nanoseconds of an instruction that multiplies
  size_t rounds = 0;
  bool gated = true;
  std::string name; ///< of the other one that was fastest most often
  /// Of each other one, the median of its time by ours.
  std::vector<std::pair<std::string, double>> ratios;

  /// Returns the ratios: "MKL 2026.2 1.02, OpenBLAS 0.3.21 1.05".
  std::string each() const {
    std::string text;
    for (const auto &[other, ratio] : ratios) {
      char number[16];
      std::snprintf(number, sizeof number, " %.2f", ratio);
      text += (text.empty() ? "" : ", ") + other + number;
    }
    return text;
  }
  std::string text() const {
    return (name.empty() ? "no baseline; benchmarks/install-anchors installs them" : name) + "; " +
           std::to_string(rounds) + " rounds" + (gated ? "" : ", NOT gated: the machine was busy");
  }
};

/// Runs contenders in turns. The first one is ours; without another one, `others` and `ratio` are
/// 0.
Result compare(const std::vector<Contender> &contenders, int threads, Unit unit);

} // namespace bench

#endif // PENSTOCK_BENCHMARKS_NATIVE_CONTEST_H
