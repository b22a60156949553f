//===- Machine.h - Warps, blocks, clusters and what they share --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of a running grid. A cluster is the unit of execution: its warps,
// its asynchronous engines and its clocks belong to one host thread at a time.
// A warp is a set of splits, groups of lanes at one program counter; lanes that
// part at a branch meet again at a join. Splits block and wake one by one, so
// that lanes of one warp may wait for each other as on the hardware.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_MACHINE_H
#define PENSTOCK_EMULATOR_MACHINE_H

#include "Emulator/Decode/Program.h"
#include "Emulator/Launch.h"
#include "Emulator/Races/Findings.h"
#include "Emulator/Races/GlobalUse.h"
#include "Emulator/Races/Releases.h"
#include "Emulator/Races/Shadow.h"
#include "Emulator/Standstill.h"
#include "Emulator/Time/Clock.h"
#include "Emulator/Time/PacedSm.h"
#include "Emulator/Time/Timeline.h"

#include <atomic>
#include <functional>
#include <set>
#include <unordered_map>

namespace penstock::emu {

struct Cta;
struct Warp;
struct Cluster;
struct Grid;
class MatrixTiles;
struct Wgmma;

/// One use of a named or cluster barrier, shared by those who wait for it.
struct BarrierRound {
  View view;
  uint32_t arrived = 0;
  uint32_t expected = 0;
  uint32_t exited = 0; ///< of those that arrived (cluster barriers)
  /// Views of threads that exited before it was done instead of arriving; null: none.
  std::unique_ptr<View> exits;
  bool done = false;
  bool relaxed = false;            ///< some arrivals published nothing
  uint32_t reduced[3] = {0, 0, 0}; ///< popc, and, or
};

struct Join {
  uint32_t pc = noPc;
  uint32_t expected = 0;
  uint32_t arrived = 0;
  int parent = -1;
  bool used = false;
};

struct Split {
  uint32_t pc = 0;
  uint32_t mask = 0;
  int join = -1;
  bool blocked = false;
  /// Cluster::progress when the split was last tried.
  uint64_t triedAt = 0;
  /// State of the blocking instruction, if it has been begun.
  std::shared_ptr<BarrierRound> round;
  uint64_t waitPhase = ~uint64_t(0);
  std::string waitsFor; ///< for the report of a deadlock
  /// Polling: Cluster::progress at the last failed poll, and how many failed
  /// since something happened.
  uint64_t polledAt = 0;
  uint32_t polls = 0;
  uint32_t pollPc = 0;
  /// Timing::Paced: where and since when it waits.
  uint32_t waitPc = noPc;
  double waitSince = 0;
};

struct Mbarrier {
  bool live = false;
  uint32_t expected = 0;
  int64_t pending = 0;
  int64_t tx = 0;
  uint64_t phase = 0;
  double completedAt = 0; ///< Timing::Paced: the last phase
  uint64_t agent = 0;
  /// Released by arrivals of the open phase, and of the phase that completed last.
  View current, previous;
  /// The same of arrivals by threads of other blocks.
  View currentRemote, previousRemote;
  /// Warps whose wait for the phase that completed last is over.
  struct Observer {
    uint32_t warp, count, pc;
  };
  std::vector<Observer> observers;
  uint32_t initWarp = 0;
  unsigned initLane = 0;
  uint32_t initCount = 0;
  uint32_t initPc = 0;
  uint32_t initRound = 0; ///< Cluster::clusterRounds at the initialization
};

/// An asynchronous operation as the checker sees it.
struct AsyncOp {
  const char *what = "";
  uint32_t pc = 0;
  uint32_t warp = 0;
  uint8_t lane = 0;
  /// Seen by whoever knows agent up to count; 0: not yet decided.
  uint64_t agent[2] = {0, 0};
  uint32_t count[2] = {0, 0};
  /// The same for its reads alone (bulk stores).
  uint64_t readAgent = 0;
  uint32_t readCount = 0;
  /// tcgen05.ld: readAgent counts loads whose registers have been used. They are over on
  /// hardware; the ISA asks for tcgen05.wait::ld.
  bool overByUse = false;
  /// In-order engines: operations of one pipe follow each other.
  uint64_t pipe = 0;
  uint32_t pipeCount = 0;
  bool generic = false; ///< works through the generic proxy (cp.async)
  uint64_t step = 0;    ///< of the cluster's timeline: its issue
};

/// A piece of asynchronous work that waits for its time.
struct Event {
  uint64_t chain = 0; ///< events of one chain happen in order; 0: free
  uint64_t ordinal = 0;
  std::string what;
  uint32_t pc = 0;
  std::function<void()> run;
  // Timing::Paced.
  AsyncWork::Engine engine = AsyncWork::Engine::None, follows = engine;
  double issued = 0, busyUntil = 0, due = 0;
  Warp *issuer = nullptr;
};

struct LaneState {
  std::unique_ptr<View> view; ///< null: the warp's
  /// At the last releasing fence of each scope; for relaxed releases.
  ScopedViews fences;
  std::array<ReleasePoint, numScopes> fencePoints;
  /// From relaxed reads, by the scope that a later fence must have to acquire it.
  ScopedViews pending;
  ReleasePoint observed;             ///< the last release among `pending`
  std::vector<MissedRelease> missed; ///< the last few
  /// The last relaxed read that entered `pending`.
  uint32_t relaxedReadPc = noPc, relaxedReadCount = 0;
  /// The tcgen05 operations known at the last tcgen05.fence::before_thread_sync;
  /// for relaxed releases.
  std::unique_ptr<Clock> tensorFence;
};

/// Asynchronous copies of one thread, numbered from 1, and the groups they were
/// committed in.
struct CopyGroups {
  uint64_t agent = 0, readAgent = 0;
  uint32_t issued = 0;
  std::vector<uint32_t> ends; ///< per committed group: its last copy
  std::set<uint32_t> running; ///< not complete
  std::set<uint32_t> reading; ///< source not read yet
  uint32_t lanes = 0;         ///< others that have issued copies together with this one

