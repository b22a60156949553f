//===- CheckInstance.cpp - The checker on an instance as text -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Render.h"
#include "Product.h"
#include "Scheduling/Schedule/VerifySchedule.h"
#include "Scheduling/Text/Text.h"

using namespace penstock;
using namespace penstock::fuzz;

ProductVerdict penstock::fuzz::checkInstance(const std::string &text, sched::RuleSet rules) {
  ProductVerdict verdict;
  verdict.instance = text;
  sched::ParsedInstances parsed = sched::parseInstances(text, "fuzz");
  if (parsed.error || parsed.instances.size() != 1) {
    verdict.failure = "the instance is not understood";
    if (parsed.error)
      verdict.failure += ": " + render(*parsed.error);
    return verdict;
  }
  const sched::Instance &instance = parsed.instances[0];
  for (const Diagnostic &d : sched::checkProblem(instance.problem))
    verdict.codes.insert(d.code);
  verdict.malformed = !verdict.codes.empty();
  if (verdict.malformed)
    return verdict;
  sched::Verdict checked = sched::verifySchedule(instance.problem, *instance.schedule, rules);
  for (const sched::Violation &violation : checked.violations)
    verdict.codes.insert(violation.code);
  for (const sched::BufferVersions &v : checked.versions)
    verdict.versions.push_back(v.needed);
  return verdict;
}
