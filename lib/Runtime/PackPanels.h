//===- PackPanels.h - Operands of products, packed in groups ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions that multiply bf16 and i8 add up groups of elements along K: two of
// bf16, four of i8, 4 bytes in any case. The second operand is packed in panels of 16
// columns, each a sequence of 64-byte rows with one group for every column. Tile
// instructions and AVX-512 read the same panels.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RUNTIME_PACKPANELS_H
#define PENSTOCK_RUNTIME_PACKPANELS_H

#include <cstdint>

namespace penstock {

constexpr int64_t panelColumns = 16;
constexpr int64_t groupBytes = 4;
constexpr int64_t panelRowBytes = panelColumns * groupBytes;

/// A matrix of elements with one or two bytes; strides are counted in elements.
struct ElementMatrix {
  const void *data;
  int64_t rows, columns, rowStride, columnStride;
  int64_t elementBytes;
};

/// Packs a K x N matrix in ceil(N / 16) panels of \p groups rows each. What is beyond the
/// matrix is zero. At least ceil(K / elements of a group) groups.
void packPanels(const ElementMatrix &from, void *to, int64_t groups);

/// Packs an M x K matrix in rows of \p rowBytes, with zeros after the elements. Each byte is
/// combined with \p flip by exclusive or, those after the elements included.
void packRows(const ElementMatrix &from, void *to, int64_t rowBytes, uint8_t flip);

/// Packs an M x K matrix in tiles of 16 rows with 64 bytes each, those of 16 rows after each
/// other, \p steps tiles along K. Elements beyond K are zero; rows beyond M are not written.
void packTiles(const ElementMatrix &from, void *to, int64_t steps);

/// sums[n] = -128 * (sum of the i8 elements of column n), for 16 * panels columns: what a
/// product adds too much when the signs of its first operand are flipped.
void offsetSums(const void *packed, int64_t panels, int64_t panelBytes, int64_t groups,
                int32_t *sums);

} // namespace penstock

#endif // PENSTOCK_RUNTIME_PACKPANELS_H
