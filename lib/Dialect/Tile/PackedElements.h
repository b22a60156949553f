//===- PackedElements.h - Bytes of values of fewer bits ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Packed elements are bytes in the IR, so that copies, boxes and layouts are those of
// bytes. What bytes mean is written here only, as arithmetic that every target has.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_TILE_PACKEDELEMENTS_H
#define PENSTOCK_DIALECT_TILE_PACKEDELEMENTS_H

#include "Dialect/Tile/TileDialect.h"
#include "mlir/IR/Builders.h"
#include "penstock/elements.h"

namespace penstock::tile {

/// A padded packing holds 16 values in the first bytes of every 16, as tensor cores read values of
/// 4 and 6 bits beside bytes.
inline constexpr int64_t paddedGroup = 16;

/// Bits of a value.
int64_t bitsOf(Packing packing);
bool isPadded(Packing packing);
/// The padded packing of the same values.
Packing padded(Packing packing);
/// Returns whether block-scaled MMAs read operands of these packings as they are: bytes of values,
/// which have no packing, and padded ones, or two f4e2m1 in each byte of both.
bool areReadByTensorCores(std::optional<Packing> a, std::optional<Packing> b);
/// Values in a row of \p bytes, and bytes of a row of \p values. Rows are multiples of three bytes
/// of dense 6-bit values, and of 16 values if they are padded.
int64_t valuesIn(Packing packing, int64_t bytes);
int64_t bytesOf(Packing packing, int64_t values);
/// The first bit of a value of a row.
int64_t bitOf(Packing packing, int64_t index);

/// A packed element of the language.
struct PackedElement {
  llvm::StringLiteral name; ///< in C++ and in `tile.packed`
  Element element;
  Packing packing;
};
/// Null if it is none.
const PackedElement *findPacked(llvm::StringRef name);
const PackedElement *findPacked(Element element);

/// Computation of the value of a floating-point code.
enum class Decoding : uint8_t {
  Integer,  ///< converts an integer
  Subnormal ///< multiplies an f32 of the same fields, which may be subnormal: fast on GPUs only
};

/// Loads a value from a tile of densely packed elements, as a \p type: i8, i32, f16, bf16 or f32.
/// \p index counts values along the last dimension, and may be that of an element of a tile.map.
mlir::Value loadPacked(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tile,
                       llvm::ArrayRef<mlir::Value> index, Packing packing, mlir::Type type,
                       Decoding decoding = Decoding::Integer);

} // namespace penstock::tile

#endif // PENSTOCK_DIALECT_TILE_PACKEDELEMENTS_H
