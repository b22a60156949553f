//===- Optimal.cpp - The schedule of the exact solver ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Schedule/Optimal.h"
#include "Diagnostics/Codes.h"
#include "Scheduling/Schedule/Predict.h"
#include "Scheduling/Schedule/Report.h"

#include <algorithm>

namespace penstock::sched {
namespace {

/// Returns whether an in-order queue accepts `second` before `first` completes.
bool queued(const Problem &problem, const ModuloDependence &d) {
  const Statement &first = problem.statements[d.from], &second = problem.statements[d.to];
  return first.async && second.async && first.queue != none && first.queue == second.queue &&
         problem.queues[first.queue].inOrder && d.latency <= std::max<int64_t>(1, first.busy);
}

bool hasError(const std::vector<Diagnostic> &diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic &d) { return d.severity == Severity::Error; });
}

struct Candidate {
  Problem problem;
  Schedule schedule;
  Verdict verdict;
  Rational interval;
};

Candidate timed(Problem problem, Schedule schedule, Verdict verdict) {
  Rational interval = predictedInterval(problem, schedule, oneRole(problem));
  return {std::move(problem), std::move(schedule), std::move(verdict), interval};
}

} // namespace

ModuloFromLoop inOrderProblem(const Problem &problem, unsigned maxVersions) {
  ModuloFromLoop result = moduloProblem(problem);
  if (!result.problem)
    return result;
  ModuloProblem &modulo = *result.problem;
  for (ModuloStorage &storage : modulo.storages) {
    // Tiles beyond the capacity of registers are spilled.
    bool unlimited = storage.space == Space::Local && !problem.capacityOf(Space::Local);
    unsigned most = unlimited ? 1 : maxVersions;
    storage.maxVersions = std::max(storage.minVersions, std::min(storage.maxVersions, most));
  }
  auto warps = unsigned(modulo.resources.size());
  modulo.resources.emplace_back("issue");
  size_t count = problem.statements.size();
  /// The operation on the engine of each statement: its own, or that of its issue.
  std::vector<unsigned> runs(count);
  for (unsigned s = 0; s < count; ++s) {
    const Statement &statement = problem.statements[s];
    ModuloOperation issue{statement.name, warps, 1};
    runs[s] = s;
    if (!statement.async) {
      issue.busy = std::max({int64_t(1), statement.busy, statement.latency});
    } else {
      runs[s] = unsigned(modulo.operations.size());
      modulo.operations.push_back(modulo.operations[s]);
      modulo.operations.back().issue = s;
    }
    modulo.operations[s] = std::move(issue);
  }
  std::vector<ModuloDependence> dependences;
  for (ModuloDependence d : modulo.dependences) {
    if (queued(problem, d)) {
      dependences.push_back({d.from, d.to, 0, d.distance, d.storage});
      d.to = runs[d.to];
    }
    d.from = runs[d.from];
    dependences.push_back(d);
  }
  for (unsigned s = 0; s < count; ++s)
    if (runs[s] != s)
      dependences.push_back({s, runs[s], 0, 0, none});
  modulo.dependences = std::move(dependences);
  return result;
}

OptimalSchedule optimalSchedule(const Problem &problem, const OptimalOptions &options) {
  OptimalSchedule result;
  auto fail = [&](unsigned code, std::string message) -> Diagnostic & {
    Diagnostic d;
    d.code = code;
    d.location = problem.location;
    d.message = std::move(message);
    return result.diagnostics.emplace_back(std::move(d));
  };
  constexpr int64_t mostStages = 8;
  int64_t stages = options.numStages ? std::min(options.numStages, mostStages) : mostStages;
  ModuloFromLoop from = inOrderProblem(problem, unsigned(stages));
  result.diagnostics = from.diagnostics;
  if (!from.problem)
    return result;
  ModuloResult solved = solveExact(*from.problem, {.timeoutMilliseconds = options.milliseconds});
  if (!exactSolverBuilt() || !checkModulo(*from.problem).empty()) {
    result.diagnostics = solved.diagnostics;
    for (Diagnostic &d : result.diagnostics)
      d.location = problem.location;
    return result;
  }
  if (!solved.optimal || !solved.fewestBytes) {
    fail(SolverTimeLimit, "the exact solver did not find the optimal schedule of the loop within " +
                              std::to_string(options.milliseconds / 1000) + " seconds")
        .helps.emplace_back("raise `solver_seconds`, group statements by `b.statement`, or leave "
                            "`.schedule` out and state `num_stages`");
    return result;
  }
  result.provenInterval = solved.schedule->interval;
  ModuloSchedule issues = *solved.schedule;
  issues.start.resize(problem.statements.size());
  Problem stated = withVersions(problem, from, issues);
  Schedule schedule = toSchedule(issues);
  int64_t first = *std::min_element(schedule.stage.begin(), schedule.stage.end());
  for (int64_t &stage : schedule.stage)
    stage -= first;
  Verdict verdict = verifySchedule(stated, schedule);
  if (!verdict.legal()) {
    result.diagnostics = toDiagnostics(stated, schedule, verdict);
    return result;
  }
  Candidate best = timed(std::move(stated), std::move(schedule), std::move(verdict));
  // Issues take no time in the model of Predict.h.
  for (int64_t depth = 1; depth <= stages; ++depth) {
    Inferred inferred = infer(problem, depth);
    if (!inferred.schedule || hasError(inferred.diagnostics))
      continue;
    Candidate other = timed(problem, *inferred.schedule, inferred.verdict);
    if (other.interval < best.interval) {
      best = std::move(other);
      result.inferredStages = depth;
    }
  }
  result.problem = std::move(best.problem);
  result.schedule = std::move(best.schedule);
  result.verdict = std::move(best.verdict);
  return result;
}

} // namespace penstock::sched
