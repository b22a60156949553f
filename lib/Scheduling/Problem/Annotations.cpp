//===- Annotations.cpp - Annotations of a loop ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Problem/Annotations.h"
#include "Diagnostics/Codes.h"
#include "Scheduling/Schedule/Optimal.h"
#include "Scheduling/Schedule/Report.h"

#include <algorithm>
#include <set>

namespace penstock::sched {
namespace {

class Resolver {
public:
  Resolver(const Problem &problem, const LoopAnnotations &annotations,
           const std::vector<NamedScalar> &scalars)
      : annotations(annotations), scalars(scalars) {
    loop.problem = problem;
  }

  PipelinedLoop run() {
    bool stated = annotations.stage || annotations.order;
    if (annotations.numStages && stated)
      error(StageAndNumStages, "num_stages and stage/order exclude each other: "
                               "the first asks for a schedule, the others "
                               "state one");
    else if (annotations.stage.has_value() != annotations.order.has_value())
      error(StageWithoutOrder,
            annotations.stage ? "stage is given without order" : "order is given without stage");
    if (!loop.diagnostics.empty())
      return std::move(loop);
    Schedule schedule;
    if (stated) {
      if (!entries("stage", *annotations.stage, schedule.stage) ||
          !entries("order", *annotations.order, schedule.order))
        return std::move(loop);
      warnAboutScalars(schedule);
    }
    if (!markAsynchronous(stated ? &schedule : nullptr))
      return std::move(loop);
    if (annotations.solverSeconds && !stated) {
      OptimalSchedule optimal =
          optimalSchedule(loop.problem, {.numStages = annotations.numStages.value_or(0),
                                         .milliseconds = 1000 * *annotations.solverSeconds});
      append(optimal.diagnostics);
      if (optimal.schedule) {
        loop.problem = std::move(optimal.problem);
        loop.provenInterval = optimal.provenInterval;
        loop.inferredStages = optimal.inferredStages;
      }
      loop.schedule = std::move(optimal.schedule);
      loop.verdict = std::move(optimal.verdict);
    } else if (annotations.numStages) {
      Inferred inferred = infer(loop.problem, *annotations.numStages);
      append(inferred.diagnostics);
      loop.schedule = inferred.schedule;
      loop.verdict = std::move(inferred.verdict);
    } else if (stated) {
      loop.verdict = verifySchedule(loop.problem, schedule);
      append(toDiagnostics(loop.problem, schedule, loop.verdict));
      if (loop.verdict.legal())
        loop.schedule = std::move(schedule);
    }
    return std::move(loop);
  }

private:
  Diagnostic &error(unsigned code, std::string message) {
    Diagnostic d;
    d.code = code;
    d.location = loop.problem.location;
    d.message = std::move(message);
    loop.diagnostics.push_back(std::move(d));
    return loop.diagnostics.back();
  }
  void append(std::vector<Diagnostic> more) {
    for (Diagnostic &d : more)
      loop.diagnostics.push_back(std::move(d));
  }
  bool entries(const char *what, const std::vector<int64_t> &given, std::vector<int64_t> &used);
  void warnAboutScalars(const Schedule &schedule);
  bool markAsynchronous(const Schedule *schedule);

