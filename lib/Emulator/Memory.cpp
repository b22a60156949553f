//===- Memory.cpp - Device memory and the map of addresses ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Memory.h"

#include <algorithm>
#include <new>

namespace penstock::emu {

uint64_t DeviceMemory::allocate(uint64_t size, std::string name) {
  if (size > limit || total + size > limit)
    return 0;
  auto allocation = std::make_unique<Allocation>();
  try {
    allocation->bytes.reset(new uint8_t[size ? size : 1]);
    allocation->written.assign(size, 0);
  } catch (const std::bad_alloc &) {
    return 0;
  }
  // Fresh memory holds a pattern that no program expects, so that results which
  // depend on it differ from zero.
  std::fill_n(allocation->bytes.get(), size, uint8_t(0xA5));
  allocation->base = next;
  allocation->size = size;
  allocation->name = std::move(name);
  next += ((size + 255) & ~uint64_t(255)) + 4096;
  total += size;
  uint64_t base = allocation->base;
  allocations.emplace(base, std::move(allocation));
  return base;
}

bool DeviceMemory::release(uint64_t base) {
  auto it = allocations.find(base);
  if (it == allocations.end() || !it->second->live)
    return false;
  // The record stays so that a later access can be explained.
  it->second->live = false;
  it->second->bytes.reset();
  it->second->written.clear();
  total -= it->second->size;
  return true;
}

const Allocation *DeviceMemory::nearest(uint64_t address) const {
  auto it = allocations.upper_bound(address);
  if (it == allocations.begin())
    return nullptr;
  const Allocation *found = std::prev(it)->second.get();
  return address < found->base + found->size + 4096 ? found : nullptr;
}

Allocation *DeviceMemory::find(uint64_t address) const {
  auto it = allocations.upper_bound(address);
  if (it == allocations.begin())
    return nullptr;
  Allocation *found = std::prev(it)->second.get();
  return found->live && address - found->base < found->size ? found : nullptr;
}

uint8_t *DeviceMemory::host(uint64_t address, uint64_t size) const {
  Allocation *found = find(address);
  if (!found || size > found->size - (address - found->base))
    return nullptr;
  return found->bytes.get() + (address - found->base);
}

void DeviceMemory::markWritten(uint64_t address, uint64_t size) {
  Allocation *found = find(address);
  if (!found || found->written.empty())
    return;
  uint64_t at = address - found->base;
  size = std::min(size, found->size - at);
  if (size == found->size)
    found->written.clear();
  else
    std::fill_n(found->written.begin() + int64_t(at), size, uint8_t(1));
}

void DeviceMemory::markAccessedAsWritten() {
  for (const auto &[base, allocation] : allocations)
    if (allocation->accessed.exchange(false))
      allocation->written.clear();
}

std::vector<Allocation *> DeviceMemory::all() const {
  std::vector<Allocation *> list;
  for (auto &entry : allocations)
    if (entry.second->live)
      list.push_back(entry.second.get());
  return list;
}

} // namespace penstock::emu
