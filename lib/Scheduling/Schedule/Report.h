//===- Report.h - Violations as messages for people -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each message names both statements in the user's words, the two iterations,
// and what would cure it. Only wording is here; what is wrong was decided by
// verifySchedule().
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_SCHEDULE_REPORT_H
#define PENSTOCK_SCHEDULING_SCHEDULE_REPORT_H

#include "Scheduling/Schedule/VerifySchedule.h"

namespace penstock::sched {

Diagnostic toDiagnostic(const Problem &, const Schedule &, const Verdict &, const Violation &);
std::vector<Diagnostic> toDiagnostics(const Problem &, const Schedule &, const Verdict &);

/// "k", "k+2".
std::string iterationName(int64_t distance);
/// "180 of 227 KiB of shared memory", "512 columns of tensor memory".
std::string sizeText(Space, int64_t size);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_SCHEDULE_REPORT_H
