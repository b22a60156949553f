//===- LoopBuilder.h - Loops over the elements of tiles ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TRANSFORMS_LOOPS_LOOPBUILDER_H
#define PENSTOCK_TRANSFORMS_LOOPS_LOOPBUILDER_H

#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"

namespace penstock {

inline mlir::MemRefType typeOf(mlir::Value memref) {
  return mlir::cast<mlir::MemRefType>(memref.getType());
}

/// Builds loops in place of one operation.
class LoopBuilder {
public:
  explicit LoopBuilder(mlir::Operation *op) : b(op), loc(op->getLoc()) {}

  mlir::Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(b, loc, value); }

  /// A nest of loops, the last dimension innermost.
  template <typename Body>
  void nest(llvm::ArrayRef<mlir::Value> begins, llvm::ArrayRef<mlir::Value> ends, Body body) {
    llvm::SmallVector<mlir::Value> indices;
    mlir::OpBuilder::InsertionGuard guard(b);
    for (auto [begin, end] : llvm::zip(begins, ends)) {
      auto loop = mlir::scf::ForOp::create(b, loc, begin, end, index(1));
      b.setInsertionPointToStart(loop.getBody());
      indices.push_back(loop.getInductionVar());
    }
    body(indices);
  }
  template <typename Body> void nest(llvm::ArrayRef<int64_t> extents, Body body) {
    llvm::SmallVector<mlir::Value> begins, ends;
    for (int64_t extent : extents) {
      begins.push_back(index(0));
      ends.push_back(index(extent));
    }
    nest(begins, ends, body);
  }

  mlir::Value load(mlir::Value memref, mlir::ValueRange indices) {
    return mlir::memref::LoadOp::create(b, loc, memref, indices);
  }
  void store(mlir::Value value, mlir::Value memref, mlir::ValueRange indices) {
    mlir::memref::StoreOp::create(b, loc, value, memref, indices);
  }

  /// Float to float, as copies and reductions convert.
  mlir::Value convert(mlir::Value value, mlir::Type to);
  mlir::Value zero(mlir::Type type);

  /// The part of a copy's tile that exists in its tensor.
  struct Box {
    mlir::Value inside; ///< whether it is the whole tile
    llvm::SmallVector<mlir::Value> begins, ends;
  };
  Box boxOf(tile::CopyOp copy);
  /// Indices in a copy's tensor of the element at \p at of its tile.
  llvm::SmallVector<mlir::Value> inTensor(tile::CopyOp copy, mlir::ValueRange at);

  /// The value that a reduction starts with.
  mlir::Value neutral(tile::ReduceOp reduce);
  mlir::Value combine(tile::ReduceOp reduce, mlir::Value x, mlir::Value y);
  /// Clones what an element is computed with; \p at are its indices.
  void cloneBody(mlir::Block &body, mlir::IRMapping &mapping, mlir::ValueRange at);

  mlir::OpBuilder b;
  mlir::Location loc;

private:
  mlir::Value clamp(mlir::Value value, mlir::Value limit);
};

} // namespace penstock

#endif // PENSTOCK_TRANSFORMS_LOOPS_LOOPBUILDER_H
