//===- ProtocolMachine.h - One step of a protocol after another -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The states of a protocol and the steps between them, for whoever decides what
// happens next: one run (ProtocolRun.cpp) or all of them (ProtocolSearch.cpp).
// Private to this library.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PROTOCOL_PROTOCOLMACHINE_H
#define PENSTOCK_SCHEDULING_PROTOCOL_PROTOCOLMACHINE_H

#include "Scheduling/Protocol/ProtocolNumbers.h"

namespace penstock::sched {

/// Flat, so that it can be copied and hashed.
struct ProtocolState {
  /// Positions of roles, barriers, clocks.
  std::vector<uint32_t> words;
  /// Copies and commits that have been issued and have not ended: for each its role,
  /// its step and the clock of its issue, in the order of roles and steps.
  std::vector<uint32_t> flying;
};

/// Is told of what a machine does. Clocks are those of the event itself.
class ProtocolWatcher {
public:
  virtual ~ProtocolWatcher() = default;
  virtual void access(const ProtocolState &, StepRef, const uint32_t *clock) = 0;
  /// More arrivals than the barrier has room for.
  virtual void overflow(StepRef, int64_t room) = 0;
  /// An arrival, or bytes, in a phase.
  virtual void arrival(unsigned /*barrier*/, int64_t /*phase*/, StepRef,
                       const uint32_t * /*clock*/) {}
  virtual void completion(unsigned /*barrier*/) {}
  /// A wait that returns for a phase; -1: the one before the first.
  virtual void wait(unsigned /*barrier*/, int64_t /*phase*/, StepRef, const uint32_t * /*before*/) {
  }
};

class ProtocolMachine {
public:
  ProtocolMachine(const ProtocolNumbers &numbers, ProtocolWatcher &watcher);

  ProtocolState start() const;

  unsigned next(const ProtocolState &state, unsigned role) const { return state.words[role]; }
  bool finished(const ProtocolState &state, unsigned role) const {
    return next(state, role) == numbers.protocol.roles[role].steps.size();
  }
  bool allFinished(const ProtocolState &state) const;
  /// Returns whether the role's next step does not affect other roles at any time. Accesses do
  /// not: whether two are in order does not depend on which came first.
  bool isLocal(const ProtocolState &state, unsigned role) const;
  /// Returns whether the role can take its next step.
  bool canStep(const ProtocolState &state, unsigned role) const;
  /// Takes it; a sync, for all of its roles.
  void step(ProtocolState &state, unsigned role);

  size_t flying(const ProtocolState &state) const { return state.flying.size() / record(); }
  StepRef flyingStep(const ProtocolState &state, size_t index) const {
    return {state.flying[index * record()], state.flying[index * record() + 1]};
  }
  /// Commits of an engine end in order.
  bool canComplete(const ProtocolState &state, size_t index) const;
  void complete(ProtocolState &state, size_t index);

  struct BarrierView {
    int64_t pending, bytes, phase;
  };
  BarrierView barrier(const ProtocolState &state, unsigned index) const;
  const uint32_t *clock(const ProtocolState &state, unsigned role) const {
    return &state.words[clocks + role * numbers.clockWords()];
  }

private:
  size_t record() const { return 2 + numbers.clockWords(); }
  uint32_t *clockOf(ProtocolState &state, unsigned role) const {
    return &state.words[clocks + role * numbers.clockWords()];
  }
  size_t barrierAt(unsigned index) const { return barriers + index * barrierWords; }
  void setBytes(ProtocolState &state, unsigned index, int64_t bytes) const;
  uint32_t &ownPhase(ProtocolState &state, unsigned role, unsigned barrier) const {
    return state.words[own + role * numbers.protocol.barriers.size() + barrier];
  }
  /// Raises a mark in all parts of a clock.
  void raise(uint32_t *clock, Mark mark) const;
  void issue(ProtocolState &state, StepRef ref);
  void arrive(ProtocolState &state, StepRef ref, const uint32_t *clock);
  void settle(ProtocolState &state, unsigned index);

  const ProtocolNumbers &numbers;
  ProtocolWatcher &watcher;
  /// Offsets of the parts of the state.
  size_t barriers, barrierWords, clocks, own, size;
};

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PROTOCOL_PROTOCOLMACHINE_H
