//===- Annotations.h - Annotations of a loop --------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule can be asked for (num_stages), stated (stage and order, with or
// without entries for named scalars), or written raw with the asynchronous
// copies marked one by one. Whatever is written is either used or refused here;
// nothing falls through to an unpipelined loop.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PROBLEM_ANNOTATIONS_H
#define PENSTOCK_SCHEDULING_PROBLEM_ANNOTATIONS_H

#include "Scheduling/Schedule/Infer.h"

namespace penstock::sched {

struct LoopAnnotations {
  std::optional<int64_t> numStages;
  /// The exact solver has so long for a schedule, of at most numStages if these are given.
  std::optional<int64_t> solverSeconds;
  std::optional<std::vector<int64_t>> stage, order;
  /// All copies of these stages are asynchronous.
  std::optional<std::vector<int64_t>> asyncStages;
  /// 0 or 1 per scheduled statement.
  std::optional<std::vector<int64_t>> asyncProducers;
  /// A commit group per scheduled statement, -1 for none.
  std::optional<std::vector<int64_t>> asyncProducerGroups;
};

/// A named scalar of the body that can be recomputed. Older annotations hold an
/// entry for it, which is ignored.
struct NamedScalar {
  std::string name;
  SourceLocation location;
  /// Number of scheduled statements before it.
  size_t before = 0;
  std::vector<StatementId> users;
};

struct PipelinedLoop {
  /// The problem with the asynchronous marks of the annotations.
  Problem problem;
  /// The schedule, legal and complete; no value if there is an error, or if
  /// nothing was asked for.
  std::optional<Schedule> schedule;
  Verdict verdict;
  /// Minimal interval of the exact solver, if it was asked.
  std::optional<int64_t> provenInterval;
  /// The stages of an inferred schedule that is predicted to be faster than the solution; 0: none.
  int64_t inferredStages = 0;
  std::vector<Diagnostic> diagnostics;
};

/// Reads the annotations, infers or verifies, and returns the schedule or the
/// reasons why not. The one entry point for a compiler; \p problem must pass
/// checkProblem().
PipelinedLoop resolve(const Problem &problem, const LoopAnnotations &,
                      const std::vector<NamedScalar> &scalars = {});

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PROBLEM_ANNOTATIONS_H
