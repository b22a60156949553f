//===- DriverTensorMap.cpp - libcuda: tensor maps -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaShim/Driver.h"
#include "Emulator/TensorMap.h"

#include <cstdio>
#include <cstring>

using namespace penstock::emu;

PENSTOCK_DRIVER_ENTRY cuTensorMapEncodeTiled(void *out, int dataType, uint32_t rank, void *address,
                                             const uint64_t *dims, const uint64_t *strides,
                                             const uint32_t *box, const uint32_t *elementStrides,
                                             int interleave, int swizzle, int promotion, int fill) {
  penstock::shim::Call call("cuTensorMapEncodeTiled", penstock::shim::Call::Nothing);
  if (!call)
    return call.result;
  TensorMap map;
  std::string problem;
  if (!out || reinterpret_cast<uintptr_t>(out) % 64)
    problem = "the map must be aligned to 64 bytes";
  else if (rank < 1 || rank > 5 || !dims || !box || !elementStrides || (rank > 1 && !strides))
    problem = "the rank must be 1 to 5";
  if (problem.empty()) {
    map.dataType = uint32_t(dataType);
    map.rank = rank;
    map.base = reinterpret_cast<uint64_t>(address);
    for (uint32_t d = 0; d < rank; ++d) {
      map.dims[d] = dims[d];
      map.box[d] = box[d];
      map.elementStrides[d] = elementStrides[d];
      if (d)
        map.strides[d] = strides[d - 1];
    }
    map.interleave = uint32_t(interleave);
    map.swizzle = uint32_t(swizzle);
    map.l2Promotion = uint32_t(promotion);
    map.fill = uint32_t(fill);
    problem = checkTensorMap(map);
  }
  if (!problem.empty()) {
    fprintf(stderr, "penstock-emu: cuTensorMapEncodeTiled: %s\n", problem.c_str());
    return 1; // CUDA_ERROR_INVALID_VALUE
  }
  encodeTensorMap(map, static_cast<uint8_t *>(out));
  return 0;
}

PENSTOCK_DRIVER_ENTRY cuTensorMapEncodeIm2col(void *out, int dataType, uint32_t rank, void *address,
                                              const uint64_t *dims, const uint64_t *strides,
                                              const int *lower, const int *upper, uint32_t channels,
                                              uint32_t pixels, const uint32_t *elementStrides,
                                              int interleave, int swizzle, int promotion,
                                              int fill) {
  penstock::shim::Call call("cuTensorMapEncodeIm2col", penstock::shim::Call::Nothing);
  if (!call)
    return call.result;
  TensorMap map;
  std::string problem;
  if (!out || reinterpret_cast<uintptr_t>(out) % 64)
    problem = "the map must be aligned to 64 bytes";
  else if (rank < 3 || rank > 5 || !dims || !strides || !lower || !upper || !elementStrides)
    problem = "the rank must be 3 to 5";
  else if (!pixels)
    problem = "the pixels of a column must be 1 to 1024";
  if (problem.empty()) {
    map.dataType = uint32_t(dataType);
    map.rank = rank;
    map.base = reinterpret_cast<uint64_t>(address);
    map.box[0] = channels;
    map.pixels = pixels;
    for (uint32_t d = 0; d < rank; ++d) {
      map.dims[d] = dims[d];
      map.elementStrides[d] = elementStrides[d];
      if (d)
        map.strides[d] = strides[d - 1];
      if (d + 2 < rank) {
        map.lower[d] = lower[d];
        map.upper[d] = upper[d];
      }
    }
    map.interleave = uint32_t(interleave);
    map.swizzle = uint32_t(swizzle);
    map.l2Promotion = uint32_t(promotion);
    map.fill = uint32_t(fill);
    problem = checkTensorMap(map);
  }
  if (!problem.empty()) {
    fprintf(stderr, "penstock-emu: cuTensorMapEncodeIm2col: %s\n", problem.c_str());
    return 1; // CUDA_ERROR_INVALID_VALUE
  }
  encodeTensorMap(map, static_cast<uint8_t *>(out));
  return 0;
}
