//===- MatrixOperand.h - Operands of wgmma and tcgen05.mma ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a tile of shared memory through a matrix descriptor. An operand is a
// set of pieces of 16 bytes; the descriptor says where each lies, the element
// format what it holds.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_TENSOR_MATRIXOPERAND_H
#define PENSTOCK_EMULATOR_TENSOR_MATRIXOPERAND_H

#include "Emulator/Races/HappensBefore.h"

namespace penstock::emu {

struct MatrixDescriptor {
  uint32_t start = 0;   ///< byte offset in shared memory
  uint32_t leading = 0; ///< LBO, bytes
  uint32_t stride = 0;  ///< SBO, bytes
  uint32_t swizzle = 0; ///< as in tensor maps: 0, 1 32B, 2 64B, 3 128B, 4
};

/// Descriptors of sm_90 and of sm_100; an empty text, or what is not legal.
std::string decodeWgmmaDescriptor(uint64_t bits, MatrixDescriptor &out);
std::string decodeTcgen05Descriptor(uint64_t bits, MatrixDescriptor &out);

/// Element type and its storage in memory.
enum class Element : uint8_t {
  F16,
  BF16,
  TF32,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  U8,
  S8,
  E2M1Packed ///< two in a byte, for the mxf4 kinds
};
/// Bytes of one element in shared memory; fp6 and fp4 of the 8-bit kinds are
/// packed into padded groups of 16 bytes, which count as one byte each.
unsigned elementBytes(Element element);
/// Elements in a piece of 16 bytes.
unsigned elementsPerPiece(Element element);

struct MatrixShape {
  unsigned rows = 0; ///< of M or N
  unsigned k = 0;    ///< elements
  bool mnMajor = false;
  Element element = Element::F16;
};

/// The offset in shared memory of every 16-byte piece, swizzled; pieces[i] is
/// piece i % perLine of line i / perLine, lines being rows (K-major) or values
/// of k (MN-major). A text if the operand cannot be read like that.
std::string operandPieces(const MatrixDescriptor &descriptor, const MatrixShape &shape,
                          std::vector<uint32_t> &pieces, unsigned &perLine);

/// A tile of shared memory that a descriptor names.
struct MatrixTile {
  std::string problem; ///< why it cannot be read; empty if it can
  MatrixShape shape;
  uint32_t swizzle = 0;
  std::vector<uint32_t> pieces; ///< as of operandPieces
  unsigned perLine = 0;
  uint32_t first = ~0u, end = 0; ///< all pieces are in [first, end)
  /// Memory of each quarter of the lines.
  std::vector<CellSet> quarters[4];

  /// Element values as \p out[row * k + i].
  void readRows(const uint8_t *shared, float *out) const;
  /// The same as \p out[i * stride + row].
  void readColumns(const uint8_t *shared, float *out, unsigned stride) const;
};

/// The memory of \p pieces of 16 bytes, by segments.
std::vector<CellSet> cellSetsOf(std::vector<uint32_t> pieces);

/// The tiles of a block by descriptor and shape. A loop names the same ones in each iteration.
class MatrixTiles {
public:
  using Decode = std::string (*)(uint64_t bits, MatrixDescriptor &out);
  std::shared_ptr<const MatrixTile> find(Decode decode, uint64_t bits, const MatrixShape &shape);

private:
  std::map<std::pair<uint64_t, uint64_t>, std::shared_ptr<const MatrixTile>> tiles;
};

/// The tile that \p bits name in \p cta.
std::shared_ptr<const MatrixTile> matrixTile(Cta &cta, MatrixTiles::Decode decode, uint64_t bits,
                                             const MatrixShape &shape);

/// One element from a 32-bit container (registers, tensor memory).
float decodeElement(uint32_t bits, Element element);

/// A block scale: UE8M0 with \p e8, else UE4M3, whose sign bit is ignored.
float decodeScale(uint8_t bits, bool e8);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_TENSOR_MATRIXOPERAND_H
