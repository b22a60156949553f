//===- LaunchProgram.h - Launch computations as data ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grids and the magic numbers of divisions follow from a launch's arguments.
// For GPU kernels they come as a list of integer operations, so that they can
// be written to a file and evaluated without a compiler.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RUNTIME_LAUNCHPROGRAM_H
#define PENSTOCK_RUNTIME_LAUNCHPROGRAM_H

#include "penstock/diagnostics.h"
#include "penstock/launch.h"

#include <optional>
#include <span>

namespace penstock {

struct LaunchStep {
  enum Kind : uint8_t {
#define LAUNCH_STEP(name) name,
#include "Runtime/LaunchKinds.def"
  };
  static constexpr unsigned kinds = 0
#define LAUNCH_STEP(name) +1
#include "Runtime/LaunchKinds.def"
      ;
  Kind kind = Constant;
  unsigned a = 0, b = 0, c = 0; ///< earlier steps
  int64_t value = 0;
};

/// Requirement of a kernel on its arguments.
struct LaunchRequirement {
  unsigned step = 0; ///< must not be zero
  Diagnostic broken;
};

struct LaunchProgram {
  std::vector<LaunchStep> steps;
  std::vector<unsigned> results; ///< the grid's three extents, then the rest
  std::vector<LaunchRequirement> requirements;

  /// Evaluates the steps into \p values, which has room for all of them, and returns how
  /// many have a value: fewer than there are if a division has no result.
  size_t run(std::span<const detail::Argument> arguments, int64_t *values) const;

  /// The results; none if a division by zero occurs. Requirements that do not hold
  /// are added to \p broken.
  std::optional<std::vector<int64_t>> evaluate(std::span<const detail::Argument> arguments,
                                               std::vector<Diagnostic> &broken) const;
};

} // namespace penstock

#endif // PENSTOCK_RUNTIME_LAUNCHPROGRAM_H
