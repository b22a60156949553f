//===- Generate.h - Random kernels and schedules ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_GENERATE_H
#define PENSTOCK_FUZZ_PIPELINES_GENERATE_H

#include "../penstock-fuzz/Random.h"
#include "Program.h"

namespace penstock::fuzz {

/// A body of 1 to 12 statements on 1 to 6 buffers with an annotation, decided by
/// the seed alone. With \p solved it asks the exact solver for its schedule.
Program generateProgram(uint64_t seed, bool solved = false);

/// Lets offsets, and where the loop begins, depend on numbers that only the launch
/// decides; those of one buffer often on the same.
void addOrigins(Program &, Random &);

/// Issues copies before the loop that waits of the loop end.
void addEarlyCopies(Program &, Random &);

/// Pipelines loops inside of statements by plans that the oracle calls legal.
void pipelineInnerLoops(Program &, Random &);

/// The schedule that runs the loop as it is written.
Plan sourceOrder(int statements);

/// Moves statements about at random as long as the oracle calls it legal.
Plan legalPlan(const Loop &, Random &);

/// A schedule for a loop: one of legalPlan, the same with a change, or any.
Plan randomPlan(const Loop &, Random &);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_GENERATE_H
