//===- ProtocolTimes.h - When roles take the steps of a protocol -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The event model of Machine.h for kernels whose roles and barriers are known step by
// step (sched::Protocol): hand-written kernels, and those that the compiler
// warp-specializes. Barriers count arrivals and bytes, engines and their groups end
// in order, and all times follow from the same constants.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TIMING_PROTOCOLTIMES_H
#define PENSTOCK_TIMING_PROTOCOLTIMES_H

#include "Scheduling/Protocol/Protocol.h"
#include "Timing/Machine.h"

#include <optional>

namespace penstock::timing {

/// Cost of a step, by source.
struct StepCost {
  /// Tma and Tensor: the work of all threads of the scope. Cuda: cycles of the role.
  Op work;
  /// Exponentials, which all roles of an SM share.
  double exponentialCycles = 0;
  /// Warps of the scope, where each role does its share; 0: one role does all of it.
  int64_t scopeWarps = 0;
  /// Blocks that receive a copy.
  int64_t receivers = 1;
};

/// A protocol that was simulated for a limited number of iterations.
struct TimedProtocol {
  sched::Protocol protocol;
  std::vector<StepCost> costs; ///< by source
  struct Role {
    int64_t warps = 1;
    int64_t rank = 0; ///< of its block in the cluster
  };
  std::vector<Role> roles;
  int64_t ranks = 1;
  bool pair = false;      ///< products run on the tensor cores of both blocks
  int64_t iterations = 1; ///< of the inner loop
  int64_t tiles = 1;      ///< that the simulation computes, one after another
};

/// Cycles that a role waits, by what it waits for.
struct ProtocolWait {
  unsigned role = 0;
  unsigned source = 0; ///< the waiting step
  double cycles = 0;   ///< per iteration
};

struct ProtocolTimes {
  double end = 0;      ///< of the last role
  double interval = 0; ///< cycles per iteration
  double fill = 0;     ///< until the first product starts
  double drain = 0;    ///< from the start of the last product to the end
  double perTile = 0;  ///< cycles of a further tile beyond its iterations
  /// Cycles of each engine of one block per iteration.
  double busy[numEngines] = {};
  /// Longest first.
  std::vector<ProtocolWait> waits;
};

/// No value if the roles do not come to an end.
std::optional<ProtocolTimes> timesOf(const TimedProtocol &, const hw::Chip &, const Conditions &);

} // namespace penstock::timing

#endif // PENSTOCK_TIMING_PROTOCOLTIMES_H
