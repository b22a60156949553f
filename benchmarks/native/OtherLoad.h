//===- OtherLoad.h - Cores that other processes use -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread of a launch that got no core before the launch ended is seen by none of the
// other checks: it has not waited yet as far as the system counts, and the rest of the
// launch ran undisturbed, only on fewer cores.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_OTHERLOAD_H
#define PENSTOCK_BENCHMARKS_OTHERLOAD_H

#include "Measure.h"

#include <unistd.h>

namespace bench {

/// The system counts in steps of 10 ms, so windows have to be much longer than that.
class OtherLoad {
public:
  static constexpr double shortestWindow = 0.25, mostShare = 0.05;

  OtherLoad() { begin(); }
  double seconds() const { return now(CLOCK_MONOTONIC) - start; }

  /// Whether other processes and machines had less than mostShare of a core since the last call.
  bool wasQuiet() {
    double others = busy() - busyBefore - (now(CLOCK_PROCESS_CPUTIME_ID) - ownBefore);
    bool quiet = others < mostShare * seconds();
    begin();
    return quiet;
  }

private:
  void begin() {
    start = now(CLOCK_MONOTONIC);
    busyBefore = busy();
    ownBefore = now(CLOCK_PROCESS_CPUTIME_ID);
  }

  /// Seconds of all cores since the system started, without those that they were idle. 0 where
  /// the system does not count it.
  static double busy() {
    unsigned long long user = 0, nice = 0, system = 0, irq = 0, soft = 0, steal = 0;
    if (FILE *file = std::fopen("/proc/stat", "r")) {
      if (std::fscanf(file, "cpu %llu %llu %llu %*u %*u %llu %llu %llu", &user, &nice, &system,
                      &irq, &soft, &steal) != 6)
        user = nice = system = irq = soft = steal = 0;
      std::fclose(file);
    }
    return double(user + nice + system + irq + soft + steal) / double(sysconf(_SC_CLK_TCK));
  }

  double start = 0, busyBefore = 0, ownBefore = 0;
};

} // namespace bench

#endif // PENSTOCK_BENCHMARKS_OTHERLOAD_H
