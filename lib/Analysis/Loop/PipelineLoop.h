//===- PipelineLoop.h - From a loop to a scheduling problem -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits the body of a pipelined loop into scheduled statements and replayable
// scalars and describes what the statements touch, so that lib/Scheduling, which
// knows no IR, can judge, infer and explain schedules.
//
// - A scalar is replayable if it is computed without effects from the loop's
//   index, from values defined outside, from other replayable scalars or from
//   elements of buffers that the body does not write. It has no slot in a
//   schedule: whoever uses it computes it for its own iteration.
// - A scalar read from what the body writes, or given by an atomic, is a
//   statement. If it has no name and only the statement right behind it uses it, a
//   stated schedule may leave it out: it then belongs to that statement.
// - A condition without `else` that is replayable distributes over its
//   statements; any other condition is one statement, as are groups and loops.
// - A replayable scalar that can report a fault reports it even if nothing uses
//   it: such scalars are listed as checks.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_LOOP_PIPELINELOOP_H
#define PENSTOCK_ANALYSIS_LOOP_PIPELINELOOP_H

#include "Scheduling/Problem/Annotations.h"
#include "Scheduling/Problem/Problem.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace penstock {

struct PipelineStatement {
  mlir::Operation *op = nullptr;
  /// Conditions that it stands under, outermost first; all must hold.
  llvm::SmallVector<mlir::Value> conditions;
  /// Loads of single elements that belong to it, in order.
  llvm::SmallVector<mlir::Operation *> loads = {};
};

struct PipelineLoop {
  mlir::scf::ForOp loop;
  /// In source order; the same numbers as in the problem.
  std::vector<PipelineStatement> statements;
  /// Replayable scalars whose fault each iteration must report.
  std::vector<PipelineStatement> checks;
  /// Allocation or argument of each buffer of the problem; null for what is no memory
  /// and only kept in order.
  std::vector<mlir::Value> buffers;
  sched::Problem problem;
  std::vector<sched::NamedScalar> namedScalars;
  /// Requests of the loop's annotations.
  sched::LoopAnnotations annotations;
};

/// Describes a loop that carries no values.
PipelineLoop analyzeLoop(mlir::scf::ForOp loop);

/// The loops of a kernel, as an analysis that the pass manager caches. Passes that change no
/// statement, but only roles or engines, preserve it.
class PipelineLoops {
public:
  explicit PipelineLoops(mlir::Operation *) {}
  /// Describes a loop of the kernel; only the first call analyzes it.
  const PipelineLoop &of(mlir::scf::ForOp loop);

private:
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<PipelineLoop>> known;
};

/// Checks or infers the loop's schedule: what sched::resolve does, after the
/// errors that no schedule can cure.
sched::PipelinedLoop resolveSchedule(const PipelineLoop &loop);

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_LOOP_PIPELINELOOP_H
