//===- TensorMap.h - Tensor maps, as the driver makes them ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor map is 128 opaque bytes. Nobody outside of the driver and the
// hardware knows their layout, so the emulator uses its own; programs only pass
// them on. The rules for making one are those of cuTensorMapEncodeTiled and
// cuTensorMapEncodeIm2col.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_TENSOR_TENSORMAP_H
#define PENSTOCK_EMULATOR_TENSOR_TENSORMAP_H

#include <cstdint>
#include <string>

namespace penstock::emu {

/// Values as in the driver's CUtensorMapDataType and its like.
struct TensorMap {
  uint32_t dataType = 0;
  uint32_t rank = 1;
  uint64_t base = 0;
  uint64_t dims[5] = {1, 1, 1, 1, 1};
  uint64_t strides[5] = {}; ///< bytes; [0] is the size of an element
  uint32_t box[5] = {1, 1, 1, 1, 1};
  uint32_t elementStrides[5] = {1, 1, 1, 1, 1};
  uint32_t interleave = 0;
  uint32_t swizzle = 0; ///< 0 none, 1 32B, 2 64B, 3 128B, 4-6 other atoms
  uint32_t l2Promotion = 0;
  uint32_t fill = 0; ///< 1: NaN
  // im2col: pixels are elements of N, D, H and W; box[0] is the channels of each.
  uint32_t pixels = 0;                  ///< of a column; 0: the map is tiled
  int32_t lower[3] = {}, upper[3] = {}; ///< corners of the bounding box: W, H, D

  /// The last coordinate of the bounding box in dimension \p d of W, H, D.
  int64_t lastPixel(unsigned d) const { return int64_t(dims[d + 1]) - 1 + upper[d]; }
};

inline constexpr unsigned tensorMapBytes = 128;

/// Bits of an element in global memory; 0 for an unknown type.
unsigned tensorElementBits(uint32_t dataType);

/// The rules of the driver: an empty text, or which is broken.
std::string checkTensorMap(const TensorMap &map);

void encodeTensorMap(const TensorMap &map, uint8_t *bytes);
/// False if the bytes are not a map made by encodeTensorMap.
bool decodeTensorMap(const uint8_t *bytes, TensorMap &map);

/// The XOR of a swizzle mode on an address of shared memory.
uint32_t swizzleAddress(uint32_t address, uint32_t mode);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_TENSOR_TENSORMAP_H
