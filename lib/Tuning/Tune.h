//===- Tune.h - Helpers of tuning and records -------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TUNING_TUNE_H
#define PENSTOCK_TUNING_TUNE_H

#include "penstock/tune.h"

namespace penstock::tuning {

/// "native", "sm_100a".
std::string targetName(Target target);

/// Name of what is timed: the CPU with its threads, the GPU with its clocks, or the
/// predictor.
std::string machineName(Target target, TimeSource times);

} // namespace penstock::tuning

#endif // PENSTOCK_TUNING_TUNE_H
