//===- Problem.h - A loop to be pipelined, as plain data --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that decides whether a schedule of a loop is right, and nothing
// else: the scheduled statements in source order, what they touch, how their
// effects complete, and the storage they share. A compiler fills it in from its
// IR; tests and bug reports write it as text (Text.h). All questions about a
// loop (check, verify, versions, infer, solvers, explain) take this type.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PROBLEM_PROBLEM_H
#define PENSTOCK_SCHEDULING_PROBLEM_PROBLEM_H

#include "Diagnostics/Diagnostic.h"
#include "Scheduling/Problem/Region.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace penstock::sched {

using StatementId = unsigned;
using BufferId = unsigned;
using QueueId = unsigned;
/// "No such statement, buffer or queue".
constexpr unsigned none = ~0u;

enum class Space { Global, Shared, Tensor, Local };
constexpr size_t numSpaces = 4;

/// Which path to memory an access takes; fences order accesses of one path
/// after accesses of another.
enum class Proxy { Generic, Async };

/// Hardware unit that executes a statement on a GPU. It decides who issues the statement, which
/// proxy its accesses take and how its effects end (Mechanisms.h).
enum class Engine {
  Threads,     ///< loads, stores and arithmetic of all threads
  MmaSync,     ///< mma.sync: synchronous, operands in registers
  CpAsync,     ///< cp.async
  TmaLoad,     ///< cp.async.bulk(.tensor) into shared memory
  TmaStore,    ///< cp.async.bulk(.tensor) and reductions out of shared memory
  Wgmma,       ///< wgmma.mma_async
  Tcgen05Mma,  ///< tcgen05.mma
  Tcgen05Load, ///< tcgen05.ld
  Tcgen05Store ///< tcgen05.st
};
constexpr size_t numEngines = 9;

/// Identifies a distribution: which threads touch which element of a tile.
using HolderId = unsigned;

/// One condition that can be recomputed for any iteration, or its negation.
struct Literal {
  std::string condition;
  bool negated = false;
  friend auto operator<=>(const Literal &, const Literal &) = default;
};

/// A conjunction; empty means always. Evaluated at the statement's iteration.
using Guard = std::vector<Literal>;

/// Does \p strong being true imply \p weak, in the same iteration?
bool implies(const Guard &strong, const Guard &weak);
/// Can both not be true in the same iteration?
bool exclusive(const Guard &a, const Guard &b);

/// A buffer is an allocation or a tensor; all views of it are the same buffer.
struct Buffer {
  /// Whether iterations may have copies of their own.
  enum class Versioning {
    Derived, ///< decide from the regions of the accesses
    Allowed, ///< the caller has shown it
    Fixed    ///< the caller has refuted it, and says why
  };
  std::string name;
  SourceLocation location;
  Space space = Space::Shared;
  /// Extents; with them an access to the whole buffer is a box as well.
  std::vector<int64_t> shape;
  /// Size of one version, in the unit of the capacity of its space.
  int64_t bytes = 0;
  /// Number of versions that the user stated; 0: computed.
  unsigned statedVersions = 0;
  Versioning versioning = Versioning::Derived;
  std::string fixedBecause;
  /// Regions that are read after the loop, relative to its last iteration.
  std::vector<Region> readAfter;
  /// Conflicts on this buffer are listed in Problem::conflicts instead of being
  /// computed from regions.
  bool conflictsGiven = false;
};

struct Access {
  BufferId buffer = none;
  bool write = false;
  Region region;
  Proxy proxy = Proxy::Generic;
  /// A write under a condition inside of its statement: later reads may not
  /// rely on it.
  bool maybe = false;
  /// The distribution of the elements over threads. Two accesses of one role with
  /// the same holder touch each element with the same thread; `none`: unknown.
  HolderId holder = none;
  friend bool operator==(const Access &, const Access &) = default;
};

/// A queue of asynchronous operations. If it is in order, its members execute
/// in the order in which they are issued, and pairs of accesses to the buffers
/// it orders (its accumulators) need no wait between them.
struct Queue {
  std::string name;
  bool inOrder = false;
  std::vector<BufferId> orders;
};

/// Iteration k of a wait awaits iteration k - distance of a statement.
struct Await {
  StatementId statement = none;
  int64_t distance = 0;
  bool reads = true;
  bool writes = true;
  friend bool operator==(const Await &, const Await &) = default;
};