  /// The last copy of all groups but the \p pending youngest.
  uint32_t bound(uint64_t pending) const {
    return pending >= ends.size() ? 0 : ends[ends.size() - 1 - pending];
  }
  bool done(uint32_t upTo, bool readsOnly) const {
    const std::set<uint32_t> &open = readsOnly ? reading : running;
    return open.empty() || *open.begin() > upTo;
  }
};

struct Warp {
  Cta *cta = nullptr;
  uint32_t index = 0; ///< in the CTA
  uint32_t gid = 0;   ///< among all that run at the same time
  uint32_t live = 0;  ///< lanes that have not exited
  uint32_t started = 0;
  std::vector<uint8_t> rows;
  std::vector<uint32_t> preds;
  std::vector<uint8_t> local;
  std::vector<Split> splits;
  std::vector<Join> joins;
  uint32_t carry = 0; ///< the carry flag of each lane
  // Happens-before.
  uint32_t count = 1;
  View view;
  LaneState lanes[32];
  /// The view that a release would have published at `unreleasedCount`; for lanes without own
  /// views.
  std::shared_ptr<const View> unreleased;
  uint32_t unreleasedCount = 0;
  // Asynchronous state.
  std::unordered_map<unsigned, CopyGroups> copies, bulks; ///< by lane
  uint64_t copyChain = 0;
  CopyGroups wgmma;
  uint32_t observations = 0; ///< waits for mbarriers that are over
  uint32_t wgmmaWaited = 0;  ///< operations known to be complete
  bool wgmmaFenced = false;  ///< a wgmma.fence has been executed
  struct BusyRow {
    uint32_t op;
    uint32_t pc;
  };
  std::unordered_map<uint32_t, BusyRow> busyRows;   ///< owned by wgmma
  std::set<uint32_t> dirtyRows;                     ///< written since the last wgmma.fence
  std::unordered_map<uint32_t, BusyRow> loadedRows; ///< by tcgen05.ld, and no wait since
  uint64_t tmemLoadAgent = 0, tmemStoreAgent = 0;
  uint32_t tmemLoads = 0, tmemStores = 0;
  uint64_t tmemUseAgent = 0; ///< counts loads whose registers have been used
  uint32_t tmemUsed = 0;
  /// The warp's count at each instruction that waits for all its lanes and orders no memory.
  std::vector<uint32_t> collectives;
  std::unique_ptr<View> exitView;   ///< of lanes that have exited; null: none
  std::unique_ptr<View> afterExits; ///< BarrierRound::exits of rounds that it has waited for
  std::shared_ptr<BarrierRound> clusterRound;
  uint32_t clusterArrivedLanes = 0;
  /// Stores to global memory, and loads that race with one of the block.
  LanesAt storedLanes, racedLoads;
  // Timing::Paced.
  double clock = 0;
  std::unordered_map<uint32_t, double> loadedAt; ///< by row: when a load arrives
  double tensorAt = 0;                           ///< when loads of tensor memory have arrived
  TraceEvent work;                               ///< that is not yet reported
};

/// Four warps that multiply together.
struct Warpgroup {
  uint64_t agent = 0;
  /// An instruction that not all of them have issued, by its number.
  struct Open {
    uint32_t pc = 0;
    uint32_t warps = 0; ///< mask of those that have
    std::array<uint64_t, 2> descriptors = {0, 0};
    std::vector<std::shared_ptr<const Wgmma>> parts; ///< one of each
  };
  std::map<uint32_t, Open> open;
  Observed observed; ///< before the last instruction that all have issued
};

struct TensorMemory {
  std::vector<uint32_t> words;       ///< 128 lanes x 512 columns
  Shadow shadow;                     ///< a cell is 16 lanes of one column
  uint32_t allocated[512 / 32] = {}; ///< 0 free, else 1 + owner of the columns
  unsigned mostColumns = 0;          ///< that were allocated at once
  bool relinquished = false;
  uint32_t lastColumns = 0;
  uint32_t allocPc = 0;
  uint8_t group = 0;
  /// Allocations of a pair: both blocks issue them, then both are done.
  enum class PairStep : uint8_t { None, Issued, Done } pairStep = PairStep::None;
  uint32_t allocsIssued = 0, allocsDone = 0;
};

struct Cta {
  Cluster *cluster = nullptr;
  uint32_t rank = 0;
  uint32_t id[3] = {0, 0, 0};
  std::vector<uint8_t> shared; ///< whole, with the reserved part
  Shadow shadow;
  std::vector<uint8_t> mbarrierAt; ///< per 8 bytes: holds a live mbarrier
  std::unordered_map<uint32_t, Mbarrier> mbarriers;
  std::vector<std::unique_ptr<Warp>> warps;
  std::shared_ptr<BarrierRound> named[16];
  std::unique_ptr<TensorMemory> tensor;
  struct Pipe {
    uint64_t agent = 0;
    uint32_t issued = 0;
  };
  std::unordered_map<uint32_t, Pipe> tensorPipes; ///< by thread
  std::map<uint32_t, Warpgroup> warpgroups;       ///< by index
  std::shared_ptr<MatrixTiles> matrixTiles;       ///< made on demand
  uint32_t liveThreads = 0;
  bool triggered = false;                      ///< it lets dependent grids start
  std::vector<uint32_t> openOps;               ///< to be seen complete before the exit
  std::vector<UnreleasedRead> unreleasedReads; ///< the last few of its threads
  /// Tensor maps that a fence of this block has acquired, and which edit of it.
  std::unordered_map<uint64_t, uint64_t> acquiredMaps;
  std::unique_ptr<PacedSm> paced; ///< Timing::Paced
};

struct Cluster {
  Grid *grid = nullptr;
  uint32_t index = 0;  ///< in the grid
  uint32_t number = 0; ///< among all that run at the same time
  uint32_t firstWarp = 0, numWarps = 0;
  std::vector<std::unique_ptr<Cta>> ctas;
  std::vector<std::unique_ptr<Event>> events;
  uint64_t nextOrdinal = 0;
  uint64_t nextAgent = 1;
  uint64_t progress = 1;
  std::deque<AsyncOp> *ops = nullptr; ///< owned by the global state
  std::shared_ptr<BarrierRound> clusterRound;
  uint32_t clusterRounds = 0; ///< completed
  uint64_t rng = 1;
  uint64_t instructions = 0;
  /// Work beside instructions: records of accesses looked at, and the like.
  uint64_t effort = 0;
  uint64_t counted = 0, charged = 0; ///< of both, added to the grid's
  uint64_t lastProgress = 0, stalledSince = 0;
  bool held = false;                  ///< Grid::onlyOthers let nothing happen in the last step
  size_t cursor = 0;                  ///< round robin over warps
  std::unique_ptr<Timeline> timeline; ///< null without LaunchOptions::timeline
  bool finished = false;
  bool crossed = false; ///< Timing::Random: an instruction has synchronized with other clusters
  bool stopped = false; ///< after a fatal finding
  uint32_t liveWarps = 0;
  // Timing::Paced.
  double now = 0;
  Warp *running = nullptr;
  AsyncWork::Engine lastProgressBy = AsyncWork::Engine::None; ///< None: a warp
  std::unique_ptr<Watch> watch;                               ///< while Standstill runs the warps
  uint64_t clockAhead = 0;                                    ///< of the instructions

