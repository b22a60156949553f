//===- TensorMaps.cpp - Tensor maps of launches, kept for the next --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cuda/TensorMaps.h"

#include <optional>

using namespace penstock;
using namespace penstock::cuda;

namespace {

/// Direct-mapped: a new map replaces the old one of its slot.
struct Slot {
  alignas(64) uint8_t map[tensorMapBytes];
  std::optional<MapKey> key;
};

thread_local uint64_t encoded = 0;

Slot &slotOf(const MapKey &key) {
  thread_local Slot all[128];
  return all[key.hash() % 128];
}

} // namespace

MapKey::MapKey(uint64_t program, uint32_t recipe, const detail::Argument &tensor, uint64_t address)
    : program(program), address(address), recipe(recipe), rank(uint32_t(tensor.sizes.size())) {
  for (size_t d = 0; d < rank && d < 5; ++d) {
    sizes[d] = tensor.sizes[d];
    strides[d] = tensor.strides[d];
  }
}

uint64_t MapKey::hash() const {
  constexpr uint64_t odd = 0x9e3779b97f4a7c15;
  uint64_t value = (program * 31 + recipe) * odd ^ address;
  for (size_t d = 0; d < rank && d < 5; ++d)
    value = (value ^ uint64_t(sizes[d]) ^ uint64_t(strides[d]) << 32) * odd;
  return value >> 32;
}

const uint8_t *penstock::cuda::findMap(const MapKey &key) {
  Slot &slot = slotOf(key);
  return slot.key == key ? slot.map : nullptr;
}

const uint8_t *penstock::cuda::encodeMap(const DriverApi &api, const MapKey &key,
                                         const TensorMapDescription &from, int &result) {
  constexpr int noInterleave = 0, promotion128B = 2, fillZeros = 0;
  static constexpr uint32_t elementStrides[5] = {1, 1, 1, 1, 1};
  Slot &slot = slotOf(key);
  slot.key.reset();
  ++encoded;
  result = api.tensorMapEncodeTiled(slot.map, int(from.dataType), from.rank,
                                    reinterpret_cast<void *>(from.address), from.sizes.data(),
                                    from.strides.data() + 1, from.box.data(), elementStrides,
                                    noInterleave, int(from.swizzle), promotion128B, fillZeros);
  if (result != Success)
    return nullptr;
  slot.key = key;
  return slot.map;
}

uint64_t penstock::cuda::encodedMaps() { return encoded; }
