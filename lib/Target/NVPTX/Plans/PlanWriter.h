//===- PlanWriter.h - A pipelined loop, from its plan -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to nv-write-plans.
//
// Each role's loop is written as a prologue and a main loop of steps. In the main loop,
// statements of the role's last stage exist in every step; those of earlier stages,
// mostly copies, are under a condition. So each statement is written at most twice for
// every stage that it is ahead, whatever the number of iterations. Points that trail
// the last statement, releases of what it has read, follow in an epilogue. Products that
// threads issue one stage early have no condition: the last step is written apart.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PLANS_PLANWRITER_H
#define PENSTOCK_TARGET_NVPTX_PLANS_PLANWRITER_H

#include "Target/NVPTX/Plans/GroupCounts.h"
#include "Target/NVPTX/Plans/LoopPlans.h"
#include "Target/NVPTX/Plans/LoopSurroundings.h"
#include "Target/NVPTX/Plans/OpenRings.h"
#include "Target/NVPTX/Plans/PlanPoints.h"
#include "Target/NVPTX/Plans/SlotCounters.h"
#include "Target/NVPTX/Roles/ClusterShares.h"
#include "Target/NVPTX/Roles/PairedProduct.h"

namespace penstock::nvptx {

/// Writes a loop as the roles of its plan execute it.
class PlanWriter : PipelineWriter {
public:
  /// \p number tells the loop from others of the kernel; \p open: rings stay open between runs
  /// of the loop; \p accumulators, which runs fill in turn, may be null.
  PlanWriter(ScheduledLoop &loop, const LoopPlan &of, size_t number, bool open,
             AccumulatorRing *accumulators)
      : PipelineWriter(loop, of.slots()), of(of), plan(of.plan), number(int64_t(number)),
        open(open), accumulators(accumulators), shares(ClusterShares::of(body, of)),
        pair(PairedProduct::of(body)), writer(b) {}
  void run();

private:
  //===------------------------------------------------------------------===//
  // Roles and steps: PlanWriter.cpp
  //===------------------------------------------------------------------===//

  /// Lets others take the memory of tiles that nothing accesses after the loop. \p known is the
  /// attribute that tells who knows that accesses have ended; empty: one thread.
  void freeTiles(const LoopSurroundings &around, llvm::StringRef known);
  /// Returns true if a role issues such a statement.
  bool issues(const sched::PlanRole &each,
              llvm::function_ref<bool(const sched::Statement &)> isSuch) const;
  /// Returns true if a role that does not compute has such an access.
  bool accessesInRoles(llvm::function_ref<bool(const sched::Access &)> isSuch) const;
  /// Returns true if a role that does not compute accesses one of the tensors that are accessed
  /// around the loop, and one of both writes it.
  bool conflictsInRoles(const TensorAccesses &tensors) const;
  /// Returns true if roles that do not compute access nothing that is accessed before the loop:
  /// then they begin while others still access it.
  bool mayOthersBegin(const LoopSurroundings &around) const;
  /// Synchronizes accesses before the loop with its engines, for the threads that come here.
  void syncBefore();
  /// \p meets: its threads meet before the loop without those of other roles.
  void writeRole(const sched::PlanRole &each, bool divided, bool meets);
  static bool hasJoins(const sched::PlanRole &role);
  void writeSteps();
  /// In the second block, the role that loads awaits the products of the first one: it has
  /// followed the phases of their barrier.
  void awaitProductsOfPair();
  /// Returns whether threads issue products before the role's last stage. The assembler keeps these
  /// in flight only if no branch lies around them, so that the last steps are written apart.
  bool multipliesEarly() const;
  void writePrologue(int64_t depth, int64_t repeated, bool peels);
  void writeMainLoop(int64_t depth, int64_t repeated, mlir::Value end, bool peels);
  /// Writes the rest after the main loop: the last statements, if these were peeled, and points
  /// that trail the last statement.
  void writeEpilogue(int64_t depth, mlir::Value end, bool peels);
  ClosedStages allStages() const { return {0, plan.numStages()}; }
  std::string describePlan() const;
  /// Returns whether anything waits for an arrival of the iteration that comes \p before the last
  /// one: a later iteration, the loop when it is entered again, or the end of a role.
  bool isAwaited(sched::BarrierId barrier, int64_t before) const;
  /// Which iterations of a step may not exist.
  struct Exists {
    bool mayBeEarly = false; ///< before the first iteration
    bool mayBeLate = false;  ///< after the last one
    bool never = false;      ///< not begun yet
  };
  /// Writes step \p t. \p number is its number up to a multiple of what recurs.
  void writeStep(mlir::Value t, int64_t number, llvm::function_ref<Exists(int64_t)> existsAt);
  /// Returns whether a join in step \p number has anything to order: a statement that was issued
  /// before point \p at, other than a copy whose end only its barrier shows.
  bool mustMeet(int64_t number, size_t at) const;
  /// No groups of an engine are counted before the first of its statements begins.
  int64_t firstStageOf(sched::Engine engine) const;
  static bool isAboutGroups(const sched::PlanPoint &point);

  //===------------------------------------------------------------------===//
  // Points, barriers and statements: PlanWriterPoints.cpp
  //===------------------------------------------------------------------===//