  /// Cost of the instructions: 32 steps of work count as one more.
  uint64_t spent() const { return instructions + effort / 32; }
  /// The contents of clocks.
  uint64_t clock() const { return watch ? watch->clock : instructions + clockAhead; }
  bool starves(const Warp &warp) const;
  uint64_t random();
  uint64_t newAgent() { return uint64_t(number + 1) << 32 | nextAgent++; }
  /// Creates an agent that counts tcgen05 operations.
  uint64_t newTensorAgent() { return Clock::tensorAgent | newAgent(); }
  View newView() const { return View(firstWarp, numWarps); }

  void start();
  /// Runs until all is done or, with \p slice, for a while.
  void run(bool slice);
  void enqueue(uint64_t chain, std::string what, uint32_t pc, std::function<void()> work,
               const AsyncWork &size = {});
  /// Timing::Paced: a wait finds the last phase over.
  void observePhase(Warp &warp, const Mbarrier &barrier) const;
  /// Timing::Paced: a warp tests an mbarrier for the first time.
  void traceProbe(const Warp &warp, uint32_t pc, bool succeeded) const;
  /// Timing::Paced: something accesses shared memory.
  void traceShared(const Cta &cta, uint64_t offset, uint32_t pc, bool isWrite, bool isAsync) const;
  bool runSplit(Warp &warp, size_t split, unsigned quantum);

private:
  bool step();
  /// Returns whether a thread waits for the end of the previous grid.
  bool awaitsGrid() const;
  bool stepPaced();
  void pace(Event &event, const AsyncWork &work);
  double operandsAt(const Warp &warp, uint32_t pc) const;
  double earliest(const Warp &warp, const Split &split) const;
  void charge(Warp &warp, uint32_t pc, double start);
  void reportTotals() const;
  void traceIssue(Warp &warp, uint32_t pc, double start) const;
  void reportWork(Warp &warp) const;
  bool runEvent(size_t index);
  void reportStall();
  void finish();
};

/// Global memory, and what is known of it, for all grids that run at the same time.
struct GlobalState {
  std::vector<Grid *> grids;           ///< in the order of the stream
  std::deque<std::deque<AsyncOp>> ops; ///< by number of the cluster
  GlobalUses globals;
  std::mutex syncMutex;
  std::unordered_map<uint64_t, SyncVariable> syncVariables;
  std::mutex atomicMutex;
  /// Tensor maps in global memory that kernels have edited: address, edits.
  std::mutex mapMutex;
  std::unordered_map<uint64_t, uint64_t> mapEdits;

