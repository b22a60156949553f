//===- TensorMaps.h - Tensor maps of launches, kept for the next *- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maps are passed by value in the kernel's parameter: graphs can be replayed, and nobody
// has to keep them alive. Encoding one takes longer than a launch, so that each thread
// keeps those of its last launches.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDA_TENSORMAPS_H
#define PENSTOCK_CUDA_TENSORMAPS_H

#include "Cuda/DriverApi.h"
#include "Runtime/DeviceLaunch.h"

namespace penstock::cuda {

/// Inputs of a map, in addition to the recipe.
struct MapKey {
  MapKey(uint64_t program, uint32_t recipe, const detail::Argument &tensor, uint64_t address);

  uint64_t program = 0;
  uint64_t address = 0;
  uint32_t recipe = 0, rank = 0;
  int64_t sizes[5] = {}, strides[5] = {};
};

/// The map of a tensor in this thread's cache; null if it has none. It makes no key, because
/// nearly all maps of launches are found.
const uint8_t *findMap(uint64_t program, uint32_t recipe, const detail::Argument &tensor,
                       uint64_t address);

/// Encodes a map into the cache and returns it; null, with the driver's \p result, if
/// that fails.
const uint8_t *encodeMap(const DriverApi &api, const MapKey &key,
                         const TensorMapDescription &description, int &result);

/// Returns the number of maps that this thread has encoded, for tests and benchmarks.
uint64_t encodedMaps();

} // namespace penstock::cuda

#endif // PENSTOCK_CUDA_TENSORMAPS_H
