//===- ProtocolNumbers.h - Static properties of a protocol ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Happens-before is kept in vector clocks. Steps of a role happen one after the
// other, so one number says which of them an event comes after; the same holds
// for the work and for the commits of an engine that keeps order. Copies end in
// any order: each has a bit. All numbers are fixed by the step lists, whatever
// the timing. Private to this library.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PROTOCOL_PROTOCOLNUMBERS_H
#define PENSTOCK_SCHEDULING_PROTOCOL_PROTOCOLNUMBERS_H

#include "Scheduling/Protocol/Protocol.h"

namespace penstock::sched {

constexpr unsigned noStep = ~0u;

struct StepRef {
  unsigned role = noStep, index = 0;
};

/// An event; it has happened before the owner of any clock that has reached it.
struct Mark {
  unsigned word = noStep; ///< of a clock; noStep: never observed
  uint32_t value = 0;
  bool isBit = false;
  bool knownTo(const uint32_t *clock) const {
    return word != noStep && (isBit ? (clock[word] & value) != 0 : clock[word] >= value);
  }
  void raise(uint32_t *clock) const {
    if (word != noStep)
      clock[word] = isBit ? clock[word] | value : std::max(clock[word], value);
  }
};

class ProtocolNumbers {
public:
  explicit ProtocolNumbers(const Protocol &protocol);

  struct StepNumbers {
    Mark over;    ///< its accesses have completed
    Mark arrived; ///< its arrival has happened
    Mark ends;    ///< of a wait for groups or a commit: the operations that it shows complete
  };

  const Protocol &protocol;
  const ProtocolStep &step(StepRef ref) const { return protocol.roles[ref.role].steps[ref.index]; }
  const StepNumbers &of(StepRef ref) const { return byRole[ref.role][ref.index]; }
  size_t steps() const { return allSteps; }

  /// Words of a clock. Its parts order steps in time, accesses to shared memory (from word
  /// `memory` on), accesses to tensor memory (from word `tensor` on) and writes of shared memory
  /// after asynchronous accesses (from word `over` on). Relaxed steps do not order shared memory,
  /// but sent arrivals order such writes. Narrow waits acquire no more than that from remote
  /// arrivals. The end of a copy orders its issuer's accesses only if the issuer arrives on the
  /// same barrier: completion of the copy's bytes is not a release. Equal parts are stored once.
  unsigned clockWords() const { return std::max({memory, tensor, over}) + part; }
  unsigned memory = 0, tensor = 0, over = 0;
  void join(uint32_t *into, const uint32_t *from, const ProtocolStep &by) const;
  /// Joins what a narrow wait acquires from remote arrivals: the order of steps in time, and the
  /// completion of asynchronous accesses.
  void joinEnds(uint32_t *into, const uint32_t *from, const ProtocolStep &by) const;
  /// Returns the part of a clock that orders an access after one of step \p first.
  const uint32_t *clockFor(StepRef first, const ProtocolAccess &access,
                           const uint32_t *clock) const {
    if (protocol.tiles[access.box.tile].tensor)
      return clock + tensor;
    ProtocolStep::Kind kind = step(first).kind;
    bool ends = kind == ProtocolStep::Kind::Start || kind == ProtocolStep::Kind::Copy;
    return clock + (access.write && ends ? over : memory);
  }
  /// Returns whether the end of a copy does not order the steps before it.
  bool endsAlone(StepRef copy) const;
  /// Clears all parts except the order of steps in time.
  void forgetMemory(uint32_t *clock) const;
  /// The mark of a role that has taken a step.
  Mark taken(StepRef ref) const { return {ref.role, ref.index + 1, false}; }

  /// Returns whether another role may write the tile at an unknown time. Reads of such a tile are
  /// not reported as uninitialized.
  bool mayBeWritten(unsigned tile, unsigned readingRole) const;

  /// Set if a role waits for the phase of its own last arrival.
  bool ownWaits = false;
  /// Set if a barrier has narrow waits and remote arrivals: then barriers record the releases of
  /// local arrivals separately.
  bool narrowWaits = false;

private:
  void numberRole(unsigned role, unsigned &words, unsigned &copies);
  void joinPart(uint32_t *into, const uint32_t *from) const;

  unsigned part = 0, counters = 0; ///< words of a part, and of these, counters
  size_t allSteps = 0;
  std::vector<std::vector<StepNumbers>> byRole;
  std::vector<std::vector<unsigned>> uncertainWriters; ///< roles, by tile
};

/// Returns whether two accesses to tiles must be ordered.
bool conflict(const ProtocolNumbers &numbers, StepRef first, const ProtocolAccess &a,
              StepRef second, const ProtocolAccess &b);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PROTOCOL_PROTOCOLNUMBERS_H