  const AsyncOp &op(uint32_t cluster, uint32_t index) const { return ops[cluster][index]; }
};

struct Grid {
  GlobalState *state = nullptr;
  const Program *program = nullptr;
  Device *device = nullptr;
  LaunchConfig config;
  LaunchOptions options;
  std::array<uint32_t, 3> clusterDim = {1, 1, 1};
  uint32_t ctasPerCluster = 1;
  uint32_t numClusters = 1;
  uint32_t tracedCluster = 0;
  std::vector<InstructionTimes> instructionTimes; ///< Timing::Paced, by pc
  uint32_t threadsPerCta = 1, warpsPerCta = 1;
  uint32_t sharedBytes = 0;
  uint32_t dynamicBase = 0; ///< where dynamic shared memory begins
  // Numbers among all grids of the state begin here.
  uint32_t firstWarp = 0, firstBlock = 0, firstCluster = 0;
  /// The grid before this one in the stream, if this one may start before its end.
  Grid *previous = nullptr;
  bool hasDependent = false;          ///< a grid follows whose `previous` is this one
  std::atomic<uint32_t> triggered{0}; ///< blocks that let dependents start, or have ended
  bool waited = false;                ///< a thread has waited for `previous`
  bool ended = false;
  View endView; ///< what a wait for the end of this grid makes known
  /// Clusters take turns and a warp is starved: leave it out for now.
  bool onlyOthers = false;
  Findings findings;
  /// By pc: whether it has been executed. Empty without LaunchOptions::coverage.
  std::vector<std::atomic<bool>> reached;
  std::atomic<uint64_t> instructions{0}, spent{0};
  std::atomic<bool> abort{false};
  // Clusters that neither run nor have been handed out by cluster launch control.
  std::mutex launchMutex;
  uint32_t nextCluster = 0; ///< how many have been taken
  /// Clusters in the order in which they start; empty: in the order of their numbers.
  std::vector<uint32_t> startOrder;

