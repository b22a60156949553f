//===- TensorMap.cpp - Tensor maps, as the driver makes them --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Tensor/TensorMap.h"

#include <cstring>

namespace penstock::emu {
namespace {

constexpr uint32_t magic = 0x4d545350; // "PSTM"

struct Packed {
  uint32_t magic;
  uint8_t dataType, rank, interleave, swizzle;
  uint8_t l2Promotion, fill, reserved[2];
  uint32_t padding;
  uint64_t base;
  uint32_t dims[5]; // minus 1
  uint16_t box[5];  // minus 1
  uint8_t elementStrides[5];
  uint8_t pad;
  uint64_t strides[4];
  uint16_t pixels;
  int16_t lower[3], upper[3];
};
static_assert(sizeof(Packed) <= tensorMapBytes);

/// The bounding box of an im2col map.
std::string checkPixels(const TensorMap &map) {
  if (map.rank < 3)
    return "im2col tensors have at least 3 dimensions";
  if (map.pixels > 1024)
    return "the pixels of a column must be 1 to 1024";
  int32_t limit = map.rank == 3 ? 1 << 15 : map.rank == 4 ? 1 << 7 : 1 << 4;
  for (uint32_t d = 0; d + 2 < map.rank; ++d) {
    for (int32_t corner : {map.lower[d], map.upper[d]})
      if (corner < -limit || corner >= limit)
        return "the corners of a box of this rank must be " + std::to_string(-limit) + " to " +
               std::to_string(limit - 1);
    if (map.lastPixel(d) < map.lower[d])
      return "the bounding box is empty in dimension " + std::to_string(d + 1);
  }
  return "";
}

enum : uint32_t { U4Align8 = 13, U4Align16 = 14, U6Align16 = 15 };

} // namespace

unsigned tensorElementBits(uint32_t dataType) {
  static constexpr uint8_t bits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
  return dataType < sizeof bits ? bits[dataType] : 0;
}

std::string checkTensorMap(const TensorMap &map) {
  unsigned bits = tensorElementBits(map.dataType);
  if (!bits)
    return "the data type is not known";
  bool padded = map.dataType == U4Align16 || map.dataType == U6Align16;
  if (map.rank < 1 || map.rank > 5)
    return "the rank must be 1 to 5";
  if (map.interleave > 2)
    return "the interleave mode is not known";
  if (map.interleave && map.rank < 3)
    return "interleaved tensors have at least 3 dimensions";
  if (map.swizzle > 6)
    return "the swizzle mode is not known";
  if (map.fill > 1)
    return "the fill mode is not known";
  bool isFloat = map.dataType >= 6 && map.dataType <= 12;
  if (map.fill == 1 && !isFloat)
    return "NaN fill is for floating types only";
  uint64_t baseAlign = padded || map.interleave == 2 ? 32 : 16;
  if (map.base % baseAlign)
    return "the global address must be a multiple of " + std::to_string(baseAlign);
  for (uint32_t d = 0; d < map.rank; ++d) {
    std::string at = " of dimension " + std::to_string(d);
    if (map.dims[d] < 1 || map.dims[d] > (uint64_t(1) << 32))
      return "the size" + at + " must be 1 to 2^32";
    if ((!map.pixels || d == 0) && (map.box[d] < 1 || map.box[d] > 256))
      return "the box" + at + " must be 1 to 256";
    if (map.elementStrides[d] < 1 || map.elementStrides[d] > 8)
      return "the element stride" + at + " must be 1 to 8";
    if (d > 0) {
      if (map.strides[d] % baseAlign)
        return "the stride" + at + " must be a multiple of " + std::to_string(baseAlign);
      if (map.strides[d] >= (uint64_t(1) << 40))
        return "the stride" + at + " must be below 2^40";
    }
  }
  if (map.pixels)
    if (std::string problem = checkPixels(map); !problem.empty())
      return problem;
  if (padded) {
    if (map.dims[0] % 128)
      return "the innermost size of this type must be a multiple of 128";
    if (map.box[0] != 128)
      return "the innermost box of this type must be 128";
    if (map.swizzle != 0 && map.swizzle != 3 && map.swizzle != 4 &&
        !(map.swizzle == 6 && map.dataType == U6Align16))
      return "this type does not go with the swizzle mode";
    return "";
  }
  if (bits == 4 && map.dims[0] % 2)
    return "the innermost size of a 4-bit type must be even";
  uint64_t inner = uint64_t(map.box[0]) * bits / 8;
  if (map.interleave == 0) {
    if (uint64_t(map.box[0]) * bits % 128)
      return "the innermost box takes " + std::to_string(inner) +
             " bytes; it must be a multiple of 16";
    static constexpr unsigned spans[] = {0, 32, 64, 128, 128, 128, 128};
    if (map.swizzle && inner > spans[map.swizzle])
      return "the innermost box takes " + std::to_string(inner) +
             " bytes, more than the swizzle's " + std::to_string(spans[map.swizzle]);
  } else if (map.interleave == 2 && map.swizzle != 1) {
    return "interleave of 32 bytes needs the swizzle of 32 bytes";
  }
  return "";
}

void encodeTensorMap(const TensorMap &map, uint8_t *bytes) {
  Packed packed;
  memset(&packed, 0, sizeof packed);
  packed.magic = magic;
  packed.dataType = uint8_t(map.dataType);
  packed.rank = uint8_t(map.rank);
  packed.interleave = uint8_t(map.interleave);
  packed.swizzle = uint8_t(map.swizzle);
  packed.l2Promotion = uint8_t(map.l2Promotion);
  packed.fill = uint8_t(map.fill);
  packed.base = map.base;
  packed.pixels = uint16_t(map.pixels);
  for (int d = 0; d < 3; ++d) {
    packed.lower[d] = int16_t(map.lower[d]);
    packed.upper[d] = int16_t(map.upper[d]);
  }
  for (int d = 0; d < 5; ++d) {
    packed.dims[d] = uint32_t(map.dims[d] - 1);
    packed.box[d] = uint16_t(map.box[d] - 1);
    packed.elementStrides[d] = uint8_t(map.elementStrides[d]);
    if (d)
      packed.strides[d - 1] = map.strides[d];
  }
  memset(bytes, 0, tensorMapBytes);
  memcpy(bytes, &packed, sizeof packed);
}

bool decodeTensorMap(const uint8_t *bytes, TensorMap &map) {
  Packed packed;
  memcpy(&packed, bytes, sizeof packed);
  if (packed.magic != magic || packed.rank < 1 || packed.rank > 5)
    return false;
  map.dataType = packed.dataType;
  map.rank = packed.rank;
  map.interleave = packed.interleave;
  map.swizzle = packed.swizzle;
  map.l2Promotion = packed.l2Promotion;
  map.fill = packed.fill;
  map.base = packed.base;
  map.pixels = packed.pixels;
  for (int d = 0; d < 3; ++d) {
    map.lower[d] = packed.lower[d];
    map.upper[d] = packed.upper[d];
  }
  for (int d = 0; d < 5; ++d) {
    map.dims[d] = uint64_t(packed.dims[d]) + 1;
    map.box[d] = uint32_t(packed.box[d]) + 1;
    map.elementStrides[d] = packed.elementStrides[d];
    map.strides[d] = d ? packed.strides[d - 1] : 0;
  }
  return true;
}

uint32_t swizzleAddress(uint32_t address, uint32_t mode) {
  switch (mode) {
  case 1: // 32B
    return address ^ ((address >> 7 & 1) << 4);
  case 2: // 64B
    return address ^ ((address >> 7 & 3) << 4);
  case 3: // 128B
    return address ^ ((address >> 7 & 7) << 4);
  case 4: // 128B in atoms of 32
    return address ^ ((address >> 7 & 3) << 5);
  case 6: // 128B in atoms of 64
    return address ^ ((address >> 7 & 1) << 6);
  default:
    return address;
  }
}

} // namespace penstock::emu
