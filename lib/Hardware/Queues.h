//===- Queues.h - The order that asynchronous engines keep ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which asynchronous operations of one issuer the hardware keeps in order, by the
// PTX ISA. Plans and the barrier check rely on nothing else.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_HARDWARE_QUEUES_H
#define PENSTOCK_HARDWARE_QUEUES_H

#include <cstddef>
#include <cstdint>

namespace penstock::hw {

/// Asynchronous operations that are completed together: tcgen05, wgmma, cp.async, and
/// stores by TMA.
enum class Queue : uint8_t { Tensor, Wgmma, AsyncCopy, Store, Count };

struct QueueOrder {
  /// Products into one accumulator take effect in the order of issue. tcgen05: those of
  /// one shape and kind.
  bool products = false;
  /// Accesses to shared and tensor memory happen in the order of issue.
  bool accesses = false;
  /// An arrival on a barrier follows all operations that were issued before it.
  bool arrivals = false;
};

constexpr QueueOrder orderOf(Queue queue) {
  // wgmma accumulates in registers, and has no arrivals; groups are awaited.
  constexpr QueueOrder table[size_t(Queue::Count)] = {
      {true, true, true},    // Tensor
      {true, false, false},  // Wgmma
      {false, false, true},  // AsyncCopy
      {false, false, false}, // Store
  };
  return queue < Queue::Count ? table[size_t(queue)] : QueueOrder();
}

} // namespace penstock::hw

#endif // PENSTOCK_HARDWARE_QUEUES_H
