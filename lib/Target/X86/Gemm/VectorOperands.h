//===- VectorOperands.h - Operands of products of vectors -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses the block of sums that registers hold and where a product of vectors reads its operands:
// in their tiles, in their tensors, in panels that the caller has packed, or in memory that they
// are packed into, B in strips of as many columns as a block has.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_X86_GEMM_VECTOROPERANDS_H
#define PENSTOCK_TARGET_X86_GEMM_VECTOROPERANDS_H

#include "Runtime/PackTransposed.h"
#include "Target/X86/Gemm/GemmBuilder.h"

namespace penstock {

/// Base of the lowering to multiplications of vectors, as PackedOperands is for grouped products.
class VectorOperands : public GemmBuilder {
protected:
  VectorOperands(tile::GemmOp gemm, int64_t vectorBits, const GemmCaches &caches);

  static int64_t groupOf(mlir::Value packed) {
    return mlir::cast<mlir::MemRefType>(packed.getType()).getDimSize(3);
  }
  /// Returns the rows of B of one group, from row \p kk on, which each have the vectors of \p
  /// widths.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>>
  loadGroup(mlir::Value kk, llvm::ArrayRef<mlir::Value> columnIndices,
            llvm::ArrayRef<int64_t> widths);
  void chooseLeft();
  void chooseRight();
  /// A vector of row \p kk of B: \p offset columns after the first one of a strip, or at
  /// \p column.
  mlir::Value loadRight(mlir::Value kk, mlir::Value strip, int64_t offset, mlir::Value column,
                        int64_t width);
  static mlir::VectorType vectorOf(int64_t size, mlir::Type element) {
    return mlir::VectorType::get(size, element);
  }

  mlir::Type compute;
  bool tf32;
  int64_t elementBytes, lanes;
  int64_t m, n, k;
  int64_t wide, rows; ///< vectors and rows of a block of sums
  int64_t step;       ///< columns of a block
  int64_t wideEnd;    ///< columns in blocks of all vectors
  bool byRows;        ///< rows of A change slowest, not columns of B
  int64_t chunk;      ///< columns of B that stay in L2 for all rows of A, with byRows
  mlir::Value left;   ///< A as a tile
  Address leftRows;   ///< A where it is read in its tensor; null: it is not
  Address panels;     ///< B where the caller has packed it; null: it is not read there
  mlir::Value strips; ///< B in strips of `step` columns; null: it is not packed in them

private:
  /// Elements, or vectors of them, in the type that is computed with.
  mlir::Value widen(mlir::Value value, bool isUnsigned = false);
  /// To ten bits of mantissa, nearest even; NaN and infinity stay.
  mlir::Value roundToTF32(mlir::Value value);
  mlir::Value pack(mlir::Value source, bool isUnsigned = false);
  /// Returns the way in which pack() packs.
  GemmPacking packingOf(mlir::Value source);
  void packElement(mlir::Value source, mlir::Value packed, mlir::Value i, mlir::Value j,
                   bool isUnsigned);
  /// A packed operand as K x N.
  mlir::Value unpack(mlir::Value source);
  /// Returns whether a strip has whole panels of an operand that the caller has packed, and whether
  /// the rows of a panel are contiguous.
  bool hasWholePanels(mlir::Value source);
  static int64_t panelColumnsOf(mlir::Value packed);
  /// One row uses each element once, so that it is converted as it is read.
  void readPanels(mlir::Value source);
  /// Loads `columns` groups of a packed operand and returns each of their rows in the type that is
  /// computed with.
  llvm::SmallVector<mlir::Value> loadRowsOf(mlir::Value source, mlir::Value at, int64_t columns);
  /// Converts an operand that the caller has packed, and stores it in strips of columns.
  void unpackStrips(mlir::Value source);
  void packRows(mlir::Value source, mlir::Value packed, int64_t rows, int64_t columns,
                bool isUnsigned);
  /// The runtime transposes in registers; see PackTransposed.h for why.
  void packTransposed(mlir::Value source, mlir::Value packed, PackFrom type);
  std::optional<PackFrom> packType(mlir::Value source);
  /// Rows of B that are a multiple of 512 bytes apart are in few sets of the first-level cache, so
  /// that the columns which all rows of A use would not stay there. Gives such a tile longer rows,
  /// if nothing but copies from tensors and products use it. Null: nothing to do.
  mlir::Value padRows(mlir::Value operand);
  /// Returns whether the copy that makes B can write the strips of columns that the loops read
  /// instead.
  bool packsStrips(mlir::Value source);
  /// Packs B in strips of as many columns as registers hold sums of. A strip is contiguous, so that
  /// its lines are spread over all sets of the caches and prefetched by the processor.
  void packStrips(mlir::Value source);
  static int64_t bytesOf(mlir::Value memref) {
    return elementTypeOf(memref).getIntOrFloatBitWidth() / 8;
  }

  Address rightRows;          ///< B where it is read in its tensor; null: it is not
  mlir::Value panelRowStride; ///< bytes between groups of a panel
  mlir::Value right;          ///< B from column `rightBegin` on
  int64_t rightBegin = 0;
};

} // namespace penstock

#endif // PENSTOCK_TARGET_X86_GEMM_VECTOROPERANDS_H
