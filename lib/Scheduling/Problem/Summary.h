//===- Summary.h - One line about an instance -------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `penstock-fuzz-pipelines --check` prints for each instance, so that any
// other checker can be held against this one line by line. The form is part of
// docs/contributing/scheduling-instances.md.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PROBLEM_SUMMARY_H
#define PENSTOCK_SCHEDULING_PROBLEM_SUMMARY_H

#include "Scheduling/Problem/RuleSet.h"
#include "Scheduling/Text/Text.h"

namespace penstock::sched {

struct Summary {
  std::string line; ///< without a line end
  std::vector<Diagnostic> messages;
};

Summary summarize(const Instance &, RuleSet rules = {});

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PROBLEM_SUMMARY_H
