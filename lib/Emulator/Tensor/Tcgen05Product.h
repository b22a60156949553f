//===- Tcgen05Product.h - Products of tcgen05.mma -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_TENSOR_TCGEN05PRODUCT_H
#define PENSTOCK_EMULATOR_TENSOR_TCGEN05PRODUCT_H

#include "Emulator/Tensor/MatrixOperand.h"

namespace penstock::emu {

enum class Tcgen05Kind : uint8_t { F16, TF32, F8F6F4, I8, MXF8, MXF4 };

/// A multiplication, ready to happen.
struct Tcgen05Product {
  Tcgen05Kind kind = Tcgen05Kind::F16;
  unsigned m = 0, n = 0, k = 0; ///< totals of all blocks; k counts zeros that A leaves out
  unsigned blocks = 1;
  Cta *ctas[2] = {nullptr, nullptr};
  MatrixShape shapeA, shapeB; ///< per block
  std::shared_ptr<const MatrixTile> tileA, tileB;
  bool tensorA = false;
  uint32_t addressA = 0;
  uint32_t addressD = 0;
  bool halfD = false, integerD = false, saturate = false;
  bool accumulate = false;
  unsigned scaleD = 0;
  bool negateA = false, negateB = false;
  uint32_t disabled[8] = {};
  bool stationary = false;  ///< tcgen05.mma.ws
  uint64_t zeroColumns = 0; ///< its mask descriptor
  // tcgen05.mma.sp: positions of the elements of A, in tensor memory.
  bool sparse = false;
  unsigned selector = 0;
  uint32_t metadata = 0;
  // Block scales: one byte per row and block of k, in tensor memory.
  unsigned scaleBlock = 0; ///< elements of k per scale; 0: none
  bool scaleE8 = false;    ///< UE8M0, else UE4M3
  unsigned scaleIdA = 0, scaleIdB = 0;
  uint32_t scaleA = 0, scaleB = 0; ///< columns

  unsigned rowsPerBlock() const { return m / blocks; }
  /// Pairs with 64 rows each: the right half of N lies in the upper lanes.
  bool halved() const { return blocks == 2 && rowsPerBlock() == 64; }
  /// Lane and column of element (row, n) in one block's accumulator.
  void placeD(unsigned row, unsigned col, unsigned &lane, unsigned &column) const {
    unsigned rows = rowsPerBlock();
    if (rows == 128) {
      lane = row;
      column = col;
    } else if (stationary) { // parts of N lie above each other
      unsigned part = n * rows / 128;
      lane = row + rows * (col / part);
      column = col % part;
    } else if (blocks == 1) { // 64 rows in the lower halves of the quarters
      lane = row % 16 + 32 * (row / 16) + (addressD >> 16 & 16);
      column = col;
    } else {
      lane = row + 64 * (col / (n / 2));
      column = col % (n / 2);
    }
  }
  unsigned columnsD() const { return stationary ? n * m / 128 : halved() ? n / 2 : n; }
  /// Returns whether rows are in every other group of 16 lanes.
  bool sparseLanes() const { return m == 64 && blocks == 1 && !stationary; }
  /// Elements of A of which two bits of metadata keep one each, or two neighbors of 4 bits.
  unsigned chunk() const {
    return kind == Tcgen05Kind::TF32 ? 2 : kind == Tcgen05Kind::MXF4 ? 8 : 4;
  }
  /// Columns of the metadata, from metadataColumn on.
  unsigned metadataColumns() const { return elementBytes(shapeA.element) == 1 ? 2 : 1; }
  unsigned metadataColumn() const { return (metadata & 0xffff) + selector; }
  /// Columns of tensor memory that hold the scales of A and of B.
  unsigned scaleColumnsA() const { return (rowsPerBlock() + 31) / 32; }
  unsigned scaleColumnsB() const { return (columnsD() + 31) / 32; }
  /// Columns of A in tensor memory.
  unsigned columnsA() const {
    return shapeA.k *
           (shapeA.element == Element::E2M1Packed ? 1 : 2 * elementBytes(shapeA.element)) / 8;
  }
};

/// Reads the 32-bit instruction descriptor; a text if it is not legal.
std::string decodeInstructionDescriptor(uint32_t bits, Tcgen05Product &product);

/// Returns whether tcgen05.mma.ws takes column \p col of B as zero.
bool isZeroColumn(const Tcgen05Product &product, unsigned col);

/// Multiplies.
void execute(const Tcgen05Product &product);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_TENSOR_TCGEN05PRODUCT_H
