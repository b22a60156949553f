//===- PipelineWriter.h - Write iterations of a pipelined loop --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pipelined loop is written out as steps, and in each step statements of several
// iterations run. Which steps there are, and what waits between them, differs from
// target to target. What does not differ is here: how a statement is written for
// one iteration, with the slots of its buffers, its scalars and its conditions.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TRANSFORMS_PIPELINE_PIPELINEWRITER_H
#define PENSTOCK_TRANSFORMS_PIPELINE_PIPELINEWRITER_H

#include "Analysis/Loop/PipelineLoop.h"
#include "Dialect/Tile/TileDialect.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace penstock {

/// A loop with all that is known of it before any loop is written out.
struct ScheduledLoop {
  PipelineLoop body;
  sched::Schedule schedule;
};

/// Returns all pipelined loops, inner loops first, and removes the positions of their statements.
/// Expansion erases which loop a tile belongs to, so all loops are analyzed before the first one is
/// written out. Fails if a statement has no position.
mlir::FailureOr<std::vector<ScheduledLoop>> takeSchedules(mlir::func::FuncOp kernel);

/// Verifies a schedule: text may state one that nothing has resolved.
mlir::LogicalResult verifySchedule(const ScheduledLoop &loop);

/// Makes a loop that is about to be written out one statement of the loops around it.
void keepAsStatement(mlir::scf::ForOp loop, llvm::MutableArrayRef<ScheduledLoop> others);

class PipelineWriter {
protected:
  /// Versions of each buffer.
  PipelineWriter(ScheduledLoop &loop, std::vector<int64_t> versions);
  virtual ~PipelineWriter() = default;

  /// Allocates slots, counts iterations and sorts statements. Everything else may be
  /// called only after it.
  void prepare();
  /// Makes what is read after the loop available there, and erases the loop.
  void finish();

  /// Writes the operation of statement \p i for iteration \p k. Values of the body are
  /// replayed into \p mapping already.
  virtual void writeOp(size_t i, mlir::IRMapping &mapping, mlir::Value k);
  /// The slot of a ring that iteration \p k uses: counted modulo the versions.
  virtual mlir::Value slotOf(size_t buffer, mlir::Value k);
  /// The version of a buffer that iteration \p k uses.
  virtual mlir::Value versionOf(size_t buffer, mlir::Value k);
  /// Returns whether versions of a buffer are slots of one tile, which run-time values select.
  virtual bool isRing(size_t) const { return true; }
  virtual mlir::Value allocate(mlir::MemRefType type, mlir::StringAttr label);
  /// The type of one version of a buffer.
  virtual mlir::MemRefType typeOf(size_t buffer) const;
  /// Iterations past the end for which a statement still runs.
  virtual int64_t lagOf(size_t) const { return 0; }

  /// Writes statement \p i of iteration \p k.
  void writeInstance(size_t i, mlir::Value k);
  /// Goes on inside of the conditions.
  void enter(llvm::ArrayRef<mlir::Value> conditions, mlir::IRMapping &mapping);
  /// Computes a value of the body for the iteration of \p mapping.
  mlir::Value replay(mlir::Value value, mlir::IRMapping &mapping);
  /// Maps the index of the loop to iteration \p k.
  mlir::IRMapping iterationOf(mlir::Value k);
  /// Copies an operation, with the types that views of slots have.
  mlir::Operation *cloneWithViews(mlir::Operation *op, mlir::IRMapping &mapping);
  /// Keeps scalar results of a statement for the statements that use them.
  void storeResults(mlir::Operation *from, mlir::Operation *to);
  /// Opens a condition; the builder stays inside.
  void openIf(mlir::Value condition);

  mlir::Value index(int64_t value);
  /// `k - distance`.
  mlir::Value before(mlir::Value k, int64_t distance);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b);

  PipelineLoop &body;
  const sched::Schedule &schedule;
  const std::vector<int64_t> versions; ///< by buffer
  mlir::scf::ForOp loop;
  mlir::OpBuilder b;
  mlir::Location loc;
  /// By buffer: the tile of all slots, or one tile for each version.
  std::vector<llvm::SmallVector<mlir::Value>> storage;
  std::vector<size_t> sequence; ///< statements by order
  mlir::Value trips;

private:
  /// A replayable scalar that can fault, where nothing would compute it.
  struct Check {
    PipelineStatement scalar;
    size_t after; ///< the statement that it follows in its iteration
  };

  void makeStorage();
  void makeScalarSlots();
  void countIterations();
  void placeChecks();
  void writeCheck(const Check &check, mlir::IRMapping mapping, mlir::Value k);
  void copyOut();
  bool touches(size_t statement, size_t buffer) const;
  llvm::SmallVector<mlir::Value> outerValues(mlir::Operation *op);
  llvm::SetVector<mlir::Operation *> replayedFor(llvm::ArrayRef<mlir::Value> values,
                                                 std::vector<size_t> *from);
  mlir::Type storable(mlir::Type type) { return type.isIndex() ? b.getI64Type() : type; }

  llvm::DenseMap<mlir::Value, mlir::Value> scalars; ///< slots of scheduled scalars
  std::vector<Check> checks;
};

} // namespace penstock

#endif // PENSTOCK_TRANSFORMS_PIPELINE_PIPELINEWRITER_H
