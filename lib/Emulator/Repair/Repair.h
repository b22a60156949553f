//===- Repair.h - Patches for findings --------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Proposes synchronization that is missing in a kernel with findings, and runs each proposal. A
// patch is accepted if it has no finding in any timing, runs to its end, and computes what the
// kernel computes where that is right. Candidates only add instructions or strengthen them, so no
// patch avoids a race by leaving out work. The weakest patch that works is the first.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_REPAIR_REPAIR_H
#define PENSTOCK_EMULATOR_REPAIR_REPAIR_H

#include "Emulator/Launch.h"
#include "Emulator/Races/Tier.h"
#include "Emulator/Repair/Candidate.h"

namespace penstock::emu {

/// A run of a kernel, and the contents of memory after it.
struct Trial {
  Report report;
  std::vector<std::vector<uint8_t>> results;
};

/// Runs a kernel, changed or not, always from the same memory. Must use one host thread.
using TrialRunner =
    std::function<Trial(const std::shared_ptr<const ptx::Module> &, const LaunchOptions &)>;

/// The kernel to repair.
struct RepairSubject {
  std::shared_ptr<const ptx::Module> module;
  std::string kernel;
  uint32_t blockWarps = 1, clusterBlocks = 1;
  TrialRunner run;
  std::vector<LaunchOptions> timings; ///< that every patch is checked in
};

struct RepairProgress {
  unsigned round = 1, trial = 0, candidates = 0; ///< trials of the round
  std::string what;
};

struct RepairOptions {
  Tier limit = Tier::Undefined; ///< the lowest tier of findings that must not remain
  unsigned maxTrials = 4000;
  unsigned rounds = 4;  ///< for kernels that lack several things
  unsigned patches = 1; ///< of different strengths
  std::function<void(const RepairProgress &)> progress;
};

/// A patch that works.
struct Patch {
  Strength strength; ///< of its strongest part
  std::vector<std::string> inserted;
  std::string text; ///< the kernel with it
  std::string diff;
};

struct RepairReport {
  bool ran = false;                 ///< the kernel could be launched
  std::vector<Diagnostic> findings; ///< of the kernel as it is, in all timings
  std::vector<Patch> patches;       ///< the weakest first
  std::map<Strength, unsigned> tried;
  unsigned trials = 0;
  size_t timings = 0;

  /// "12 fence.proxy.async, 3 bar.sync".
  std::string triedText() const;
};

RepairReport repair(const RepairSubject &subject, const RepairOptions &options = {});

/// A launch on a device, whose memory is restored after each trial: in \p timings timings, and with
/// each warp of a cluster starved once. Device and module must outlive the subject.
RepairSubject subjectOf(Device &device, const LoadedModule &module, const std::string &kernel,
                        const LaunchConfig &config, unsigned timings);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_REPAIR_REPAIR_H