  // With launchMutex held.
  bool allTaken() const { return nextCluster >= numClusters; }
  uint32_t takeCluster() {
    uint32_t position = nextCluster++;
    return startOrder.empty() ? position : startOrder[position];
  }

  bool checks() const { return options.checks; }
  uint32_t numBlocks() const { return numClusters * ctasPerCluster; }
  uint32_t blockOf(uint32_t gid) const { return firstBlock + (gid - firstWarp) / warpsPerCta; }
  /// Returns whether a cluster number belongs to this grid.
  bool has(uint32_t cluster) const { return cluster - firstCluster < numClusters; }
  /// The agent whose first count is the end of the grid; clusters number others from 1 << 32.
  uint64_t endAgent() const { return uint64_t(firstCluster) + 1; }
};

/// Reports that no thread of \p clusters, which belong to one grid, can go on, and stops them.
void reportDeadlock(const std::vector<Cluster *> &clusters, std::string reason);
/// Runs the grids of a state to their ends.
void runGrids(GlobalState &state);
/// A block lets dependent grids start, or has ended.
void trigger(Grid &grid, Cta &cta);

/// State that a handler works on.
struct Exec {
  Grid &grid;
  Cluster &cluster;
  Cta &cta;
  Warp &warp;
  size_t splitIndex;
  uint32_t pc;
  uint32_t mask; ///< active lanes whose guard holds
  const DInst *inst;
  bool advance = true; ///< go on to the next instruction
  bool yield = false;  ///< give others a turn