  const LoopAnnotations &annotations;
  const std::vector<NamedScalar> &scalars;
  PipelinedLoop loop;
  bool olderForm = false;
};

/// One entry per scheduled statement, or per statement and named scalar.
bool Resolver::entries(const char *what, const std::vector<int64_t> &given,
                       std::vector<int64_t> &used) {
  size_t count = loop.problem.statements.size();
  if (given.size() == count) {
    used = given;
    return true;
  }
  if (given.size() != count + scalars.size()) {
    std::string message = std::string(what) + " has " + std::to_string(given.size()) +
                          " entries; the loop has " + std::to_string(count) +
                          " scheduled statements";
    if (!scalars.empty())
      message += " and " + std::to_string(scalars.size()) + " named scalars";
    Diagnostic &d = error(ScheduleLength, message);
    for (size_t s = 0; s < count; ++s) {
      const Statement &statement = loop.problem.statements[s];
      d.notes.push_back({statement.location,
                         "statement " + std::to_string(s + 1) + ": `" + statement.name + "`", ""});
    }
    d.helps.push_back("give one entry per scheduled statement, in source "
                      "order; scalars that can be recomputed take none");
    return false;
  }
  olderForm = true;
  size_t at = 0;
  for (size_t s = 0; s <= count; ++s) {
    at += std::count_if(scalars.begin(), scalars.end(),
                        [&](const NamedScalar &x) { return x.before == s; });
    if (s < count)
      used.push_back(given.at(at++));
  }
  return true;
}

void Resolver::warnAboutScalars(const Schedule &schedule) {
  if (!olderForm)
    return;
  for (const NamedScalar &scalar : scalars) {
    std::set<int64_t> stages;
    for (StatementId user : scalar.users)
      stages.insert(schedule.stage[user]);
    if (stages.size() < 2)
      continue;
    Diagnostic d;
    d.severity = Severity::Warning;
    d.code = ScalarEntryIgnored;
    d.location = scalar.location;
    d.message = "the entry for `" + scalar.name +
                "` is ignored: it is used from several stages and computed "
                "anew at each use";
    d.helps.push_back("leave scalars that can be recomputed out of stage and "
                      "order");
    loop.diagnostics.push_back(std::move(d));
  }
}

bool Resolver::markAsynchronous(const Schedule *schedule) {
  Problem &problem = loop.problem;
  if (annotations.asyncStages) {
    if (!schedule) {
      error(AsyncAnnotation, "asynchronous stages are named, and no stages are "
                             "stated");
      return false;
    }
    for (int64_t stage : *annotations.asyncStages) {
      bool any = false;
      for (StatementId s = 0; s < problem.statements.size(); ++s)
        if (schedule->stage[s] == stage && problem.statements[s].kind == StatementKind::Copy)
          any = problem.statements[s].async = true;
      if (!any) {
        error(AsyncAnnotation,
              "stage " + std::to_string(stage) + " is to be asynchronous and has no copy");
        return false;
      }
    }
  }
  auto perStatement = [&](const char *what, const std::optional<std::vector<int64_t>> &given,
                          std::vector<int64_t> &used) {
    return !given || entries(what, *given, used);
  };
  std::vector<int64_t> producers, groups;
  if (!perStatement("async_producers", annotations.asyncProducers, producers) ||
      !perStatement("async_producer_groups", annotations.asyncProducerGroups, groups))
    return false;
  for (StatementId s = 0; s < producers.size(); ++s) {
    Statement &statement = problem.statements[s];
    if (producers[s] != 0 && producers[s] != 1) {
      error(AsyncAnnotation, "async_producers holds " + std::to_string(producers[s]) + " for `" +
                                 statement.name + "`; it must be 0 or 1");
      return false;
    }
    if (producers[s] && statement.kind != StatementKind::Copy && !statement.async) {
      error(AsyncAnnotation, "`" + statement.name +
                                 "` is marked as an asynchronous producer and "
                                 "is not a copy")
          .location = statement.location;
      return false;
    }
    statement.async |= producers[s] == 1;
  }
  for (StatementId s = 0; s < groups.size(); ++s) {
    Statement &statement = problem.statements[s];
    if (groups[s] < -1 || (groups[s] >= 0 && !statement.async)) {
      error(AsyncAnnotation,
            groups[s] < -1 ? "the commit group of `" + statement.name + "` is less than -1"
                           : "`" + statement.name + "` has a commit group and is not asynchronous")
          .location = statement.location;
      return false;
    }
    statement.group = groups[s];
  }
  // Marks can make a loop malformed, such as a group and an explicit commit.
  append(checkProblem(problem));
  return std::none_of(loop.diagnostics.begin(), loop.diagnostics.end(),
                      [](auto &d) { return d.severity == Severity::Error; });
}

} // namespace

PipelinedLoop resolve(const Problem &problem, const LoopAnnotations &annotations,
                      const std::vector<NamedScalar> &scalars) {
  return Resolver(problem, annotations, scalars).run();
}

} // namespace penstock::sched
