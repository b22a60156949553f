//===- ValueOracle.h - Checks schedules by what they compute ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The second oracle: executes a loop sequentially and in the order of its
// schedule, each statement being an unknown function of all it reads, and
// compares what remains in memory. An asynchronous instance that meets another
// one between its issue and its end computes something that nothing else does,
// which stands for the worst moment at which it could have run.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_VALUEORACLE_H
#define PENSTOCK_FUZZ_PIPELINES_VALUEORACLE_H

#include "OrderOracle.h"

namespace penstock::fuzz {

enum class Effect {
  Same,         ///< the schedule is legal, and computes the same
  Harmful,      ///< something else is computed in some case
  Dead,         ///< only values that nobody sees are affected
  Exchanged,    ///< live ranges of a buffer follow each other in another order
  Conservative, ///< regions that are not affine do not meet
  Unexplained   ///< refused and the same, or legal and not the same
};

/// \p verdict must have versions and no code about form.
Effect checkValues(const Loop &, const Plan &, const OrderVerdict &verdict, uint64_t seed);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_VALUEORACLE_H
