//===- Descriptor.cpp - Descriptors of matrix operands --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/Descriptor.h"

#include <cassert>

namespace penstock::layout {
namespace {

/// Offsets have 14 bits and count 16 bytes.
constexpr int64_t offsetLimit = int64_t(1) << 18;
/// Bytes of each K-major row that one instruction reads.
constexpr int64_t kStepBytes = 32;
/// Rows that a descriptor describes as one group, whichever dimension they are.
constexpr int64_t groupRows = 8;

uint64_t encodeOffsets(const MatrixFields &fields) {
  assert(fields.leadingBytes >= 0 && fields.leadingBytes < offsetLimit &&
         fields.leadingBytes % 16 == 0);
  assert(fields.strideBytes >= 0 && fields.strideBytes < offsetLimit &&
         fields.strideBytes % 16 == 0);
  return uint64_t(fields.leadingBytes >> 4) << 16 | uint64_t(fields.strideBytes >> 4) << 32;
}

/// The number of a type among those of its kind.
unsigned typeCode(MmaType type) {
  switch (type) {
  case MmaType::F16:
  case MmaType::E4M3:
  case MmaType::U8:
    return 0;
  case MmaType::BF16:
  case MmaType::E5M2:
  case MmaType::S8:
  case MmaType::E2M1x2:
    return 1;
  case MmaType::TF32:
    return 2;
  case MmaType::E2M3:
    return 3;
  case MmaType::E3M2:
    return 4;
  case MmaType::E2M1:
    return 5;
  }
  return 0;
}

unsigned typeCode(AccType type) {
  switch (type) {
  case AccType::F16:
    return 0;
  case AccType::F32:
    return 1;
  case AccType::S32:
    return 2;
  }
  return 0;
}

} // namespace

std::optional<MatrixFields> matrixFields(const MatrixOperand &operand) {
  const SharedTile &tile = operand.tile;
  bool sized = tile.elementBits == 8 || tile.elementBits == 16 || tile.elementBits == 32;
  if (tile.linear || !sized || tile.rows <= 0 || tile.cols <= 0 || tile.rows % groupRows != 0 ||
      tile.cols % tile.chunkCols() != 0)
    return std::nullopt;
  int64_t kStep = kStepBytes * 8 / tile.elementBits;
  if ((operand.major == Major::K ? tile.cols : tile.rows) % kStep != 0)
    return std::nullopt;

  int64_t group = groupRows * spanBytes(tile.swizzle);
  MatrixFields fields{0, group, tile.swizzle};
  if (operand.major == Major::K) {
    // A row of a swizzled chunk holds whole steps of K, so the offset between
    // chunks is not looked at; others write 16 bytes there, and so do we.
    fields.leadingBytes = tile.swizzle == Swizzle::None ? tile.chunkBytes() : 16;
  } else if (tile.swizzle == Swizzle::None) {
    // The two offsets change places when there is no swizzle.
    fields = {group, tile.chunkBytes(), tile.swizzle};
  } else {
    fields.leadingBytes = tile.chunkBytes();
  }
  if (fields.leadingBytes >= offsetLimit || fields.strideBytes >= offsetLimit)
    return std::nullopt;
  return fields;
}

uint64_t encodeWgmma(const MatrixFields &fields) {
  return encodeOffsets(fields) | uint64_t(wgmmaCode(fields.swizzle)) << 62;
}

uint64_t encodeTcgen05(const MatrixFields &fields) {
  constexpr uint64_t version = uint64_t(1) << 46;
  return encodeOffsets(fields) | version | uint64_t(tcgen05Code(fields.swizzle)) << 61;
}

std::optional<uint64_t> wgmmaDescriptor(const MatrixOperand &operand) {
  if (operand.major == Major::MN && operand.tile.elementBits != 16)
    return std::nullopt;
  std::optional<MatrixFields> fields = matrixFields(operand);
  return fields ? std::optional(encodeWgmma(*fields)) : std::nullopt;
}

std::optional<uint64_t> tcgen05Descriptor(const MatrixOperand &operand) {
  // tf32 by columns needs the swizzle with atoms of 32 bytes, which no tile has.
  if (operand.major == Major::MN && operand.tile.elementBits == 32)
    return std::nullopt;
  std::optional<MatrixFields> fields = matrixFields(operand);
  return fields ? std::optional(encodeTcgen05(*fields)) : std::nullopt;
}

int64_t operandStepBytes(const MatrixOperand &operand, int64_t mnStart, int64_t kStart) {
  // The hardware swizzles the final address, so a start inside a row is found
  // like in a tile without a swizzle; but only whole groups keep their pattern.
  bool kMajor = operand.major == Major::K;
  int64_t row = kMajor ? mnStart : kStart;
  int64_t col = operand.firstColumn + (kMajor ? kStart : mnStart);
  assert(!operand.tile.linear && row % groupRows == 0);
  assert(col * operand.tile.elementBits % (16 * 8) == 0);
  return operand.tile.linearByte(row, col);
}

int elementBits(MmaType type) {
  switch (type) {
  case MmaType::F16:
  case MmaType::BF16:
    return 16;
  case MmaType::TF32:
    return 32;
  case MmaType::E4M3:
  case MmaType::E5M2:
  case MmaType::S8:
  case MmaType::U8:
  case MmaType::E2M1x2:
  case MmaType::E2M3:
  case MmaType::E3M2:
  case MmaType::E2M1:
    return 8;
  }
  return 0;
}

const char *nameOf(MmaType type) {
  constexpr const char *names[] = {"f16", "bf16",   "tf32", "e4m3", "e5m2", "s8",
                                   "u8",  "e2m1x2", "e2m3", "e3m2", "e2m1"};
  return names[unsigned(type)];
}

const char *nameOf(AccType type) {
  constexpr const char *names[] = {"f16", "f32", "s32"};
  return names[unsigned(type)];
}

int64_t instructionK(MmaType type) { return kStepBytes * 8 / elementBits(type); }

uint32_t tcgen05InstructionDescriptor(const InstructionDescriptor &d) {
  assert(d.m > 0 && d.m <= 256 && d.m % 16 == 0 && d.n > 0 && d.n <= 256 && d.n % 8 == 0);
  return typeCode(d.d) << 4 | typeCode(d.a) << 7 | typeCode(d.b) << 10 |
         uint32_t(d.aMajor == Major::MN) << 15 | uint32_t(d.bMajor == Major::MN) << 16 |
         uint32_t(d.n >> 3) << 17 | uint32_t(d.m >> 4) << 24;
}

uint32_t tcgen05ScaledDescriptor(const InstructionDescriptor &d, const ScaleFields &scales) {
  assert(d.m > 0 && d.m <= 256 && d.m % 128 == 0 && d.n > 0 && d.n <= 256 && d.n % 8 == 0);
  return uint32_t(scales.bByte) << 4 | typeCode(d.a) << 7 | typeCode(d.b) << 10 |
         uint32_t(d.aMajor == Major::MN) << 15 | uint32_t(d.bMajor == Major::MN) << 16 |
         uint32_t(d.n >> 3) << 17 | uint32_t(scales.powers) << 23 | uint32_t(d.m >> 7) << 27 |
         uint32_t(scales.aByte) << 29;
}

uint64_t scalesDescriptor() {
  // Rows are as wide as a core matrix: there is no second one for the leading offset to reach.
  constexpr int64_t rowBytes = 16;
  return encodeTcgen05({rowBytes, groupRows * rowBytes, Swizzle::None});
}

} // namespace penstock::layout
