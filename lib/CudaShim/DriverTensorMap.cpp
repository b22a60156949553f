//===- DriverTensorMap.cpp - libcuda: tensor maps -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaShim/Driver.h"
#include "Emulator/Tensor/TensorMap.h"

#include <algorithm>
#include <cstdio>

using namespace penstock::emu;

/// The fields that maps of both kinds have.
static TensorMap tensorMap(int dataType, uint32_t rank, void *address, const uint64_t *dims,
                           const uint64_t *strides, const uint32_t *elementStrides, int interleave,
                           int swizzle, int promotion, int fill) {
  TensorMap map;
  map.dataType = uint32_t(dataType);
  map.rank = rank;
  map.base = reinterpret_cast<uint64_t>(address);
  std::copy_n(dims, rank, map.dims);
  std::copy_n(elementStrides, rank, map.elementStrides);
  std::copy_n(strides, rank - 1, map.strides + 1);
  map.interleave = uint32_t(interleave);
  map.swizzle = uint32_t(swizzle);
  map.l2Promotion = uint32_t(promotion);
  map.fill = uint32_t(fill);
  return map;
}

/// Writes a map, or says why it is none: \p problem, if there is one, or a rule of the driver.
static int encode(const char *function, std::string problem, const TensorMap &map, void *out) {
  if (problem.empty())
    problem = checkTensorMap(map);
  if (!problem.empty()) {
    fprintf(stderr, "penstock-emu: %s: %s\n", function, problem.c_str());
    return 1; // CUDA_ERROR_INVALID_VALUE
  }
  encodeTensorMap(map, static_cast<uint8_t *>(out));
  return 0;
}

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
    map = tensorMap(dataType, rank, address, dims, strides, elementStrides, interleave, swizzle,
                    promotion, fill);
    std::copy_n(box, rank, map.box);
  }
  return encode("cuTensorMapEncodeTiled", problem, map, out);
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
    map = tensorMap(dataType, rank, address, dims, strides, elementStrides, interleave, swizzle,
                    promotion, fill);
    map.box[0] = channels;
    map.pixels = pixels;
    std::copy_n(lower, rank - 2, map.lower);
    std::copy_n(upper, rank - 2, map.upper);
  }
  return encode("cuTensorMapEncodeIm2col", problem, map, out);
}
