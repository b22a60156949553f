//===- Order.h - Order of instances in a schedule ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule runs instance (i, k) at position P(i, k) = (k + stage, order). Two
// instances that share storage are in order when the first has completed, not
// merely been issued, before the second is issued. All rules about storage are
// phrased with this one relation.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PROBLEM_ORDER_H
#define PENSTOCK_SCHEDULING_PROBLEM_ORDER_H

#include "Scheduling/Problem/LoopModel.h"

#include <optional>

namespace penstock::sched {

/// A position in the order P, relative to iteration k of the statement at hand.
struct Position {
  int64_t step = 0;
  int64_t order = 0;
  friend auto operator<=>(const Position &, const Position &) = default;
  Position later(int64_t iterations) const { return {step + iterations, order}; }
};

class Order {
public:
  /// \p schedule must have the right form (see verify).
  Order(const LoopModel &model, const Schedule &schedule);

  const LoopModel &model;
  const Schedule &schedule;

  Position issue(StatementId s) const { return {schedule.stage[s], schedule.order[s]}; }
  /// Returns the position at which the reads or writes of iteration 0 of \p s have completed.
  /// Asynchronous statements without a written wait count as synchronous.
  Position completion(StatementId s, bool writes) const {
    return writes ? writeDone[s].at : readDone[s].at;
  }
  /// The wait that ends them, or none if the statement counts as synchronous.
  Completion completedBy(StatementId s, bool writes) const {
    return writes ? writeDone[s].by : readDone[s].by;
  }

  /// Do (first, k) and (second, k + d) run in order?
  bool inOrder(const Pair &pair, int64_t d) const;
  /// In order because both are members of a queue that executes in order, or
  /// because a wait for a later member of the queue stands between.
  bool inOrderByQueue(const Pair &pair, int64_t d) const;

  /// Returns the position at which iteration 0 of the first has completed with respect to iteration
  /// \p d of the second: its wait, an earlier wait for a later member of its queue, or its issue if
  /// the queue keeps them in order.
  Position completionFor(const Pair &pair, int64_t d) const;

  /// Does iteration \p e of \p s exist whenever iteration 0 of \p first and
  /// iteration \p d of \p second do?
  bool existsWithPair(StatementId s, int64_t e, StatementId first, StatementId second,
                      int64_t d) const;

private:
  struct Done {
    Position at;
    Completion by;
  };
  Done earliest(StatementId s, bool writes) const;
  std::optional<Position> laterMember(StatementId member, const Pair &pair, int64_t d) const;
  bool accumulatorInOrder(const Pair &pair, int64_t d) const;
  bool queueInOrder(StatementId s) const;

  std::vector<Done> readDone, writeDone;
  std::vector<std::vector<StatementId>> members; ///< per queue
};

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PROBLEM_ORDER_H