  Split &split() { return warp.splits[splitIndex]; }

  template <class T> const T *row(const Opnd &op) const {
    const uint8_t *base =
        op.kind == Opnd::Kind::Const ? grid.program->constants.data() : warp.rows.data();
    return reinterpret_cast<const T *>(base + op.at);
  }
  template <class T> T *out(const Opnd &op) {
    return reinterpret_cast<T *>(warp.rows.data() + op.at);
  }
  /// A lane's value, zero-extended.
  uint64_t value(const Opnd &op, unsigned lane) const {
    return op.bits == 64    ? row<uint64_t>(op)[lane]
           : op.bits == 128 ? row<uint64_t>(op)[lane]
                            : row<uint32_t>(op)[lane];
  }
  void setValue(const Opnd &op, unsigned lane, uint64_t value) {
    if (op.kind != Opnd::Kind::Row)
      return;
    if (op.bits >= 64)
      out<uint64_t>(op)[lane] = value;
    else
      out<uint32_t>(op)[lane] = uint32_t(value);
  }
  /// The lanes for which a predicate operand holds.
  uint32_t pred(const Opnd &op) const {
    uint32_t bits = warp.preds[op.at];
    return op.negated ? ~bits : bits;
  }
  void setPred(const Opnd &op, uint32_t bits) {
    if (op.kind == Opnd::Kind::Pred)
      warp.preds[op.at] = (warp.preds[op.at] & ~mask) | (bits & mask);
  }
  uint64_t address(const Opnd &op, unsigned lane) const {
    uint64_t sum = value(op, lane) + uint64_t(op.offset);
    // Shared and local addresses may be in registers of 32 bits.
    return op.kind == Opnd::Kind::Row && op.bits == 32 ? uint32_t(sum) : sum;
  }
  unsigned firstLane() const { return mask ? unsigned(__builtin_ctz(mask)) : 0; }

  /// Leaves the instruction to be tried again when something has happened.
  void block(std::string waitsFor);
  /// A poll that found nothing: lets others run, and engines if all poll. \p mayCompute: any
  /// number of them may be a computation instead of a deadlock.
  void pollFailed(std::string waitsFor, bool mayCompute = false);
  /// Reports and stops the cluster.
  void fatal(unsigned code, std::string message);
  /// Reports and goes on.
  void report(unsigned code, std::string message, std::optional<Tier> tier = {});
  ExecutionPoint point() const {
    return {pc, cta.id[0], cta.id[1], cta.id[2], warp.index, firstLane()};
  }
  View &view(unsigned lane) { return warp.lanes[lane].view ? *warp.lanes[lane].view : warp.view; }
};

/// Calls \p fn for every lane set in \p mask.
template <class Fn> inline void forLanes(uint32_t mask, Fn &&fn) {
  while (mask) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    mask &= mask - 1;
    fn(lane);
  }
}

/// Values of %tid and the like, and addresses of shared variables.
void fillSpecialRows(Grid &grid, Warp &warp);
void refreshClock(Grid &grid, Warp &warp, uint64_t now);
/// Reports registers of \p inst that an asynchronous instruction owns.
void checkBusyRegisters(Exec &ex, const DInst &inst);
/// Work in flight, tensor memory not freed.
void checkAtExit(Grid &grid, Cluster &cluster, Cta &cta);

// Joins and exits (Control.cpp).
void absorbAtJoin(Warp &warp, size_t splitIndex);
void exitLanes(Exec &ex, uint32_t lanes);
/// Waits until all lanes of \p members that live are at a `.sync` instruction
/// (\p anywhere: not necessarily this one). On success ex.mask holds all of
/// them, and the splits of the others have been moved on.
bool rendezvous(Exec &ex, uint32_t members, bool anywhere);
/// `.aligned`: all live lanes of the warp must be here.
bool requireAligned(Exec &ex);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_MACHINE_H
