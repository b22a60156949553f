//===- ModuloExact.cpp - The smallest interval, with proof ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interval is a variable of the formula, so that one question ("is there a
// schedule with an interval of at most x?") covers many candidates, although
// feasibility is not monotone in the interval. Start times are integers; two
// operations on one engine keep apart modulo the interval by some whole number
// of turns between them, which is bounded, so that nothing but sums of
// variables appears.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Scheduling/Schedule/Modulo.h"

#include <algorithm>

#ifdef PENSTOCK_HAVE_Z3
#include <chrono>
#include <z3++.h>
#endif
#ifdef PENSTOCK_LOAD_Z3
#include "Scheduling/Schedule/Z3AtRunTime.h"
#endif

namespace penstock::sched {

#if !defined(PENSTOCK_HAVE_Z3) || defined(PENSTOCK_LOAD_Z3)
static ModuloResult withoutSolver(const ModuloProblem &problem, const char *message,
                                  const char *help) {
  ModuloResult result;
  result.diagnostics = checkModulo(problem);
  if (!result.diagnostics.empty())
    return result;
  result.bounds = lowerBounds(problem);
  Diagnostic d;
  d.code = SolverNotBuilt;
  d.message = message;
  d.helps.emplace_back(help);
  result.diagnostics.push_back(std::move(d));
  return result;
}
#endif

#ifndef PENSTOCK_HAVE_Z3

bool exactSolverBuilt() { return false; }

ModuloResult solveExact(const ModuloProblem &problem, const ModuloOptions &) {
  return withoutSolver(problem, "this build has no exact solver, because Z3 was not found",
                       "install libz3-dev and configure again");
}

#else

namespace {

class Formula {
public:
  Formula(const ModuloProblem &problem, int64_t lowest, int64_t timeout)
      : problem(problem), solver(context), interval(context.int_const("ii")),
        deadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout)) {
    turns = mostTurns(lowest);
    solver.add(interval >= number(lowest));
    for (size_t i = 0; i < problem.operations.size(); ++i) {
      start.push_back(context.int_const(("t" + std::to_string(i)).c_str()));
      solver.add(start[i] >= 0);
      solver.add(start[i] <= number(turns) * interval);
      if (problem.operations[i].resource != none)
        solver.add(interval >= number(problem.operations[i].busy));
    }
    addStorages();
    for (const ModuloDependence &d : problem.dependences) {
      z3::expr distance = number(d.distance) * interval;
      if (d.storage != none)
        distance = distance + slack[d.storage];
      solver.add(start[d.to] + distance >= start[d.from] + number(d.latency));
    }
    addEngines();
  }

  /// A schedule with an interval of at most \p most; unknown after a timeout.
  z3::check_result atMost(int64_t most, ModuloSchedule &found) {
    solver.push();
    solver.add(interval <= number(most));
    z3::check_result answer = ask(found);
    solver.pop();
    return answer;
  }
  void fixInterval(int64_t value) { solver.add(interval == number(value)); }

  /// A schedule that uses fewer bytes than \p bytes for its versions.
  z3::check_result fewerBytes(int64_t bytes, ModuloSchedule &found) {
    solver.push();
    z3::expr sum = context.int_val(0);
    for (size_t s = 0; s < versions.size(); ++s)
      sum = sum + number(weight(s)) * versions[s];
    solver.add(sum < number(bytes));
    z3::check_result answer = ask(found);
    solver.pop();
    return answer;
  }
  /// From now on no more than \p bytes.
  void fixBytes(int64_t bytes) {
    z3::expr sum = context.int_val(0);
    for (size_t s = 0; s < versions.size(); ++s)
      sum = sum + number(weight(s)) * versions[s];
    solver.add(sum <= number(bytes));
  }
  /// A schedule with fewer versions of one storage.
  z3::check_result fewerVersions(size_t storage, unsigned than, ModuloSchedule &found) {
    solver.push();
    solver.add(versions[storage] < number(than));
    z3::check_result answer = ask(found);
    solver.pop();
    return answer;
  }
  void fixVersions(size_t storage, unsigned value) {
    solver.add(versions[storage] == number(value));
  }

  /// Storages without a size count one each, so that they do not grow idly.
  int64_t weight(size_t storage) const {
    return std::max<int64_t>(1, problem.storages[storage].bytes);
  }
  int64_t bytesOf(const ModuloSchedule &s) const {
    int64_t sum = 0;
    for (size_t i = 0; i < s.versions.size(); ++i)
      sum += weight(i) * s.versions[i];
    return sum;
  }

private:
  z3::expr number(int64_t value) { return context.int_val(value); }

