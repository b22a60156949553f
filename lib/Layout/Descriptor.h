//===- Descriptor.h - Descriptors of matrix operands ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wgmma and tcgen05.mma find their operands through 64-bit descriptors, and
// tcgen05.mma learns types and shape from a 32-bit one. This is the only place
// that writes their bits.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LAYOUT_DESCRIPTOR_H
#define PENSTOCK_LAYOUT_DESCRIPTOR_H

#include "Layout/SharedTile.h"

namespace penstock::layout {

/// The dimension whose neighbors are neighbors in memory.
enum class Major : uint8_t { K, MN };

/// An operand in shared memory. K-major: rows are M or N, cols are K. MN-major:
/// rows are K, cols are M or N.
struct MatrixOperand {
  SharedTile tile;
  Major major = Major::K;
  int64_t firstColumn = 0; ///< of the tile at which the operand begins
};

/// The fields of a descriptor of shared memory, in bytes. What the two offsets
/// mean depends on the swizzle and the major dimension.
struct MatrixFields {
  int64_t leadingBytes = 0;
  int64_t strideBytes = 0;
  Swizzle swizzle = Swizzle::None;
};

/// Nothing if the tile does not lie as the canonical layouts of the instructions
/// do: linear, of 4 or 64 bits, or not whole groups of eight rows and steps of K.
std::optional<MatrixFields> matrixFields(const MatrixOperand &);

/// The bits, without a start address: a user adds (address & 0x3FFFF) >> 4.
uint64_t encodeWgmma(const MatrixFields &);
uint64_t encodeTcgen05(const MatrixFields &);

/// Nothing if there are no fields, or if the instruction cannot read elements of
/// that size in that order.
std::optional<uint64_t> wgmmaDescriptor(const MatrixOperand &);
std::optional<uint64_t> tcgen05Descriptor(const MatrixOperand &);

/// Bytes to add to the start address so that the operand starts at \p mnStart and
/// \p kStart instead of the tile's corner. K-major: mnStart is a multiple of 8 and
/// kStart of 16 bytes. MN-major: kStart is a multiple of 8, and mnStart of 16
/// bytes; an operand that does not start with a chunk must end within it.
int64_t operandStepBytes(const MatrixOperand &, int64_t mnStart, int64_t kStart);

/// An E2M1x2 is a byte with two values, which is only multiplied with scales. 16 values of E2M3,
/// E3M2 and E2M1 lie in the first bytes of every 16, so that they count as bytes.
enum class MmaType : uint8_t { F16, BF16, TF32, E4M3, E5M2, S8, U8, E2M1x2, E2M3, E3M2, E2M1 };
enum class AccType : uint8_t { F16, F32, S32 };

/// Bits of an element in shared memory, with its padding.
int elementBits(MmaType);
/// As PTX spells it.
const char *nameOf(MmaType);
const char *nameOf(AccType);

/// Elements of K that one instruction consumes: 32 bytes, so 16, 8 or 32 (of pairs of values).
int64_t instructionK(MmaType);

/// m and n of all CTAs together.
struct InstructionDescriptor {
  MmaType a = MmaType::F16;
  MmaType b = MmaType::F16;
  AccType d = AccType::F32;
  int m = 0;
  int n = 0;
  Major aMajor = Major::K;
  Major bMajor = Major::K;
};

uint32_t tcgen05InstructionDescriptor(const InstructionDescriptor &);

/// Fields for the scales of a product: the first of its bytes in each word of A's and B's scales.
struct ScaleFields {
  bool powers = true; ///< UE8M0, not UE4M3
  int aByte = 0;
  int bByte = 0;
};
/// The same for products with scales, which accumulate in f32.
uint32_t tcgen05ScaledDescriptor(const InstructionDescriptor &, const ScaleFields &);

/// The source of a copy of scales: 32 rows of 16 bytes, one after the other.
uint64_t scalesDescriptor();

} // namespace penstock::layout

#endif // PENSTOCK_LAYOUT_DESCRIPTOR_H
