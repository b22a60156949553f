//===- PackedOperands.h - Operands of grouped products ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands as addresses, in the layout of Runtime/PackPanels.h: A in rows of groups, B in
// panels of 16 columns. An operand that has this layout is read where it is; others are
// packed by the runtime, which is compiled once and not with every kernel.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_X86_GEMM_PACKEDOPERANDS_H
#define PENSTOCK_TARGET_X86_GEMM_PACKEDOPERANDS_H

#include "Runtime/PackPanels.h"
#include "Target/X86/Gemm/GemmBuilder.h"

namespace penstock {

class PackedOperands : public GemmBuilder {
public:
  /// K is padded to a multiple of \p depth groups. With \p tiles, A is packed in tiles where
  /// that replaces a copy. \p flipSigns makes signed elements of A
  /// unsigned by adding 128. Where \p readsOnce is true, all uses of a row of A follow each other,
  /// so that packing it may not pay; null: they never do.
  PackedOperands(tile::GemmOp gemm, int64_t depth, bool tiles, bool flipSigns,
                 mlir::Value readsOnce = {});

protected:
  bool isInt;
  int64_t elementBytes, inGroup;
  int64_t m, n, k, groups, panels;
  Address left, right, acc;
  /// Rows of A in its tensor, if it is read or packed from there; null: it is not.
  Operand leftSource;
  /// Bytes between 16 rows of A and the next ones, and between steps of 64 bytes along K.
  mlir::Value leftBlock, leftStep;

private:
  void packLeft(bool tiles, bool flipSigns, mlir::Value readsOnce);
  /// Packs A in tiles, or reads it in its tensor where rows are used once and near each other.
  void packTilesOrRead(mlir::Value readsOnce);
  void packRight();
  void callPack(llvm::StringRef name, const Operand &source, int64_t rows, int64_t columns,
                mlir::Value target, llvm::ArrayRef<int64_t> numbers);
};

} // namespace penstock

#endif // PENSTOCK_TARGET_X86_GEMM_PACKEDOPERANDS_H
