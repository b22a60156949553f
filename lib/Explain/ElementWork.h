//===- ElementWork.h - Instructions of loops over elements ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts what LLVM makes of loops over elements: vectors of 512 bits where elements are
// contiguous, single elements elsewhere.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXPLAIN_ELEMENTWORK_H
#define PENSTOCK_EXPLAIN_ELEMENTWORK_H

#include "Dialect/Tile/TileDialect.h"
#include "Target/X86/Gemm/GemmBuilder.h"
#include "Timing/Native.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace penstock {

timing::VectorWork elementWorkOf(tile::CopyOp copy);
timing::VectorWork elementWorkOf(tile::FillOp fill);
timing::VectorWork elementWorkOf(tile::MapOp map);
timing::VectorWork elementWorkOf(tile::ReduceOp reduce);
/// A nest of loops that tile-fuse-elements made.
timing::VectorWork elementWorkOf(mlir::scf::ForOp nest);
/// An operand of a product of this type that is packed.
timing::VectorWork packingWork(GemmPacking packing, mlir::MemRefType type);

/// Returns whether a loop runs over elements: nothing inside touches whole tiles.
bool isElementLoop(mlir::scf::ForOp loop);

/// Part of a tile or tensor that a nest touches.
struct ElementAccess {
  mlir::Value memref;
  llvm::SmallVector<mlir::Value, 4> indices;
  double bytes = 0, rowBytes = 0;
  bool write = false;
};
void elementAccesses(mlir::scf::ForOp nest, llvm::SmallVectorImpl<ElementAccess> &accesses);

} // namespace penstock

#endif // PENSTOCK_EXPLAIN_ELEMENTWORK_H