enum class StatementKind {
  Compute, ///< anything with an effect that is not one of the others
  Copy,    ///< a copy that inference may move ahead
  Wait,    ///< ends asynchronous statements
  Commit,  ///< closes a group of its queue
  Fence,   ///< orders accesses of different proxies
  Scalar   ///< defines a value that reads what the body writes
};

struct Statement {
  std::string name;
  SourceLocation location;
  StatementKind kind = StatementKind::Compute;
  std::vector<Access> accesses;
  Guard guard;

  /// Effects end at a wait, not when the statement has been issued.
  bool async = false;
  /// The queue of an asynchronous statement, commit or counted wait.
  QueueId queue = none;
  /// Asynchronous statements with the same number are committed together by the
  /// compiler, right after the last of them; -1: no such group.
  int64_t group = -1;

  /// Wait: what it names.
  std::vector<Await> awaits;
  /// Wait: its first iteration also ends what was issued under its names before the
  /// loop, and this is what those operations touch.
  bool awaitsBefore = false;
  std::vector<Access> settles;
  /// Wait: all groups of `queue` but the latest `count`; -1 if not counted.
  int64_t count = -1;
  /// Counted wait: ends only the reads (wait_group.read).
  bool countReadsOnly = false;

  /// Fence: orders accesses of `from` before accesses of `to`; both sides are
  /// all proxies, and all spaces, unless said otherwise.
  std::vector<Proxy> fenceFrom, fenceTo;
  std::vector<Space> fenceSpaces;

  /// Scalar: the statements that use the value.
  std::vector<StatementId> users;

  /// Hardware unit on a GPU.
  Engine executedBy = Engine::Threads;
  /// A move that the compiler inserted for another statement, whose stage it shares.
  StatementId parent = none;
  /// Bytes that a TMA load brings; 0: the sizes of the buffers that it writes.
  int64_t bytes = 0;

  /// For prediction and solvers: the engine that executes it, for how many
  /// cycles it keeps that engine, and after how many its result is there.
  std::string engine;
  int64_t busy = 0;
  int64_t latency = 0;
};

/// A pair of accesses that touch the same storage, finished by the caller:
/// `first` in iteration k and `second` in iteration k + d, for each d of the
/// set (0 only if `first` comes first in source order).
struct GivenConflict {
  StatementId first = none;
  StatementId second = none;
  BufferId buffer = none;
  bool firstWrites = false;
  bool secondWrites = false;
  DistanceSet distances;
};

struct Problem {
  std::string name;
  SourceLocation location;
  std::vector<Buffer> buffers;
  std::vector<Queue> queues;
  std::vector<Statement> statements;
  std::vector<GivenConflict> conflicts;
  /// Capacity of each space (bytes; columns for tensor memory); 0: no limit.
  std::array<int64_t, numSpaces> capacity = {};
  /// The loop runs once: the last arrivals on its barriers need not be awaited.
  bool enteredOnce = false;

  int64_t capacityOf(Space space) const { return capacity[size_t(space)]; }
  BufferId findBuffer(const std::string &name) const;
  QueueId findQueue(const std::string &name) const;
  StatementId findStatement(const std::string &name) const;
};

/// A stage and an order for each statement, in source order.
struct Schedule {
  std::vector<int64_t> stage;
  std::vector<int64_t> order;
  /// max(stage) + 1.
  int64_t numStages() const;
  friend bool operator==(const Schedule &, const Schedule &) = default;
};

/// All statements in one stage, in source order: the loop as it is written.
Schedule identitySchedule(const Problem &);

const char *spaceName(Space);
const char *kindName(StatementKind);
const char *engineName(Engine);
/// Returns the engine of a name, if there is one.
std::optional<Engine> findEngine(const std::string &name);

/// Number of compared pairs of accesses, and its limit: no real kernel has more, and the limit
/// bounds the time for malicious input.
size_t comparedPairs(const Problem &);
constexpr size_t maxPairs = size_t(1) << 18;

/// Is the problem well formed? Violations are errors of the caller that
/// built it, or of the user where a loop has a form that no schedule can carry
/// (a commit under a condition, say). Everything else here may be called only
/// when the result is empty.
std::vector<Diagnostic> checkProblem(const Problem &);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PROBLEM_PROBLEM_H
