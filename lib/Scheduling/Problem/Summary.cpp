//===- Summary.cpp - One line about an instance ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Problem/Summary.h"
#include "Scheduling/Schedule/Infer.h"
#include "Scheduling/Schedule/Report.h"

#include <set>

namespace penstock::sched {
namespace {

std::string codes(const std::vector<Diagnostic> &messages) {
  std::set<unsigned> all;
  for (const Diagnostic &d : messages)
    if (d.severity == Severity::Error)
      all.insert(d.code);
  std::string out;
  for (unsigned code : all)
    out += " " + codeName(code);
  return out;
}

std::string numbers(const std::vector<int64_t> &values) {
  std::string out;
  for (int64_t x : values)
    out += (out.empty() ? "" : ",") + std::to_string(x);
  return out;
}

std::string versionList(const Problem &problem, const Verdict &verdict) {
  std::string out;
  if (!verdict.versions.empty())
    out = " versions";
  for (BufferId b = 0; b < verdict.versions.size(); ++b)
    out += " " + problem.buffers[b].name + "=" + std::to_string(verdict.versions[b].needed);
  return out;
}

} // namespace

Summary summarize(const Instance &instance, RuleSet rules) {
  const Problem &problem = instance.problem;
  Summary summary{problem.name + ": ", checkProblem(problem)};
  if (!summary.messages.empty()) {
    summary.line += "malformed" + codes(summary.messages);
    return summary;
  }
  if (instance.numStages) {
    Inferred inferred = infer(problem, *instance.numStages);
    summary.messages = inferred.diagnostics;
    if (!inferred.schedule) {
      summary.line += "refused" + codes(summary.messages);
      return summary;
    }
    summary.line += "legal stage " + numbers(inferred.schedule->stage) + " order " +
                    numbers(inferred.schedule->order) + versionList(problem, inferred.verdict);
    return summary;
  }
  Schedule schedule = instance.schedule ? *instance.schedule : identitySchedule(problem);
  Verdict verdict = verifySchedule(problem, schedule, rules);
  summary.messages = toDiagnostics(problem, schedule, verdict);
  summary.line += verdict.legal() ? "legal" : "illegal" + codes(summary.messages);
  summary.line += versionList(problem, verdict);
  return summary;
}

} // namespace penstock::sched
