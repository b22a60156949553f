//===- Operands.h - Tiles as engines see them -------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifiers and the lowering must agree on how a shared tile lies in memory
// and which instruction a product becomes; both ask here.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_NV_OPERANDS_H
#define PENSTOCK_DIALECT_NV_OPERANDS_H

#include "Dialect/Tile/TileDialect.h"
#include "Layout/Descriptor.h"
#include "Layout/LegalShapes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace penstock::nv {

/// Returns the layout of a tile that TMA writes and the tensor core reads: the last two dimensions,
/// with the widest swizzle that the rows allow. None if rows are not multiples of 16 bytes.
std::optional<layout::SharedTile> sharedLayoutOf(mlir::MemRefType type);

/// Values of 4 or 6 bits in a row of a box that TMA pads to 16 bytes for 16 values.
inline constexpr int64_t paddedBox = 128;

/// Returns whether a view is transposed. Two transposes cancel.
bool isTransposed(mlir::Value memref);

/// Returns the column of its tile at which a view begins; none if it is not a constant.
std::optional<int64_t> firstColumnOf(mlir::Value memref);

/// Tensor memory has 128 lanes. A tile with more rows lies there in parts, side by side: 256 rows
/// in parts of 128, 192 rows in parts of 64. An MMA writes one part.
inline constexpr int64_t tensorLanes = 128;
inline int64_t tensorParts(int64_t rows) {
  return rows == 192 ? 3 : std::max<int64_t>(1, rows / tensorLanes);
}
inline int64_t tensorParts(mlir::MemRefType type) { return tensorParts(type.getDimSize(0)); }
/// Returns the number of parts that different warpgroups access: a warpgroup has the lanes of one
/// part of 128 rows, but of all parts of 64 rows.
inline int64_t warpgroupParts(mlir::MemRefType type) {
  return type.getDimSize(0) % tensorLanes ? 1 : tensorParts(type);
}

/// Returns whether a tile of tensor memory holds the scales of an operand: rows / 128 x K / (4 *
/// block) x 32 x 16 bytes.
inline bool isScales(mlir::MemRefType type) { return type.getRank() == 4; }
/// Columns of tensor memory that a tile takes.
inline int64_t tensorColumns(mlir::MemRefType type) {
  if (isScales(type)) // 512 bytes take 4 columns of 32 lanes, and of all others
    return 4 * type.getDimSize(0) * type.getDimSize(1);
  return tensorParts(type) * type.getDimSize(1) * type.getElementTypeBitWidth() / 32;
}

struct Product {
  std::string error; ///< what is wrong; empty if the rest is set
  int64_t m = 0, n = 0, k = 0;
  layout::MmaType a = layout::MmaType::F16, b = layout::MmaType::F16;
  layout::AccType d = layout::AccType::F32;
  layout::MatrixOperand aOperand, bOperand; ///< A's only if it is in shared memory
  int64_t scaleBlock = 0;                   ///< values that share a scale; 0: there are none
};
/// Returns the shape and types of `acc += a * b` for the tensor core. A transposed view of a tile
/// is the tile in the other order. In a CTA pair, each block has half of the rows of A and of the
/// accumulator, and half of the columns of B; m and n are those of both blocks.
Product productOf(mlir::Value a, mlir::Value b, mlir::Value acc, bool pair = false);
/// Of a product with scales: their element, and how bytes of the operands hold values, if it is not
/// as two f4e2m1.
struct ScaledTypes {
  mlir::Type scale;
  std::optional<tile::Packing> a, b;
};
Product scaledProductOf(mlir::Value a, mlir::Value b, mlir::Value acc, const ScaledTypes &types);

} // namespace penstock::nv

#endif // PENSTOCK_DIALECT_NV_OPERANDS_H
