//===- Snapshot.h - The memory of a device at one time ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_SNAPSHOT_H
#define PENSTOCK_EMULATOR_SNAPSHOT_H

#include "Emulator/Memory.h"

#include <algorithm>
#include <vector>

namespace penstock::emu {

/// The memory of a device, to run several launches from the same state.
class Snapshot {
public:
  explicit Snapshot(const DeviceMemory &memory) {
    for (Allocation *allocation : memory.all())
      saved.push_back({allocation, contents(*allocation), allocation->written});
  }
  void restore() const {
    for (const Saved &each : saved) {
      std::copy(each.bytes.begin(), each.bytes.end(), each.allocation->bytes.get());
      each.allocation->written = each.written;
    }
  }
  std::vector<std::vector<uint8_t>> now() const {
    std::vector<std::vector<uint8_t>> all;
    for (const Saved &each : saved)
      all.push_back(contents(*each.allocation));
    return all;
  }

private:
  struct Saved {
    Allocation *allocation;
    std::vector<uint8_t> bytes, written;
  };
  static std::vector<uint8_t> contents(const Allocation &allocation) {
    return {allocation.bytes.get(), allocation.bytes.get() + allocation.size};
  }
  std::vector<Saved> saved;
};

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_SNAPSHOT_H
