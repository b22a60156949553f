//===- PlanWriter.h - A pipelined loop, from its plan -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to nv-write-plans.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PLANWRITER_H
#define PENSTOCK_TARGET_NVPTX_PLANWRITER_H

#include "Target/NVPTX/LoopPlans.h"
#include "Target/NVPTX/OpenRings.h"

namespace penstock::nvptx {

/// Writes a loop as the roles of its plan execute it. \p number tells the loop from others of
/// the kernel; \p open: rings stay open between runs of the loop; \p accumulators, which runs
/// fill in turn, may be null.
void writePlan(ScheduledLoop &loop, const LoopPlan &plan, size_t number, bool open,
               AccumulatorRing *accumulators);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLANWRITER_H