  void writePoint(const sched::PlanPoint &point, mlir::Value k);
  /// Returns whether a point arrives in all blocks that share copies.
  bool isWide(const sched::PlanPoint &point) const {
    return shares && shares->isWide(point.barrier);
  }
  /// Returns whether threads of a role access shared or global memory that the observers of its
  /// arrivals on a barrier access, too. Then the warp synchronizes before its one thread arrives.
  /// Waits for engine operations cover the whole warp anyway.
  bool publishesByThreads(const sched::PlanRole &role, sched::BarrierId barrier) const;
  /// Returns whether arrivals on a barrier only signal that engines have completed their accesses
  /// to slots. Across blocks, such arrivals need no release, and waits for them need no acquire,
  /// which would invalidate the L1 cache.
  bool isRelaxed(sched::BarrierId barrier) const;
  /// The token that a wait of iteration \p k awaits; goes on where there is one.
  SlotCounters::Position awaited(const sched::PlanPoint &point, mlir::Value k);
  void writeDrain(const sched::PlanPoint &point);
  /// Returns the number of groups that a wait leaves in flight. \p at: the index of the point in
  /// its step, or the number of points of the step.
  int64_t groupsAfter(const sched::PlanPoint &point, size_t at) const;
  /// Emits a wait of the whole warp: only then does ptxas compute addresses once for all threads.
  void waitBarrier(const sched::PlanPoint &point, SlotCounters::Position at);
  /// Returns the bytes of a token: copies whose condition is false bring none.
  mlir::Value bytesOf(const sched::PlanPoint &expect, mlir::Value k);
  void makeBarriers();
  /// The barrier and the parity of token \p k.
  SlotCounters::Position tokenOf(sched::BarrierId barrier, mlir::Value k);
  mlir::Value slotOfToken(sched::BarrierId barrier, mlir::Value k);
  /// The index of a slot in the array that the barriers of all parts share.
  mlir::Value inArray(sched::BarrierId barrier, mlir::Value slot);
  /// `k - distance`, of which the main loop knows slots without a division.
  mlir::Value earlier(mlir::Value k, int64_t distance);
  bool reentered() const { return bool(firstToken); }
  /// Tokens go on where a loop is entered again. Slots of tiles only do if rings stay open.
  SlotCounters &slotsOfTiles() { return reentered() && !open ? current.slots : current.tokens; }
  /// Registers cannot be indexed: steps are repeated until versions recur.
  bool isRing(size_t buffer) const override;
  mlir::MemRefType typeOf(size_t buffer) const override;
  /// Slots in tensor memory lie side by side.
  mlir::Value allocate(mlir::MemRefType type, mlir::StringAttr label) override;
  mlir::Value slotOf(size_t buffer, mlir::Value k) override;
  mlir::Value versionOf(size_t buffer, mlir::Value k) override;
  /// Chooses what the role's main loop counts.
  void countSlots();
  void writeOp(size_t i, mlir::IRMapping &mapping, mlir::Value k) override;
  mlir::Value rowsOf(mlir::Value tile, mlir::Value first, int64_t rows);
  /// Returns whether a reduction is the last one before threads wait for a product. The assembler
  /// moves what no instruction needs sooner after the wait: then nothing overlaps.
  bool endsBeforeWait(size_t statement) const;
  const PipelineStatement &statementOf(const sched::PlanPoint &point) const;

  //===------------------------------------------------------------------===//
  // Fixed by the plan
  //===------------------------------------------------------------------===//

  const LoopPlan &of;
  const sched::Plan &plan;
  const int64_t number;
  const bool open;                        ///< rings stay open between runs of the loop
  AccumulatorRing *const accumulators;    ///< that runs fill in turn; null: none
  std::optional<ClusterShares> shares;    ///< that blocks of a cluster copy
  llvm::SmallVector<mlir::Value> sharing; ///< ranks of these blocks
  std::optional<PairedProduct> pair;      ///< of two blocks
  PointWriter writer;
  /// Order of accesses before the loop with its engines.
  struct Entry {
    bool fences = false, synchronizes = false;
  };
  Entry entry;
  std::vector<mlir::Value> barriers;
  llvm::DenseMap<unsigned, sched::BarrierId> signals; ///< of copies, by statement
  mlir::Value tokenCount; ///< variable that counts tokens, if the loop is entered again
  mlir::Value firstToken; ///< its value when the loop is entered; null: 0

  //===------------------------------------------------------------------===//
  // State while writing
  //===------------------------------------------------------------------===//

  /// The role that is being written.
  struct CurrentRole {
    CurrentRole() = default;
    CurrentRole(const sched::PlanRole &role, const sched::Plan &plan);

    const sched::PlanRole *role = nullptr;
    int64_t firstStage = 0;     ///< its first step runs it
    int64_t lastIssue = 0;      ///< the last stage of its statements
    int64_t lastStage = 0;      ///< the last stage of its points
    mlir::Value ownPart;        ///< i32: the part that a warpgroup computes, if any
    SlotCounters tokens, slots; ///< of barriers, and of tiles if these differ
  };
  CurrentRole current;

  /// The step of the role that is being written.
  struct CurrentStep {
    /// By stage: the number of iterations after that of the step; null: any number.
    std::function<int64_t(int64_t)> beforeLast;
    ClosedBefore closed;         ///< groups that the steps so far have closed
    std::optional<int64_t> part; ///< of the statement
    int64_t iteration = 0;       ///< up to a multiple of what recurs
    /// Distance of iterations from the iteration of the main loop.
    llvm::DenseMap<mlir::Value, int64_t> aheadOf;
  };
  CurrentStep step;
};

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLANS_PLANWRITER_H
