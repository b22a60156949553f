//===- UnusedReads.h - Racing loads of values that nobody uses --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If a Triton block has fewer elements than threads, several warps load each
// element and one of them stores it. In a kernel that works in place the other
// warps' loads race with this store, but what they compute is never stored.
//
// A load and a weak store to global memory, by threads of one block and of
// elements of one size, change no result if no thread that loads unordered stores
// what it computes from it: the value only flows through arithmetic to weak
// stores to global memory, is no part of an address, guard, branch, exchange or
// call, and the racing thread executes none of these stores. The ISA gives no
// meaning to races of accesses of different sizes.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_RACES_UNUSEDREADS_H
#define PENSTOCK_EMULATOR_RACES_UNUSEDREADS_H

#include "Emulator/Decode/Program.h"

#include <map>
#include <mutex>
#include <optional>
#include <set>

namespace penstock::emu {

/// Lanes by instruction.
using LanesAt = std::map<uint32_t, uint32_t>;

/// The loads of a launch that race, and whether their values are used.
class UnusedReads {
public:
  /// Returns whether the value of a load can only reach weak stores to global memory, of elements
  /// as wide as those of the store it races with.
  bool onlyStored(const Program &program, uint32_t load, uint32_t racingStore);
  /// Enters that a warp has ended: \p raced are its lanes that loaded unordered, \p stored those
  /// that have executed each store.
  void enterEnd(const LanesAt &raced, const LanesAt &stored);
  /// Returns the loads whose values may have been stored.
  const std::set<uint32_t> &used() const { return usedLoads; }

private:
  using Stores = std::optional<std::vector<uint32_t>>; ///< none: there are other uses
  const Stores &storesOf(const Program &program, uint32_t load);

  std::mutex mutex;
  std::map<uint32_t, Stores> stores;
  std::set<uint32_t> usedLoads;
};

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_RACES_UNUSEDREADS_H
