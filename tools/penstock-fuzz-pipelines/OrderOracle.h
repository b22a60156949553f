//===- OrderOracle.h - Checks schedules by concrete instances ---*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first of two independent oracles: for each pair of instances that touch a
// common cell, is the first over before the second is issued? Instances are
// enumerated over more iterations than any schedule of a random program can
// interleave, and cells are compared one iteration at a time.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_ORDERORACLE_H
#define PENSTOCK_FUZZ_PIPELINES_ORDERORACLE_H

#include "Loop.h"

#include <set>

namespace penstock::fuzz {

/// Stands for what was issued before the loop and ends at iteration 0 of a wait.
inline int fromBefore(int wait) { return -1 - wait; }

/// A pair of instances that a schedule does not keep in order. The first may be
/// something from before the loop.
struct BrokenPair {
  int first = 0, second = 0;
  int64_t distance = 0;
  int buffer = 0;
  bool firstWrites = false, secondWrites = false;
  /// One of the two regions is not affine, so that they overlap only because
  /// nothing shows that they do not.
  bool opaque = false;
};

struct OrderVerdict {
  /// The loop itself is refused, whatever its schedule.
  bool malformed = false;
  /// Codes of all broken rules.
  std::set<unsigned> codes;
  /// What the schedule needs, one for each buffer; empty where it has no order.
  std::vector<int64_t> versions;
  /// What the loop runs with: the stated number where there is one.
  std::vector<int64_t> slots;
  std::vector<BrokenPair> broken;
  bool legal() const { return codes.empty(); }
  /// Broken rules that are about the form of the loop or of its annotation.
  bool form() const;
};

/// Codes of forms that no schedule can carry.
std::set<unsigned> checkForm(const Loop &);
/// All codes of a schedule.
OrderVerdict checkOrder(const Loop &, const Plan &);

/// Does a statement with guard \p strong only run where one with \p weak does?
bool holdsAll(const std::vector<Term> &strong, const std::vector<Term> &weak);

/// May iterations have copies of this buffer of their own?
bool mayHaveVersions(const Loop &, int buffer);

/// All awaits of a wait, those that its count implies included.
std::vector<Naming> namedBy(const Loop &, int wait);

/// The commit that closes the group of an asynchronous statement, or -1.
int commitOf(const Loop &, int statement);

/// What a statement touches as far as others can see: a read of cells that the
/// statement itself has just written is no access of its own.
std::vector<Touch> visibleReads(const Loop &, int statement);
std::vector<Touch> visibleWrites(const Loop &, int statement);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_ORDERORACLE_H
