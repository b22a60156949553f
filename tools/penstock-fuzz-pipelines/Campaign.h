//===- Campaign.h - Many random cases, and what became of them --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_CAMPAIGN_H
#define PENSTOCK_FUZZ_PIPELINES_CAMPAIGN_H

#include <cstdint>

namespace penstock::fuzz {

struct CampaignOptions {
  uint64_t count = 1000;
  uint64_t seed = 1;
  /// Processes that run cases at the same time; 0: as many as there are cores.
  int jobs = 0;
  double seconds = 0; ///< 0: no limit
  /// Of a hundred legal programs, how many are compiled and run.
  int native = 100;
  /// All programs ask the exact solver for their schedules.
  bool solved = false;
};

/// Both print what they found, end with a line of figures and return the exit
/// status.
int runPrograms(const CampaignOptions &);
int runInstances(const CampaignOptions &);
/// Legal programs on emulated GPUs against sequential execution.
int runOnDevices(const CampaignOptions &);
/// Leaves out each point of their plans: the emulator must notice.
int runPoints(const CampaignOptions &);
/// Step lists of roles against all interleavings; prints the first if asked to.
int runProtocols(const CampaignOptions &, bool print);
/// Plans against paths between instances; prints the first if asked to.
int runPlans(const CampaignOptions &, bool print);
/// Weakens each rule in turn and looks for a case that shows it.
int runMutants(const CampaignOptions &);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_CAMPAIGN_H
