//===- EngineCosts.h - Engine and cycles of each statement ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_LOOP_ENGINECOSTS_H
#define PENSTOCK_ANALYSIS_LOOP_ENGINECOSTS_H

#include "Analysis/Loop/PipelineLoop.h"
#include "Hardware/Architecture.h"

namespace penstock {

/// Fills in engines and cycles of an architecture, from the table of
/// lib/Hardware. They decide what `explain` and `trace` predict, never whether a
/// schedule is legal.
void assignCosts(PipelineLoop &loop, const hw::Architecture &architecture);

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_LOOP_ENGINECOSTS_H
