//===- KernelTrace.h - Steps of every role of a kernel ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this library: KernelProtocol.cpp chooses sizes, this runs the
// kernel's scalars for them.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_KERNEL_KERNELTRACE_H
#define PENSTOCK_ANALYSIS_KERNEL_KERNELTRACE_H

#include "Analysis/Kernel/KnownScalars.h"
#include "Dialect/NV/NVDialect.h"
#include "Scheduling/Protocol/Protocol.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <set>

namespace penstock {

/// Returns whether the operation, or one inside of it, concerns barriers.
bool touchesBarriers(mlir::Operation *op);

/// Returns whether the bounds of a loop are constants.
bool hasKnownLength(mlir::scf::ForOp loop);

/// Returns the trip count of a loop with these bounds.
int64_t tripCount(int64_t begin, int64_t end, int64_t step);

/// Returns whether the scalar is a variable that the kernel assigns.
bool isVariable(mlir::Value memref);

/// Iteration limits for timing simulations, which only need the steady state.
struct TraceLimits {
  /// Iterations of innermost loops with barriers, and of the loops around them.
  int64_t inner = INT64_MAX, outer = INT64_MAX;
  /// Whether steps that only concern the role's own threads are kept, and each as often
  /// as it is taken.
  bool plainSteps = false;
};

/// A box of a tensor that a role reads.
struct TraceRead {
  mlir::Operation *op = nullptr;
  int64_t rank = 0;
  bool repeated = false; ///< inside of a loop with barriers
  /// No value: depends on data.
  std::vector<std::optional<int64_t>> offsets;
};

class KernelTrace {
public:
  /// Warps that execute the same code, in one of the blocks of a cluster.
  struct WarpRole {
    int64_t firstWarp, warps, rank;
  };

  explicit KernelTrace(mlir::func::FuncOp kernel, TraceLimits limits = {});

  /// No value if the kernel cannot be simulated.
  std::optional<sched::Protocol> simulate(const SizeAssignment &assignment);

  mlir::Operation *unsupportedAt() const { return unsupported; }
  const std::string &reason() const { return why; }
  /// Returns whether an iteration of the loop was simulated for some sizes.
  bool entered(mlir::Operation *loop) const { return enteredLoops.contains(loop); }
  /// The most iterations of a `while` that some role simulated last.
  int64_t trips(mlir::scf::WhileOp loop) const { return whileTrips.lookup(loop); }
  /// Loops with barriers stand inside of each other.
  bool nested() const { return nestedLoops; }

  /// In the order of the protocol's roles.
  const std::vector<WarpRole> &roles() const { return warpRoles; }
  /// The operation of each source of the last protocol.
  const std::vector<mlir::Operation *> &sourceOps() const { return operations; }
  /// Tensor reads of the last simulation: each operation once, in its first
  /// iteration.
  const std::vector<TraceRead> &reads() const { return tensorReads; }
  /// Trip counts: the longest innermost loop with barriers runs, and the loops around it,
  /// without limits.
  int64_t innerTrips() const { return trueInner; }
  int64_t outerTrips() const { return trueOuter; }

private:
  void findWarpRoles();
  void numberBarriers();
  void addBarriers(mlir::Value barriers, llvm::StringRef label, llvm::ArrayRef<int64_t> counts);
  bool concernsBarriers(mlir::Operation *op);
  /// Returns whether it contains a loop with barriers and an unknown trip count.
  bool holdsLoops(mlir::Operation *loop);
  /// Returns whether a loop is over the tiles of a persistent kernel: it holds loops, or has the
  /// bounds of another role's loop that does.
  bool isOverTiles(mlir::scf::ForOp loop);
  void recordRead(mlir::Operation *op, mlir::ValueRange offsets);
  bool run(mlir::Block &block);
  bool run(mlir::Operation *op);
  bool runFor(mlir::scf::ForOp loop);
  bool iterationsDiffer(mlir::scf::ForOp loop);
  size_t dropRepeated(size_t first, std::set<std::vector<int64_t>> &touched);
  bool runWhile(mlir::scf::WhileOp loop);
  bool runIf(mlir::scf::IfOp condition);
  bool runHardwareOp(nv::HardwareOpInterface op);
  bool runCopy(nv::HardwareOpInterface op, llvm::ArrayRef<nv::HardwareAccess> accesses);
  bool runCommit(nv::HardwareOpInterface op);
  bool runArrive(nv::ArriveOp arrive);
  bool runBarrierOp(mlir::Operation *op);
  bool runTileOp(mlir::Operation *op);
  bool runVariable(mlir::Operation *op);
  bool refuse(mlir::Operation *op, std::string reason);
  void assign(mlir::ValueRange to, llvm::ArrayRef<std::optional<int64_t>> values);
  llvm::SmallVector<std::optional<int64_t>> valuesOf(mlir::ValueRange values) const;

