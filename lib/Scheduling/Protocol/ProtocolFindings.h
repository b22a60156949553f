//===- ProtocolFindings.h - Diagnostics of a protocol -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns what a run or a search found into diagnostics. Private to this library.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PROTOCOL_PROTOCOLFINDINGS_H
#define PENSTOCK_SCHEDULING_PROTOCOL_PROTOCOLFINDINGS_H

#include "Scheduling/Protocol/ProtocolMachine.h"

#include <set>

namespace penstock::sched {

/// A wait or an arrival whose phase depends on the timing.
struct PhaseDoubt {
  enum class Kind {
    EarlyArrival, ///< can count in the phase before
    EarlyWait,    ///< can start while the phase before is open, and return for it
    MissedPhase   ///< the next phase can be over before the wait has returned
  };
  Kind kind;
  unsigned barrier;
  StepRef step;  ///< the arrival or the wait
  StepRef other; ///< what nothing orders with it
};

class ProtocolFindings {
public:
  explicit ProtocolFindings(const ProtocolNumbers &numbers)
      : numbers(&numbers), protocol(&numbers.protocol) {}

  /// Reports two conflicting accesses. \p inTime: the first one precedes the second, but nothing
  /// orders their memory.
  void unordered(StepRef first, const ProtocolAccess &firstAccess, StepRef second,
                 const ProtocolAccess &secondAccess, bool inTime);
  void uninitialized(StepRef step, const ProtocolAccess &access);
  void overflow(StepRef step, int64_t room);
  /// No role can go on.
  void deadlock(const ProtocolMachine &machine, const ProtocolState &state);
  void unfinished(StepRef copy);
  /// An unresolved doubt.
  void doubt(const PhaseDoubt &doubt);
  /// Adds to the first finding the reason why it depends on the timing.
  void explain(const PhaseDoubt &doubt);

  bool empty() const { return found.empty(); }
  /// In order of importance.
  std::vector<Diagnostic> take();

private:
  /// Returns the last relaxed or too narrow wait before \p second, or else the first relaxed
  /// arrival after \p first; no role if there is none.
  StepRef relaxedBefore(StepRef first, StepRef second) const;
  bool hasRemoteArrival(unsigned barrier) const;
  /// Relaxed wait for the barrier of a copy, if there is one.
  StepRef relaxedWaitFor(StepRef copy) const;
  /// Adds a finding unless one of its kind was reported at this location.
  Diagnostic *report(unsigned code, unsigned source);
  const SourceLocation &location(StepRef step) const {
    return protocol->sources[numbers->step(step).source].location;
  }
  std::string nameOf(StepRef step) const {
    return "`" + protocol->sources[numbers->step(step).source].name + "`";
  }
  std::string nameOf(const ProtocolBox &box) const;
  std::string barrierName(unsigned b) const { return "`" + protocol->barriers[b].name + "`"; }
  std::string roleName(StepRef step) const { return protocol->roles[step.role].name; }
  std::string textOf(const PhaseDoubt &doubt) const;
  std::string when() const {
    return protocol->assignment.empty() ? "" : ", with " + protocol->assignment;
  }

  const ProtocolNumbers *numbers;
  const Protocol *protocol;
  std::vector<Diagnostic> found;
  std::set<std::pair<unsigned, unsigned>> known;
};

/// Barriers that are told of other bytes than come: whatever the order, some phase
/// ends too early or never.
std::vector<Diagnostic> wrongBytes(const Protocol &protocol);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PROTOCOL_PROTOCOLFINDINGS_H
