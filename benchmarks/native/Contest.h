//===- Contest.h - Native code beside libraries -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All contenders take turns in one process, and each round starts with another one. The
// ratio is the median over rounds of the fastest other's time by ours. A round counts if
// the tile unit was in its fast state before and after each of its samples and other
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
#include <vector>

namespace bench {

/// Libraries of benchmarks/install-anchors; empty without them.
std::vector<Anchor> openAnchors();
const std::vector<const FusedAnchor *> &openFusedAnchors();

struct Contender {
  std::string name;
  std::function<void()> run;
};

struct Result {
  double ours = 0, others = 0, ratio = 0; ///< seconds; of the fastest other one
  double ofPeak = 0;                      ///< nanoseconds of a product of tiles
  size_t rounds = 0;
  bool gated = true;
  std::string name; ///< of the other one that was fastest most often

  std::string text() const {
    return name + "; " + std::to_string(rounds) + " rounds" +
           (gated ? "" : ", NOT gated: the machine was busy");
  }
};

/// Runs contenders in turns. The first one is ours.
Result compare(const std::vector<Contender> &contenders, int threads);

} // namespace bench

#endif // PENSTOCK_BENCHMARKS_NATIVE_CONTEST_H
