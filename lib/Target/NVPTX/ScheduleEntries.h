//===- ScheduleEntries.h - Schedules, statement by statement ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule is an array with an entry for each statement of its loop. A pass that
// adds, divides or moves statements reads the entries first, and writes them back when
// it has finished.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_SCHEDULEENTRIES_H
#define PENSTOCK_TARGET_NVPTX_SCHEDULEENTRIES_H

#include "Analysis/PipelineLoop.h"
#include "Hardware/Architecture.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock::nvptx {

class ScheduleEntries {
public:
  struct Entry {
    int64_t stage = 0;
    /// Position in a step. There is room between two statements.
    double order = 0;
    int64_t asyncProducer = 0, group = -1;
  };

  /// Reads the resolved schedules of all loops of a kernel.
  explicit ScheduleEntries(mlir::func::FuncOp kernel);

  /// The entry of a statement of a loop; new ones begin with one of their own.
  Entry &at(mlir::scf::ForOp loop, mlir::Operation *statement) {
    return entries[{loop, statement}];
  }
  /// Lets a new statement run directly before or after another one of its loop.
  void add(mlir::Operation *statement, mlir::Operation *beside, bool before);

  /// Writes the schedules of loops that had one. Statements of one order keep that of the
  /// source.
  void write();

private:
  llvm::SmallVector<mlir::scf::ForOp> loops;
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::Operation *>, Entry> entries;
  /// By new statement: the one that it stands beside.
  llvm::DenseMap<mlir::Operation *, std::pair<mlir::Operation *, bool>> placed;
};

/// Returns whether the resolved schedule of a loop is legal and its tiles fit in memory.
/// \p tensorMemory: tensor memory is limited, too.
bool isLegal(mlir::scf::ForOp loop, const hw::Architecture &architecture, bool tensorMemory = true);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_SCHEDULEENTRIES_H
