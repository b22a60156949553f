//===- MemoryModel.h - Races by the definitions of PTX ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory consistency model of the PTX ISA (chapter 8) as relations over the
// events of one execution, computed by enumeration. It is the oracle for the
// emulator's race checker and shares no code with it.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_EMULATOR_MEMORYMODEL_H
#define PENSTOCK_UNITTESTS_EMULATOR_MEMORYMODEL_H

#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace penstock::memory_model {

enum class Scope { Cta, Cluster, Gpu, Sys };
enum class Order { Weak, Relaxed, Acquire, Release, AcqRel };

/// Position of a thread in the grid.
struct Position {
  unsigned cluster = 0;
  unsigned block = 0; ///< in the grid
};

/// One operation of one thread.
struct Event {
  enum Kind { Load, Store, Atomic, Fence };
  Kind kind = Load;
  unsigned thread = 0;
  unsigned location = 0; ///< no meaning for a fence
  Order order = Order::Weak;
  Scope scope = Scope::Cta; ///< no meaning for a weak operation
  /// The write whose value a load or an atomic returned; none: the initial value.
  std::optional<unsigned> readsFrom;

  bool reads() const { return kind == Load || kind == Atomic; }
  bool writes() const { return kind == Store || kind == Atomic; }
  bool strong() const { return kind == Fence || order != Order::Weak; }
  bool acquires() const { return order == Order::Acquire || order == Order::AcqRel; }
  bool releases() const { return order == Order::Release || order == Order::AcqRel; }
};

using Races = std::set<std::pair<unsigned, unsigned>>;

/// Returns the data races of an execution as pairs of event numbers, the smaller one first.
///
/// Without \p all, two rules are left out that the emulator does not have, so that there may be
/// more races. A write precedes in causality order what follows a read that observes it, even if
/// both are relaxed: a vector clock cannot say so, because it does not hold for what precedes the
/// write. And a relaxed read and a later acquire of the same variable form an acquire pattern even
/// if the acquire returns another value.
///
/// The events of a thread are in program order. All memory operations have the same size, use the
/// generic proxy, and overlap completely if they have the same location.
Races findRaces(const std::vector<Position> &positions, const std::vector<Event> &events,
                bool all = true);

} // namespace penstock::memory_model

#endif // PENSTOCK_UNITTESTS_EMULATOR_MEMORYMODEL_H
