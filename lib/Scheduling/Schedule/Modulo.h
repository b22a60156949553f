//===- Modulo.h - The shortest interval between iterations ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modulo scheduling: every iteration starts `interval` cycles after the one
// before and does the same things at the same times. Operations keep their
// engine for a while and give their result after a latency; dependences reach
// over iterations; tiles may have several versions as far as memory goes. The
// smallest possible interval is what a pipeline can reach at best. Solvers
// share one result type, and none is believed: verifyModulo() judges what they
// return.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_SCHEDULE_MODULO_H
#define PENSTOCK_SCHEDULING_SCHEDULE_MODULO_H

#include "Scheduling/Plan/EventGraph.h"
#include "Scheduling/Problem/Problem.h"

namespace penstock::sched {

struct ModuloOperation {
  std::string name;
  unsigned resource = none; ///< none: no engine, any number at a time
  int64_t busy = 0;         ///< cycles for which it keeps its engine
  /// Another operation that issues it: engines run what is issued in that order.
  unsigned issue = none;
};

/// `to` of iteration k + distance starts no earlier than `latency` after `from`
/// of iteration k. With a storage, its number of versions is added to the
/// distance: the slot is used again that many iterations later.
struct ModuloDependence {
  unsigned from = 0;
  unsigned to = 0;
  int64_t latency = 0;
  int64_t distance = 0;
  unsigned storage = none;
};

struct ModuloStorage {
  std::string name;
  Space space = Space::Shared;
  int64_t bytes = 0;
  unsigned minVersions = 1;
  unsigned maxVersions = 1;
};

struct ModuloProblem {
  std::vector<std::string> resources;
  std::vector<ModuloOperation> operations;
  std::vector<ModuloDependence> dependences;
  std::vector<ModuloStorage> storages;
  std::array<int64_t, numSpaces> capacity = {}; ///< 0: no limit
};

struct ModuloSchedule {
  int64_t interval = 0;
  std::vector<int64_t> start;
  std::vector<unsigned> versions; ///< per storage
  friend bool operator==(const ModuloSchedule &, const ModuloSchedule &) = default;
};

/// Lower bounds of the initiation interval: ResMII (`resource`) and RecMII (`recurrence`).
struct ModuloBounds {
  int64_t resource = 1;   ///< the busiest engine
  int64_t recurrence = 1; ///< the slowest circle of dependences
  unsigned busiest = none;
  int64_t best() const { return std::max(resource, recurrence); }
};

struct ModuloOptions {
  int64_t timeoutMilliseconds = 20000;
  /// Intervals above this are not tried; 0: what a loop without overlap takes.
  int64_t maxInterval = 0;
};

struct ModuloResult {
  std::optional<ModuloSchedule> schedule;
  /// No schedule with a smaller interval exists.
  bool optimal = false;
  /// Exact solver: its versions take the fewest bytes of all schedules of this interval.
  bool fewestBytes = false;
  ModuloBounds bounds;
  /// Why there is no schedule, or why it is not known to be the best.
  std::vector<Diagnostic> diagnostics;
};

std::vector<Diagnostic> checkModulo(const ModuloProblem &);
/// Empty if the schedule keeps every dependence, engine and capacity.
std::vector<std::string> verifyModulo(const ModuloProblem &, const ModuloSchedule &);
/// The problem must pass checkModulo().
ModuloBounds lowerBounds(const ModuloProblem &);

/// Iterative modulo scheduling: fast, usually at or near the bound.
ModuloResult solveHeuristic(const ModuloProblem &, const ModuloOptions & = {});
/// Proves its interval minimal, and then uses the fewest bytes for versions.
/// Without Z3 it returns the diagnostic SolverNotBuilt.
ModuloResult solveExact(const ModuloProblem &, const ModuloOptions & = {});
bool exactSolverBuilt();

/// Gain of more versions: the best interval if no storage has more than `cap` of them.
struct DepthStep {
  unsigned cap = 1;
  ModuloSchedule schedule;
  bool optimal = false;
  int64_t bytes = 0; ///< of all versions together
};
/// Steps from one version up to the first cap that reaches the interval of the
/// problem without a cap. Exact if the exact solver is built.
std::vector<DepthStep> depthTable(const ModuloProblem &, const ModuloOptions & = {});

/// The modulo problem of a loop, with the engines and times of its statements,
/// or why it has none: explicit waits, commits, fences and scheduled scalars
/// fix more of the order than times can express.
struct ModuloFromLoop {
  std::optional<ModuloProblem> problem;
  std::vector<Diagnostic> diagnostics;
  std::vector<BufferId> bufferOf; ///< per storage
};
ModuloFromLoop moduloProblem(const Problem &);

/// The loop with the versions of a solution stated. A schedule alone would get
/// fewer: asynchronous statements without a written wait count as complete when
/// they are issued, and then wait for the slot.
Problem withVersions(const Problem &, const ModuloFromLoop &, const ModuloSchedule &);

/// Stage and order of a modulo schedule: start = stage * interval + offset.
Schedule toSchedule(const ModuloSchedule &);

/// Groups of warps: statements of one engine stay together, and engines share a
/// role unless a synchronous statement of one would hold up the other.
struct RoleAssignment {
  std::vector<unsigned> roleOf; ///< per statement
  std::vector<std::string> names;
};
RoleAssignment assignRoles(const Problem &, const ModuloSchedule &);

/// Shared by solvers: the smallest versions that these start times allow.
std::vector<unsigned> neededVersions(const ModuloProblem &, const ModuloSchedule &);
/// Do so many versions of each storage fit?
bool versionsFit(const ModuloProblem &, const std::vector<unsigned> &versions);
/// Versions to plan with: as many as fit, the same for all as far as possible.
std::vector<unsigned> generousVersions(const ModuloProblem &);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_SCHEDULE_MODULO_H
