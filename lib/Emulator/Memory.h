//===- Memory.h - Device memory and the map of addresses --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Global memory is a set of allocations at made-up addresses that are the same
// in every run, with gaps between them, so that an access outside of an
// allocation is never an access inside of another one. Generic addresses of
// shared, local and parameter memory lie in windows far above.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_MEMORY_H
#define PENSTOCK_EMULATOR_MEMORY_H

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace penstock::emu {

inline constexpr uint64_t sharedWindow = uint64_t(1) << 60;
inline constexpr uint64_t localWindow = uint64_t(2) << 60;
inline constexpr uint64_t paramWindow = uint64_t(3) << 60;
/// Addresses of functions, which are not memory.
inline constexpr uint64_t functionWindow = uint64_t(4) << 60;
inline constexpr uint64_t windowMask = uint64_t(0xf) << 60;

/// A shared address carries the rank of its CTA in the cluster from this bit.
inline constexpr unsigned rankShift = 24;
inline constexpr uint32_t sharedOffsetMask = (1u << rankShift) - 1;
/// The first bytes of shared memory belong to the system.
inline constexpr uint32_t sharedReserved = 1024;

struct Allocation {
  uint64_t base = 0;
  uint64_t size = 0;
  std::string name;
  std::unique_ptr<uint8_t[]> bytes;
  /// One entry per byte that says whether it was written; empty: all were.
  std::vector<uint8_t> written;
  /// An unchecked launch has accessed it; set by all host threads.
  std::atomic<bool> accessed{false};
  bool live = true;
  bool constant = false; ///< a variable of constant memory
};

class DeviceMemory {
public:
  /// Addresses begin at \p first, so that devices can share one address space.
  explicit DeviceMemory(uint64_t first = 0x700000000) : next(first) {}

  /// A new allocation of \p size bytes, aligned to 256. Returns 0 if there is
  /// no room for it.
  uint64_t allocate(uint64_t size, std::string name = "");
  bool release(uint64_t base);
  /// The live allocation that holds \p address, or null.
  Allocation *find(uint64_t address) const;
  /// The allocation that \p address lies in or just behind, also if it was
  /// released, to name it in a message.
  const Allocation *nearest(uint64_t address) const;
  /// The host's view of [address, address + size), or null.
  uint8_t *host(uint64_t address, uint64_t size) const;
  /// Notes that the host has written a range.
  void markWritten(uint64_t address, uint64_t size);
  /// After an unchecked launch: all that it accessed counts as written, because stores are
  /// not recorded.
  void markAccessedAsWritten();
  uint64_t used() const { return total; }
  std::vector<Allocation *> all() const;

  uint64_t limit = uint64_t(16) << 30;

private:
  std::map<uint64_t, std::unique_ptr<Allocation>> allocations;
  uint64_t next;
  uint64_t total = 0;
};

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_MEMORY_H
