//===- Measure.h - Times of candidates on hardware --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TUNING_MEASURE_H
#define PENSTOCK_TUNING_MEASURE_H

#include "Diagnostics/Diagnostic.h"
#include "Tuning/Points.h"
#include "penstock/inspect.h"

#include <functional>
#include <memory>

namespace penstock::tuning {

/// A machine that times kernels on arguments of its own.
class Machine {
public:
  virtual ~Machine() = default;
  /// Runs the kernel once and returns its results in memory of the host.
  virtual std::vector<Diagnostic> run(const AnyKernel &kernel, MadeArguments &results) = 0;
  /// Runs it \p times times and returns the seconds of one run; no value, with the reason,
  /// if it fails.
  virtual std::optional<double> time(const AnyKernel &kernel, int times,
                                     std::vector<Diagnostic> &diagnostics) = 0;
  /// Seconds of a fixed piece of work: its time shows the state of the machine. 0: no
  /// such thing is needed.
  virtual double probe() = 0;
  /// Seconds so far for which threads of this process had to wait for a core.
  virtual double delay() = 0;
};

/// This CPU, with all of its threads.
std::unique_ptr<Machine> nativeMachine(const MadeArguments &arguments);
/// The current GPU, by events. Null, with the reason, if there is none.
std::unique_ptr<Machine> gpuMachine(const MadeArguments &arguments,
                                    std::vector<Diagnostic> &diagnostics);

/// A candidate that has been compiled and gave the right result.
struct Runnable {
  TuneCandidate *candidate = nullptr;
  AnyKernel kernel;
};

struct RoundOptions {
  int rounds = 15;
  double seconds = 0; ///< 0: no limit
  std::string kernel; ///< in events
};

/// Times all candidates in interleaved rounds: each round starts with another one. Slow
/// candidates drop out. Samples beside a slow probe, or whose threads had to wait for a
/// core, are kept and marked, and replaced by more, which takes more rounds. \p after gets the
/// round and the number of rounds that are expected, after each round, and returns false to end.
void measureRounds(Machine &machine, std::vector<Runnable> &candidates, const RoundOptions &options,
                   std::vector<Diagnostic> &diagnostics,
                   const std::function<bool(int round, int total)> &after);

} // namespace penstock::tuning

#endif // PENSTOCK_TUNING_MEASURE_H
