//===- SlotCounters.h - Slots and phases that a loop carries ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to nv-write-plans. Slot and phase of iteration k are k mod slots and the
// parity of k / slots. A division in every iteration would cost more than all the
// rest of a load role, so that loops count.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PLANS_SLOTCOUNTERS_H
#define PENSTOCK_TARGET_NVPTX_PLANS_SLOTCOUNTERS_H

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <map>

namespace penstock::nvptx {

class SlotCounters {
public:
  struct Position {
    mlir::Value slot, phase; ///< i32
  };

  /// Slots are counted from iteration \p first, an i32; null: 0.
  explicit SlotCounters(mlir::Value first = {}) : first(first) {}

  /// Counts modulo \p slots, too, for positions \p ahead, of which the phase is \p awaited or
  /// does not matter. Before the loop is made.
  void add(int64_t slots, int64_t ahead, bool awaited = false);
  /// The values with which the loop begins.
  llvm::SmallVector<mlir::Value> start(mlir::OpBuilder &b, mlir::Location loc) const;
  /// Takes these values as those of the current iteration.
  void enter(mlir::ValueRange carried);
  /// The values that follow \p by iterations later.
  llvm::SmallVector<mlir::Value> next(mlir::OpBuilder &b, mlir::Location loc, int64_t by) const;

  /// The number of values that a loop carries.
  size_t size() const;
  /// The position that lies \p ahead iterations ahead of the current one.
  Position at(mlir::OpBuilder &b, mlir::Location loc, int64_t slots, int64_t ahead) const;
  /// The position of iteration \p k, by division.
  Position divide(mlir::OpBuilder &b, mlir::Location loc, int64_t slots, mlir::Value k) const;

private:
  struct Counter {
    Position now;
    Position last; ///< of the iteration before, which costs nothing to remember
    bool keepsLast = false;
    /// Awaited positions lie whole rounds ahead or behind, an odd or an even number of them.
    bool awaitsOdd = false, awaitsEven = false;
    /// Returns whether the loop carries the opposite of phases, so that none is flipped before a
    /// wait.
    bool carriesOpposite() const { return awaitsOdd && !awaitsEven; }
  };

  /// The position as the loop carries it.
  Position carried(mlir::OpBuilder &b, mlir::Location loc, int64_t slots, int64_t ahead) const;

  mlir::Value first;
  std::map<int64_t, Counter> counters; ///< by number of slots
};

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLANS_SLOTCOUNTERS_H