  /// Returns an upper bound of the intervals that a schedule spans: with given offsets, stages are
  /// longest paths, and no edge adds more than this.
  int64_t mostTurns(int64_t lowest) const {
    std::vector<int64_t> most(problem.operations.size(), 0);
    for (const ModuloDependence &d : problem.dependences)
      if (d.from != d.to)
        most[d.from] = std::max(
            most[d.from], d.latency / lowest + 2 - d.distance -
                              (d.storage == none ? 0 : problem.storages[d.storage].minVersions));
    int64_t sum = 1;
    for (int64_t m : most)
      sum += std::max<int64_t>(m, 0);
    return sum;
  }

  void addStorages() {
    for (size_t s = 0; s < problem.storages.size(); ++s) {
      const ModuloStorage &storage = problem.storages[s];
      z3::expr v = context.int_const(("v" + std::to_string(s)).c_str());
      // versions * interval, as a choice between multiples of the interval.
      z3::expr product = number(storage.maxVersions) * interval;
      for (unsigned n = storage.maxVersions; n-- > storage.minVersions;)
        product = z3::ite(v == number(n), number(n) * interval, product);
      solver.add(v >= number(storage.minVersions));
      solver.add(v <= number(storage.maxVersions));
      versions.push_back(v);
      slack.push_back(product);
    }
    for (size_t space = 0; space < numSpaces; ++space) {
      if (!problem.capacity[space])
        continue;
      z3::expr sum = context.int_val(0);
      for (size_t s = 0; s < problem.storages.size(); ++s)
        if (size_t(problem.storages[s].space) == space)
          sum = sum + number(problem.storages[s].bytes) * versions[s];
      solver.add(sum <= number(problem.capacity[space]));
    }
  }

  void addEngines() {
    for (size_t i = 0; i < problem.operations.size(); ++i)
      for (size_t j = i + 1; j < problem.operations.size(); ++j) {
        const ModuloOperation &a = problem.operations[i];
        const ModuloOperation &b = problem.operations[j];
        if (a.resource == none || a.resource != b.resource)
          continue;
        z3::expr_vector choices(context);
        for (int64_t q = -turns; q <= turns; ++q) {
          z3::expr gap = start[j] - start[i] + number(q) * interval;
          z3::expr apart = gap >= number(a.busy) && gap <= interval - number(b.busy);
          if (a.issue != none && b.issue != none) {
            z3::expr issues = start[b.issue] - start[a.issue] + number(q) * interval;
            apart = apart && issues >= 0 && issues <= interval;
          }
          choices.push_back(apart);
        }
        solver.add(z3::mk_or(choices));
      }
  }

  z3::check_result ask(ModuloSchedule &found) {
    // The time is for all questions together.
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                    deadline - std::chrono::steady_clock::now())
                    .count();
    if (left <= 0)
      return z3::unknown;
    z3::params params(context);
    params.set("timeout", unsigned(std::min<int64_t>(left, INT32_MAX)));
    solver.set(params);
    z3::check_result answer = solver.check();
    if (answer != z3::sat)
      return answer;
    z3::model model = solver.get_model();
    auto value = [&](const z3::expr &e) { return model.eval(e, true).get_numeral_int64(); };
    found.interval = value(interval);
    found.start.clear();
    found.versions.clear();
    for (const z3::expr &t : start)
      found.start.push_back(value(t));
    for (const z3::expr &v : versions)
      found.versions.push_back(unsigned(value(v)));
    return answer;
  }

  const ModuloProblem &problem;
  z3::context context;
  z3::solver solver;
  z3::expr interval;
  std::chrono::steady_clock::time_point deadline;
  int64_t turns = 0;
  std::vector<z3::expr> start, versions, slack;
};

