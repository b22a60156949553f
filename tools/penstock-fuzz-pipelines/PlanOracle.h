//===- PlanOracle.h - The plan that num_stages stands for -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_PLANORACLE_H
#define PENSTOCK_FUZZ_PIPELINES_PLANORACLE_H

#include "Loop.h"

#include <optional>

namespace penstock::fuzz {

/// The plan by rule for a wish for stages. Only for plain bodies, for which the
/// rule leaves no choice: copies into tiles of their own that others read, and
/// consumers, without conditions, waits or scheduled scalars. Whether the plan
/// is legal is another question.
std::optional<Plan> planByRule(const Loop &, int64_t numStages);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_PLANORACLE_H
