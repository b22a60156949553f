//===- GemmBuilder.h - What all lowerings of products share -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TRANSFORMS_GEMMBUILDER_H
#define PENSTOCK_TRANSFORMS_GEMMBUILDER_H

#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Transforms/Passes.h"

namespace penstock {

/// Strides of a memref in elements; empty if it has none.
llvm::SmallVector<int64_t> stridesOf(mlir::Value memref);
mlir::Type elementTypeOf(mlir::Value memref);

/// Builds loops in place of one product.
class GemmBuilder {
public:
  explicit GemmBuilder(tile::GemmOp gemm) : gemm(gemm), b(gemm), loc(gemm.getLoc()) {}

protected:
  mlir::Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(b, loc, value); }
  mlir::Value add(mlir::Value x, int64_t y) {
    return y ? mlir::Value(mlir::arith::AddIOp::create(b, loc, x, index(y))) : x;
  }

  /// `for i in [begin, end) step step`, with the builder inside while body runs.
  template <typename Body> void loop(int64_t begin, int64_t end, int64_t step, Body body) {
    if (begin >= end)
      return;
    auto op = mlir::scf::ForOp::create(b, loc, index(begin), index(end), index(step));
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    body(op.getInductionVar());
  }

  /// Allocates a tile for intermediate results at the start of the function.
  mlir::Value allocate(llvm::ArrayRef<int64_t> shape, mlir::Type element);

  tile::GemmOp gemm;
  mlir::OpBuilder b;
  mlir::Location loc;
};

/// Whether products of these types have lowerings to instructions that add up groups.
bool isGrouped(tile::GemmOp gemm);
/// Lowers a grouped product to AVX-512 BF16 or VNNI.
void lowerGemmToDots(tile::GemmOp gemm);
/// Lowers a grouped product to AMX.
void lowerGemmToTiles(tile::GemmOp gemm);

} // namespace penstock

#endif // PENSTOCK_TRANSFORMS_GEMMBUILDER_H