/// Moves every operation as early as it can be without changing who follows
/// whom on an engine, so that equal problems give equal schedules.
void compact(const ModuloProblem &problem, ModuloSchedule &schedule) {
  size_t count = problem.operations.size();
  struct Edge {
    size_t from, to;
    int64_t weight;
  };
  std::vector<Edge> edges;
  for (const ModuloDependence &d : problem.dependences)
    edges.push_back(
        {d.from, d.to,
         d.latency - schedule.interval *
                         (d.distance + (d.storage == none ? 0 : schedule.versions[d.storage]))});
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < count; ++j) {
      const ModuloOperation &a = problem.operations[i];
      if (i == j || a.resource == none || a.resource != problem.operations[j].resource)
        continue;
      int64_t ii = schedule.interval;
      int64_t difference = schedule.start[j] - schedule.start[i];
      int64_t turns = difference >= 0 ? difference / ii : -((-difference + ii - 1) / ii);
      edges.push_back({i, j, a.busy + turns * ii});
    }
  std::vector<int64_t> earliest(count, 0);
  for (size_t round = 0; round <= count + 1; ++round) {
    bool changed = false;
    for (const Edge &e : edges)
      if (earliest[e.from] + e.weight > earliest[e.to]) {
        earliest[e.to] = earliest[e.from] + e.weight;
        changed = true;
      }
    if (!changed)
      break;
  }
  ModuloSchedule better = schedule;
  better.start = earliest;
  if (verifyModulo(problem, better).empty())
    schedule = std::move(better);
}

void note(ModuloResult &result, std::string message) {
  Diagnostic d;
  d.severity = Severity::Warning;
  d.code = NoModuloSchedule;
  d.message = std::move(message);
  result.diagnostics.push_back(std::move(d));
}

} // namespace

bool exactSolverBuilt() {
#ifdef PENSTOCK_LOAD_Z3
  return z3Loaded();
#else
  return true;
#endif
}

ModuloResult solveExact(const ModuloProblem &problem, const ModuloOptions &options) {
#ifdef PENSTOCK_LOAD_Z3
  if (!z3Loaded())
    return withoutSolver(problem, "there is no exact solver, because libz3.so.4 was not found",
                         "install libz3-4, or set PENSTOCK_Z3 to the path of Z3's library");
#endif
  // The heuristic gives something to beat, and the answer if it meets the
  // bound.
  ModuloResult result = solveHeuristic(problem, options);
  if (result.bounds.busiest == none && !result.schedule && !checkModulo(problem).empty())
    return result;
  result.diagnostics.clear();
  // It does not keep the order of issues.
  if (result.schedule && !verifyModulo(problem, *result.schedule).empty())
    result.schedule.reset();
  try {
    Formula formula(problem, result.bounds.best(), options.timeoutMilliseconds);
    int64_t low = result.bounds.best();
    ModuloSchedule found;
    if (!result.schedule) {
      int64_t most = options.maxInterval;
      if (!most) {
        most = 1;
        for (const ModuloDependence &d : problem.dependences)
          most += d.latency;
        for (const ModuloOperation &op : problem.operations)
          most += op.busy;
      }
      z3::check_result answer = formula.atMost(most, found);
      if (answer != z3::sat) {
        note(result, answer == z3::unsat ? "no schedule exists with an interval of up to " +
                                               std::to_string(most) + " cycles"
                                         : "the exact solver ran out of time");
        return result;
      }
      result.schedule = found;
    }
    bool certain = true;
    // Everything below `low` is known to be impossible.
    while (low < result.schedule->interval) {
      int64_t middle = low + (result.schedule->interval - 1 - low) / 2;
      z3::check_result answer = formula.atMost(middle, found);
      if (answer == z3::sat)
        result.schedule = found;
      else if (answer == z3::unsat)
        low = middle + 1;
      else {
        certain = false;
        break;
      }
    }
    result.optimal = certain;
    if (!certain)
      note(result, "the exact solver ran out of time; a smaller interval than " +
                       std::to_string(result.schedule->interval) + " may be possible");
    formula.fixInterval(result.schedule->interval);
    // Versions need not be unique: the fewest bytes, then the smallest numbers
    // from the first storage on.
    z3::check_result answer = z3::unsat;
    if (!problem.storages.empty()) {
      while ((answer = formula.fewerBytes(formula.bytesOf(*result.schedule), found)) == z3::sat)
        result.schedule = found;
      certain &= answer == z3::unsat;
      formula.fixBytes(formula.bytesOf(*result.schedule));
      for (size_t s = 0; s + 1 < problem.storages.size(); ++s) {
        while ((answer = formula.fewerVersions(s, result.schedule->versions[s], found)) == z3::sat)
          result.schedule = found;
        certain &= answer == z3::unsat;
        formula.fixVersions(s, result.schedule->versions[s]);
      }
    }
    result.fewestBytes = certain;
    compact(problem, *result.schedule);
  } catch (const z3::exception &e) {
    result.optimal = false;
    note(result, std::string("the exact solver failed: ") + e.msg());
  }
  return result;
}

#endif // PENSTOCK_HAVE_Z3

} // namespace penstock::sched
