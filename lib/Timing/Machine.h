//===- Machine.h - Event model of one SM ------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a loop on one SM. Roles issue in order and wait; engines serve operations in
// the order in which they become ready, for all resident blocks. The run ends when
// its state repeats, which makes the interval exact, or after a fixed number of
// iterations.
//
// Rules: TMA is busy for the largest of rows, instructions and bytes; a load ends
// after the latency of the memory system, which is nanoseconds, and the time of its
// bytes. Products run in order; issue blocks when the queue is full; the result is
// there after a tail.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TIMING_MACHINE_H
#define PENSTOCK_TIMING_MACHINE_H

#include "Hardware/Chip.h"
#include "Timing/Work.h"

namespace penstock::timing {

struct Conditions {
  int64_t blocks = 1; ///< resident on the SM
  double cold = 0;    ///< share of loads that wait for HBM
  double ghz = 1;
  bool alone = false; ///< no other SM loads
  int64_t iterations = 48;
};

/// Times of one operation in cycles.
struct OpTimes {
  double busy = 0;    ///< of its engine
  double latency = 0; ///< from start to end
};
OpTimes timesOf(const Op &, const hw::Chip &, const Conditions &);

struct Steady {
  double interval = 0; ///< cycles per iteration of one block
  double fill = 0;     ///< cycles until the first paced operation starts
  bool exact = false;  ///< the state repeated
  /// Cycles of waiting per iteration of the first block, by operation; `waitsFor` is the
  /// operation that ended the longest of its waits, or -1 if the engine was taken.
  std::vector<double> waits;
  std::vector<int> waitsFor;
};

/// When each operation of a short run happened, for pictures.
struct Instance {
  unsigned op = 0;
  int64_t block = 0;
  int64_t iteration = 0;
  double ready = 0; ///< its role has come to it
  double issue = 0; ///< all awaited operations have ended
  double start = 0, busyUntil = 0, end = 0;
  int waitedFor = -1;
};

/// Runs the model. \p instances, if not null, gets every operation of the run.
Steady steadyState(const Loop &, const hw::Chip &, const Conditions &,
                   std::vector<Instance> *instances = nullptr);

} // namespace penstock::timing

#endif // PENSTOCK_TIMING_MACHINE_H
