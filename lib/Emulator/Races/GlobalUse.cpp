//===- GlobalUse.cpp - Tracked global memory of a launch ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/GlobalUse.h"

#include <algorithm>

namespace penstock::emu {

void GlobalUse::startTracking() {
  std::lock_guard<std::mutex> lock(mutex);
  if (state.load(std::memory_order_acquire) == Tracked)
    return;
  bytes.assign(allocation.bytes.get(), allocation.bytes.get() + allocation.size);
  written = allocation.written;
  if (state.exchange(Tracked, std::memory_order_acq_rel) == ReadOnly)
    missedReads = true;
}

void GlobalUse::restore() {
  if (state.load(std::memory_order_acquire) != Tracked)
    return;
  std::copy(bytes.begin(), bytes.end(), allocation.bytes.get());
  allocation.written = written;
}

void GlobalUses::add(Allocation &allocation, bool tracked) {
  auto use = std::make_unique<GlobalUse>(allocation);
  if (tracked)
    use->startTracking();
  uses.emplace(&allocation, std::move(use));
}

std::set<const Allocation *> GlobalUses::incomplete() const {
  std::set<const Allocation *> found;
  for (const auto &[allocation, use] : uses)
    if (use->incomplete())
      found.insert(allocation);
  return found;
}

void GlobalUses::restore() {
  for (const auto &entry : uses)
    entry.second->restore();
}

} // namespace penstock::emu
