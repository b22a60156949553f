//===- Text.h - Scheduling instances as text --------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop and a schedule that anybody can write, keep in a bug report, or feed
// to another checker. docs/contributing/scheduling-instances.md defines the form. Text comes
// from outside: the parser never crashes and bounds what it reads.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_TEXT_TEXT_H
#define PENSTOCK_SCHEDULING_TEXT_TEXT_H

#include "Scheduling/Problem/Problem.h"

#include <optional>
#include <string_view>

namespace penstock::sched {

struct Instance {
  Problem problem;
  /// At most one of the two.
  std::optional<Schedule> schedule;
  std::optional<int64_t> numStages;
};

struct ParsedInstances {
  /// All instances before the first error.
  std::vector<Instance> instances;
  /// At most one: the first error in the text.
  std::optional<Diagnostic> error;
};

/// \p file is the name to use in messages.
ParsedInstances parseInstances(std::string_view text, const std::string &file = "");

std::string printInstance(const Instance &);
/// One access, box or set of distances in the text form, for messages.
std::string printRegion(const Region &);
std::string printDistances(const DistanceSet &);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_TEXT_TEXT_H
