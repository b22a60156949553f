//===- StatementSchedule.h - Schedules on their statements ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each statement of a scheduled loop has its position in an attribute `tile.scheduled`.
// Statements of equal order are executed in the order of the source: a pass that inserts
// a statement beside another one, or divides one, copies the attribute.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_LOOP_STATEMENTSCHEDULE_H
#define PENSTOCK_ANALYSIS_LOOP_STATEMENTSCHEDULE_H

#include "Analysis/Loop/PipelineLoop.h"
#include "Dialect/Tile/TileDialect.h"
#include "Hardware/Architecture.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock {

/// Returns the position of a statement; null if it has none.
tile::ScheduledAttr positionOf(mlir::Operation *statement);
/// Returns when a step executes each of the statements at \p positions, which are in the order of
/// the source: numbers from 0, without ties.
std::vector<int64_t> ranksOf(mlir::ArrayRef<tile::ScheduledAttr> positions);
/// Return the stage and the order of a statement; 0 if it has no position.
int64_t stageOf(mlir::Operation *statement);
int64_t orderOf(mlir::Operation *statement);
void setStage(mlir::Operation *statement, int64_t stage);

/// Gives \p statement the position of \p beside, if that has one.
void inheritPosition(mlir::Operation *statement, mlir::Operation *beside);

/// Returns the first statement without a position; null if there is none.
mlir::Operation *findUnscheduled(const PipelineLoop &loop);

/// Returns the schedule of a loop whose statements all have a position.
sched::Schedule scheduleOf(const PipelineLoop &loop);

/// Gives the statements of a loop their positions. \p marked: the statements of the problem, if
/// annotations have marked some as asynchronous.
void setSchedule(const PipelineLoop &loop, const sched::Schedule &schedule,
                 mlir::ArrayRef<sched::Statement> marked = {});

/// Numbers the orders of statements from 0, without ties, in a loop or in all loops of a kernel.
/// Loops that have a statement without a position stay as they are.
void renumberStatements(mlir::scf::ForOp loop);
void renumberStatements(mlir::func::FuncOp kernel);

/// Executes \p moved, in this order, directly after \p statement.
void moveAfter(mlir::scf::ForOp loop, mlir::ArrayRef<mlir::Operation *> moved,
               mlir::Operation *statement);

/// Returns whether the schedule of a loop is legal and its tiles fit in memory.
/// \p tensorMemory: tensor memory is limited, too.
bool isLegal(mlir::scf::ForOp loop, const hw::Architecture &architecture, bool tensorMemory = true);

/// Positions of a loop's statements, to be restored.
class SavedPositions {
public:
  explicit SavedPositions(const PipelineLoop &loop);
  void restore() const;

private:
  llvm::SmallVector<std::pair<mlir::Operation *, tile::ScheduledAttr>> positions;
};

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_LOOP_STATEMENTSCHEDULE_H
