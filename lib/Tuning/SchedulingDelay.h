//===- SchedulingDelay.h - Time that threads wait for a core ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TUNING_SCHEDULINGDELAY_H
#define PENSTOCK_TUNING_SCHEDULINGDELAY_H

namespace penstock::tuning {

/// Seconds for which the living threads of this process could have run, but other processes
/// had the cores. 0 where the system does not count it.
double schedulingDelay();

} // namespace penstock::tuning

#endif // PENSTOCK_TUNING_SCHEDULINGDELAY_H
