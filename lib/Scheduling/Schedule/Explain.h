//===- Explain.h - Why a loop became what it is -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that `penstock explain` says about a scheduled loop, as data, and
// its text: stages, orders and versions, what ends each asynchronous statement,
// what bounds the interval, what each buffer costs, and whether a deeper
// pipeline would fit and help.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_SCHEDULE_EXPLAIN_H
#define PENSTOCK_SCHEDULING_SCHEDULE_EXPLAIN_H

#include "Scheduling/Schedule/Predict.h"

namespace penstock::sched {

struct ExplainedStatement {
  std::string name;
  SourceLocation location;
  int64_t stage = 0;
  int64_t order = 0;
  std::string engine;
  std::string role;
  int64_t busy = 0;
  int64_t latency = 0;
  /// "at once", "at `wait` of k+1", "before `copy` of k+3", "at the end".
  std::string completes;
};

struct ExplainedBuffer {
  std::string name;
  Space space = Space::Shared;
  unsigned versions = 1;
  unsigned needed = 1;
  int64_t bytes = 0; ///< of one version
  /// Pair of statements that requires the versions, or the reason why there is only one.
  std::string why;
};

struct ExplainedSpace {
  Space space = Space::Shared;
  int64_t used = 0;
  int64_t capacity = 0;
};

/// A deeper pipeline: one more version of each buffer that has a slot per
/// iteration, or consumers one stage later.
struct DeeperPlan {
  std::string change;
  bool legal = true;
  bool fits = true;
  int64_t missing = 0; ///< bytes (or columns) short, in `space`
  Space space = Space::Shared;
  Rational interval; ///< if legal and it fits
};

struct Explanation {
  std::string loop;
  SourceLocation location;
  int64_t stages = 1;
  std::vector<std::string> roles;
  std::vector<ExplainedStatement> statements;
  std::vector<ExplainedBuffer> buffers;
  std::vector<ExplainedSpace> spaces;

  /// No value without engines and latencies.
  std::optional<Rational> interval;
  /// Minimal interval of the exact solver, if it was asked for the schedule.
  std::optional<int64_t> provenInterval;
  int64_t inferredStages = 0; ///< of the inferred schedule that was taken instead; 0: none
  std::string busiestEngine;
  int64_t busiestCycles = 0;
  std::optional<Rational> circleRatio;
  std::vector<std::string> circle; ///< events, in order
  int64_t circleIterations = 0;
  /// One sentence.
  std::string boundBy;
  std::vector<DeeperPlan> deeper;
};

/// \p schedule must be legal.
Explanation explain(const Problem &, const Schedule &, const RoleAssignment &roles);
Explanation explain(const Problem &, const Schedule &);

std::string renderExplanation(const Explanation &);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_SCHEDULE_EXPLAIN_H
