//===- Compare.h - The checker against the oracle ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_COMPARE_H
#define PENSTOCK_FUZZ_PIPELINES_COMPARE_H

#include "GenerateInstance.h"
#include "Product.h"

namespace penstock::fuzz {

/// What a case turned out to be.
enum class Category { Legal, Illegal, Form, Dead, Exchanged, Wait, Conservative };

struct Comparison {
  Category category = Category::Legal;
  int64_t stages = 1;
  /// The most versions that a buffer has.
  int64_t versions = 1;
  /// Its schedule is that of the exact solver.
  bool optimal = false;
  uint64_t runs = 0;
  /// Empty if checker, oracle and native code agree.
  std::string disagreement;
  /// They agree whether it is legal, but not which rules are broken.
  bool onlyCodesDiffer = false;
  /// The loop as the analysis sees it.
  std::string instance;
  DeviceRun device;
};

struct CompareOptions {
  uint64_t seed = 0;
  sched::RuleSet rules = {};
  /// Compile and run what is legal.
  bool native = true;
  /// On an emulated GPU instead.
  bool device = false;
};

Comparison compareProgram(const Program &, const CompareOptions &);

/// What became of the points of a program's plans, each left out in turn.
struct PointsLeftOut {
  uint64_t points = 0;
  uint64_t noticed = 0;  ///< by the emulator: a finding, or other results
  uint64_t restored = 0; ///< joins that another pass inserts elsewhere
  uint64_t atEnd = 0;    ///< waits after the loop for copies that nothing reads there
  std::string unnoticed; ///< the first that makes no difference
};
PointsLeftOut leaveOutPoints(const Program &, uint64_t seed);
/// The same for a loop of the explicit level, which cannot be run.
Comparison compareInstance(const LoopInstance &, const CompareOptions &);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_COMPARE_H
