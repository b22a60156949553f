//===- Mutants.h - Kernels without one synchronizing instruction *- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Removes the synchronizing instructions of a kernel one by one and runs each mutant on the same
// memory. A mutant with the same findings and results in all timings is a survivor: the
// instruction is redundant in this launch, or orders something that the emulator does not check.
// Instructions that the launch never executes are untested and reported as such.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_MUTANTS_H
#define PENSTOCK_EMULATOR_MUTANTS_H

#include "Emulator/Launch.h"

namespace penstock::emu {

struct MutantReport {
  /// Survivors (PS2202) and instructions that are never executed (PS1774), by line; or the
  /// reasons why the kernel cannot be launched.
  std::vector<Diagnostic> findings;
  bool ran = false;
  unsigned mutants = 0; ///< including those that are never executed
  unsigned survivors = 0, unexecuted = 0;
  unsigned lines = 0, executedLines = 0; ///< of the PTX, with an instruction

  unsigned detected() const { return mutants - survivors - unexecuted; }
  /// "12 mutants: 10 detected, 1 survivor, 1 never executed; 330 of 340 lines executed".
  std::string summary() const;
};

/// Runs the mutants of a launch, each in \p timings timings and with each warp starved once, until
/// one of them tells it from the kernel. The memory of \p device is as before
/// afterwards.
MutantReport runMutants(Device &device, const LoadedModule &module, const std::string &kernel,
                        const LaunchConfig &config, unsigned timings = 4);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_MUTANTS_H
