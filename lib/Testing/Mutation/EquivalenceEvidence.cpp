//===- EquivalenceEvidence.cpp - Reasons why surviving mutants are equivalent -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Mutation/EquivalenceEvidence.h"
#include "Diagnostics/Codes.h"

using namespace penstock;

namespace {

/// Changes that the emulator cannot check, in any kernel.
struct Unchecked {
  SyncKind kind;
  Change change;
  const char *part; ///< of the instruction, for those that this is true of
  const char *reason;
};
constexpr Unchecked unchecked[] = {
    {SyncKind::InitFence, Change::Removed, "fence.mbarrier_init",
     "a barrier orders the initialization for threads; whether it is visible to engines without "
     "the "
     "fence is not checked"},
    // A thread that also wrote what others read would have raced in these runs.
    {SyncKind::BarrierArrive, Change::NotReleased, "expect_tx",
     "the bytes that it announces arrive independently, and in no run has its thread anything "
     "else to publish"},
};

} // namespace

std::string penstock::uncheckedReason(const Mutation &mutation) {
  for (const Unchecked &row : unchecked)
    if (row.kind == mutation.kind && row.change == mutation.change &&
        mutation.instruction.find(row.part) != std::string::npos)
      return row.reason;
  return "";
}

std::function<void(const emu::BarrierEvent &)> BarrierEvidence::listener(uint64_t run) {
  return [this, run](const emu::BarrierEvent &event) {
    std::lock_guard lock(mutex);
    Object &object = objects[{run, event.barrier}];
    if (event.kind == emu::BarrierEvent::Arrive) {
      object.arrivals.emplace(event.phase, event.line);
    } else {
      object.lastObserved = std::max(object.lastObserved, event.phase);
      object.observed = true;
    }
  };
}

bool BarrierEvidence::isNeverAwaited(uint32_t line) const {
  std::lock_guard lock(mutex);
  bool arrives = false;
  for (const auto &[key, object] : objects)
    for (const auto &[phase, from] : object.arrivals) {
      if (from != line)
        continue;
      arrives = true;
      // An observer of a later phase has also waited for this one.
      if (object.observed && phase <= object.lastObserved)
        return false;
    }
  return arrives;
}

FindingKeys penstock::keysOf(const emu::Report &report) {
  FindingKeys keys;
  for (const emu::FindingSite &site : report.sites) {
    // A deadlock does not indicate other missing orderings.
    if (site.code == EmuDeadlock || site.code == EmuNoProgress)
      continue;
    std::string key = codeName(site.code);
    if (site.line)
      key += " at line " + std::to_string(site.line);
    if (site.otherLine)
      key += " against line " + std::to_string(site.otherLine);
    keys.insert(std::move(key));
  }
  return keys;
}

std::string penstock::addedBy(const FindingKeys &both, const FindingKeys &one) {
  for (const std::string &key : both)
    if (!one.count(key))
      return key;
  return "";
}
