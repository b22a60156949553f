//===- Instances.h - Reading instances inside tests -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_SCHEDULING_INSTANCES_H
#define PENSTOCK_UNITTESTS_SCHEDULING_INSTANCES_H

#include "Diagnostics/Render.h"
#include "Scheduling/Schedule/Report.h"
#include "Scheduling/Text/Text.h"
#include "gtest/gtest.h"

namespace penstock::sched {

/// The one instance in \p text, which must be well formed.
inline Instance parseOne(const std::string &text) {
  ParsedInstances parsed = parseInstances(text, "test");
  if (parsed.error)
    ADD_FAILURE() << render(*parsed.error);
  EXPECT_EQ(parsed.instances.size(), 1u);
  Instance instance = parsed.instances.at(0);
  for (const Diagnostic &d : checkProblem(instance.problem))
    ADD_FAILURE() << render(d);
  return instance;
}

inline std::vector<unsigned> codesOf(const Verdict &verdict) {
  std::vector<unsigned> codes;
  for (const Violation &v : verdict.violations)
    codes.push_back(v.code);
  return codes;
}

/// Codes of verifySchedule() for the schedule in \p text.
inline std::vector<unsigned> verdictOf(const std::string &text) {
  Instance instance = parseOne(text);
  return codesOf(verifySchedule(instance.problem, instance.schedule.value()));
}

/// Codes of checkProblem() for a body that need not be well formed.
inline std::vector<unsigned> checkCodes(const std::string &text) {
  ParsedInstances parsed = parseInstances(text, "test");
  if (parsed.error)
    ADD_FAILURE() << render(*parsed.error);
  std::vector<unsigned> codes;
  for (const Diagnostic &d : checkProblem(parsed.instances.at(0).problem))
    codes.push_back(d.code);
  return codes;
}

inline unsigned versionsOf(const Instance &instance, const Verdict &verdict,
                           const std::string &buffer) {
  return verdict.versions.at(instance.problem.findBuffer(buffer)).count;
}

} // namespace penstock::sched

#endif // PENSTOCK_UNITTESTS_SCHEDULING_INSTANCES_H
