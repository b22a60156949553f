//===- LoopAccesses.h - Accesses of a loop's statements ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this library. A statement may be a loop or a group: loops that run a
// known and small number of times are taken round by round, so that a tile that is
// filled part by part is known to be filled.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_LOOP_LOOPACCESSES_H
#define PENSTOCK_ANALYSIS_LOOP_LOOPACCESSES_H

#include "Analysis/Loop/AffineOffsets.h"
#include "Dialect/Tile/TileDialect.h"
#include "Scheduling/Problem/Problem.h"

namespace penstock {

class LoopAccesses {
public:
  /// Loops inside of a statement are taken round by round up to \p mostRounds, nested
  /// ones together.
  LoopAccesses(mlir::scf::ForOp loop, ValueRanges &ranges, int64_t mostRounds)
      : loop(loop), ranges(ranges), mostRounds(mostRounds) {}

  /// All that a statement touches. \p bufferOf numbers allocations and tensors.
  void add(sched::StatementId statement, mlir::Operation *op,
           llvm::function_ref<sched::BufferId(mlir::Value)> bufferOf);

  /// Adds the accesses of an operation before the loop that iteration 0 of a wait completes. \p
  /// bufferOf returns no number for memory that the loop does not access; \p sameIteration: it ran
  /// in the same iteration of the enclosing loops.
  void addBefore(sched::StatementId wait, tile::TileAccessOpInterface op, bool sameIteration,
                 llvm::function_ref<std::optional<sched::BufferId>(mlir::Value)> bufferOf);

  /// Compares the offsets of all accesses to a buffer, and gives the problem's
  /// statements their regions. \p buffers holds the roots by number.
  void finish(sched::Problem &problem, llvm::ArrayRef<mlir::Value> buffers) const;

private:
  using Invariants = std::map<void *, int64_t>;

  /// Of one dimension: where an access begins, if that is known, and its length, or
  /// -1.
  struct Extent {
    std::optional<AffineOffset> begin;
    int64_t length = -1;

    /// Returns whether its offset is known relative to these.
    bool comparesWith(const Invariants &invariants) const {
      return begin && length >= 0 && begin->invariants == invariants;
    }
  };

  /// An access before the regions of its buffer have been compared.
  struct Access {
    sched::StatementId statement = 0;
    sched::BufferId buffer = 0;
    bool reads = false, writes = false;
    bool maybe = false;           ///< a write that need not happen when the statement runs
    size_t by = 0;                ///< counts operations, and rounds of loops
    bool inSequence = false;      ///< what comes before it in the statement has happened
    bool settles = false;         ///< what follows in sequence sees what this writes
    std::vector<Extent> box = {}; ///< empty: the whole buffer
  };

  /// A statement while what it touches is collected.
  struct Statement {
    sched::StatementId number;
    mlir::Operation *op;
    llvm::function_ref<sched::BufferId(mlir::Value)> bufferOf;
  };

  void visit(const Statement &statement, mlir::Operation *op, bool inSequence);
  std::vector<Extent> boxOf(const tile::TileAccess &access) const;
  std::vector<Invariants> commonInvariants(sched::BufferId buffer, size_t rank,
                                           bool readAfter) const;
  static sched::Region regionOf(const Access &access, bool write, mlir::MemRefType type,
                                llvm::ArrayRef<Invariants> common);
  static bool isAnywhere(const Access &access, llvm::ArrayRef<Invariants> common);

  mlir::scf::ForOp loop;
  ValueRanges &ranges;
  int64_t mostRounds;
  KnownValues rounds; ///< of the loops around what is visited
  int64_t repeated = 1;
  size_t operations = 0;
  std::vector<Access> accesses, accessesBefore;
};

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_LOOP_LOOPACCESSES_H