  /// The number of this warp role's first warpgroup in the scope of an operation.
  int64_t groupOf(mlir::Operation *op) const;
  std::optional<int64_t> partOf(mlir::Operation *op, mlir::MemRefType type) const;
  std::optional<std::pair<int64_t, int64_t>> heldBy(mlir::Operation *op) const;
  /// Returns whether this warp role has the thread that acts for the scope.
  bool leads(mlir::Operation *op) const;
  sched::ProtocolStep &step(sched::ProtocolStep::Kind kind, mlir::Operation *op);
  std::optional<unsigned> barrierOf(mlir::Value barriers, mlir::Value index, int64_t rank);
  bool withBarrier(sched::ProtocolStep::Kind kind, mlir::Operation *op, mlir::Value barriers,
                   mlir::Value index, int64_t rank,
                   llvm::function_ref<void(sched::ProtocolStep &)> fill = {});
  /// Acts for every block of a mask, or for this one if there is none.
  bool forBlocks(mlir::Operation *op, mlir::Value mask, int64_t own,
                 llvm::function_ref<bool(int64_t)> act);
  void access(sched::ProtocolStep &step, mlir::Value memref, bool write, int64_t rank,
              int64_t scope = -1);
  sched::ProtocolBox boxOf(mlir::Value memref, int64_t rank, bool &exact);
  void accessAll(sched::ProtocolStep &to, nv::HardwareOpInterface op,
                 llvm::ArrayRef<nv::HardwareAccess> accesses, int64_t rank);
  int64_t threadsOf(mlir::Operation *op) const;
  std::pair<int64_t, int64_t> blocksOf(nv::HardwareOpInterface op) const;
  std::string ofBlock(int64_t rank) const;
  unsigned sourceOf(mlir::Operation *op);
  unsigned tileOf(mlir::Value root, int64_t rank);
  unsigned syncOf(mlir::Operation *op);
  int64_t scopeOf(mlir::Operation *op);

  mlir::func::FuncOp kernel;
  TraceLimits limits;
  bool pair;     ///< two blocks multiply as one
  int64_t ranks; ///< blocks of the cluster
  KnownScalars scalars;
  std::vector<WarpRole> warpRoles;

  sched::Protocol protocol;
  llvm::DenseSet<mlir::Operation *> enteredLoops;
  llvm::DenseMap<mlir::Operation *, int64_t> whileTrips;
  /// Whether operations concern barriers, as far as it was asked.
  llvm::DenseMap<mlir::Operation *, bool> concerning, differing, holding, overTiles;
  std::vector<mlir::Operation *> operations;
  std::vector<TraceRead> tensorReads;
  int64_t trueInner = 0, trueOuter = 0;
  llvm::DenseMap<mlir::Operation *, unsigned> sources;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, unsigned> tiles, arrays;
  llvm::DenseMap<mlir::Value, std::optional<int64_t>> variables;
  llvm::DenseMap<mlir::Value, int64_t> openings; ///< of named barriers, awaited so far
  std::map<std::tuple<int64_t, int64_t, int64_t>, unsigned> syncs;
  std::map<std::pair<int64_t, int64_t>, int64_t> scopes;

  WarpRole warpRole = {};
  std::vector<sched::ProtocolStep> *steps = nullptr;
  int64_t loopDepth = 0, iteration = -1, answers = 0, budget = 0;
  bool uncertain = false; ///< inside of a branch that may not be taken
  bool nestedLoops = false;
  SizeAssignment now;
  mlir::Operation *unsupported = nullptr;
  std::string why;
};

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_KERNEL_KERNELTRACE_H
