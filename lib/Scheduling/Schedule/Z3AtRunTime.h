//===- Z3AtRunTime.h - Z3 as a library that may be missing ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_SCHEDULE_Z3ATRUNTIME_H
#define PENSTOCK_SCHEDULING_SCHEDULE_Z3ATRUNTIME_H

namespace penstock::sched {

/// Opens Z3 at the first call: $PENSTOCK_Z3, or libz3.so.4 or libz3.so of the system. Returns
/// whether it has every function of Z3Functions.def; only then may z3++.h be used.
bool z3Loaded();

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_SCHEDULE_Z3ATRUNTIME_H
