//===- Versions.h - Required versions of buffers ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PROBLEM_VERSIONS_H
#define PENSTOCK_SCHEDULING_PROBLEM_VERSIONS_H

#include "Scheduling/Problem/Order.h"

#include <optional>

namespace penstock::sched {

struct BufferVersions {
  /// Versions that the schedule requires: the smallest V >= 1 such that any two conflicting
  /// accesses V iterations apart are ordered.
  unsigned needed = 1;
  /// Number of versions of the buffer: the stated number, or the required one.
  unsigned count = 1;
  /// The pair that makes `needed` larger than 1.
  StatementId first = none, second = none;
};

/// The versions of every buffer. Buffers that cannot be versioned have one,
/// whatever is stated.
std::vector<BufferVersions> versions(const Order &order);
std::vector<BufferVersions> versions(const Problem &, const Schedule &);

/// A wait that the user did not write: it ends iteration k of `statement`
/// immediately before iteration k + distance of `before`, or at the end of the
/// loop if nothing in the loop conflicts (`before` is none then).
struct ImplicitWait {
  StatementId statement = none;
  StatementId before = none;
  int64_t distance = 0;
  bool reads = false;
  bool writes = false;
};

/// The waits of asynchronous statements whose reads or writes no written wait
/// ends. Where a statement has no written wait at all, one wait ends both.
std::vector<ImplicitWait> implicitWaits(const Order &order,
                                        const std::vector<BufferVersions> &versions);

/// The same waits as a loop that is written out needs them: the statement before
/// which an implicit wait belongs may not exist in an iteration, at the end of
/// the loop or under a condition, and then the next one that conflicts needs the
/// wait. A wait before a statement ends all iterations up to its own less the
/// distance.
std::vector<ImplicitWait> emittedWaits(const Order &order,
                                       const std::vector<BufferVersions> &versions);

/// The count with which a copy of a counted wait has to be emitted at its position
/// in a loop of \p n iterations: iteration \p k of \p wait runs after some
/// commits of its queue, and all that it is bound to must have ended. Negative
/// \p k counts waits before the loop; k >= n waits of the tail. No value if
/// nothing that it awaits exists there.
std::optional<int64_t> emittedCount(const Order &order, StatementId wait, int64_t k, int64_t n);

/// A space in which the versions do not fit.
struct Overflow {
  Space space = Space::Shared;
  int64_t needed = 0;
  int64_t capacity = 0;
  /// The largest V such that the buffers fit if none has more than V versions;
  /// 0 if they do not fit at all.
  unsigned fits = 0;
  /// The buffer with the most bytes in that space.
  BufferId largest = none;
};
std::vector<Overflow> overflows(const Problem &, const std::vector<BufferVersions> &);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PROBLEM_VERSIONS_H
