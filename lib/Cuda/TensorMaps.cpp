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

constexpr size_t maxRank = 5;

/// Direct-mapped: a new map replaces the old one of its slot.
struct Slot {
  alignas(64) uint8_t map[tensorMapBytes];
  std::optional<MapKey> key;
};

thread_local uint64_t encoded = 0;

/// Memory is reused for batches of other sizes, which differ in the first dimension mostly.
Slot &slotOf(uint64_t program, uint32_t recipe, uint64_t address, int64_t size) {
  thread_local Slot all[128];
  uint64_t hash =
      (address ^ (program * 31 + recipe) << 40 ^ uint64_t(size) << 20) * 0x9e3779b97f4a7c15;
  return all[hash >> 57];
}

} // namespace

MapKey::MapKey(uint64_t program, uint32_t recipe, const detail::Argument &tensor, uint64_t address)
    : program(program), address(address), recipe(recipe), rank(uint32_t(tensor.sizes.size())) {
  for (size_t d = 0; d < rank && d < maxRank; ++d) {
    sizes[d] = tensor.sizes[d];
    strides[d] = tensor.strides[d];
  }
}

const uint8_t *penstock::cuda::findMap(uint64_t program, uint32_t recipe,
                                       const detail::Argument &tensor, uint64_t address) {
  const Slot &slot = slotOf(program, recipe, address, tensor.sizes[0]);
  if (!slot.key)
    return nullptr;
  const MapKey &key = *slot.key;
  size_t rank = tensor.sizes.size();
  bool equal =
      key.address == address && key.program == program && key.recipe == recipe && key.rank == rank;
  for (size_t d = 0; equal && d < rank && d < maxRank; ++d)
    equal = key.sizes[d] == tensor.sizes[d] && key.strides[d] == tensor.strides[d];
  return equal ? slot.map : nullptr;
}

const uint8_t *penstock::cuda::encodeMap(const DriverApi &api, const MapKey &key,
                                         const TensorMapDescription &from, int &result) {
  constexpr int noInterleave = 0, promotion128B = 2, fillZeros = 0;
  static constexpr uint32_t elementStrides[5] = {1, 1, 1, 1, 1};
  Slot &slot = slotOf(key.program, key.recipe, key.address, key.sizes[0]);
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
