//===- Study.h - How often repairs restore a kernel -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Removes one synchronizing instruction of a correct kernel, repairs the mutant, and compares the
// patched kernel with the original, in more timings than the repair has used.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_REPAIR_STUDY_H
#define PENSTOCK_EMULATOR_REPAIR_STUDY_H

#include "Emulator/Repair/Repair.h"
#include "Emulator/SyncInstructions.h"

namespace penstock::emu {

struct RepairedMutant {
  enum Fate : uint8_t {
    Unreported, ///< no timing has a finding: there is nothing to repair
    Restored,   ///< no findings, and the results of the original
    Wrong,      ///< a patch was accepted, but results differ or a timing has findings
    GaveUp
  };
  Fate fate = Unreported;
  std::string instruction; ///< that was removed: its opcode
  std::string kind;        ///< its opcode without modifiers
  uint32_t line = 0;
  std::vector<std::string> inserted;
  std::string why; ///< Wrong: what differs; otherwise what was tried
  unsigned trials = 0;

  /// "34 bar.sync: restored after 12 candidates: `bar.sync 0;`", with the line of the PTX.
  std::string text() const;
};

class RepairStudy {
public:
  /// \p more: timings that patched kernels are compared in, besides those of the subject.
  RepairStudy(RepairSubject original, std::vector<LaunchOptions> more, RepairOptions options);

  /// Why the original cannot be studied: it has findings, or cannot be run. Empty if it can.
  const std::string &problem() const { return whyNot; }
  std::vector<SyncInstruction> instructions() const;
  RepairedMutant study(const SyncInstruction &removed) const;

private:
  RepairSubject subject;
  std::vector<LaunchOptions> all;
  RepairOptions options;
  std::vector<std::vector<std::vector<uint8_t>>> expected; ///< by timing
  bool deterministic = true; ///< the results are the same in all timings
  uint64_t budget = 0;
  std::string whyNot;
};

/// An order of \p count items in which any number of the first ones is spread evenly.
std::vector<size_t> spreadOrder(size_t count);

/// Counts of fates, by removed instruction.
struct StudyTotals {
  struct Counts {
    unsigned restored = 0, wrong = 0, gaveUp = 0;
    unsigned reported() const { return restored + wrong + gaveUp; }
  };
  std::map<std::string, Counts> kinds;
  unsigned unreported = 0, trials = 0;

  void add(const RepairedMutant &mutant);
  Counts all() const;
  /// A line for each kind, and the sum.
  std::string text() const;
};

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_REPAIR_STUDY_H
