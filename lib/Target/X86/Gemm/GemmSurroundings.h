//===- GemmSurroundings.h - Statements around a product ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is usually in a loop along K, between a fill of its accumulator and a copy of it to a
// tensor. Both can be done in the registers that hold the sums, which saves a pass over
// memory each; this finds where.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_X86_GEMM_GEMMSURROUNDINGS_H
#define PENSTOCK_TARGET_X86_GEMM_GEMMSURROUNDINGS_H

#include "Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace penstock {

/// Operations around a product that can be done in its registers.
struct Surroundings {
  mlir::scf::ForOp loop; ///< the loop whose body has the product; null: none
  tile::FillOp fill;     ///< clears the accumulator before the loop
  tile::CopyOp store;    ///< stores the accumulator afterwards, its only other use
};

/// Finds them, while the product is the only use of its accumulator in the loop.
Surroundings surroundingsOf(tile::GemmOp gemm);

/// First and last iteration of the loop around a product, as conditions.
struct Iterations {
  mlir::Value isFirst; ///< null: all iterations are alike
  mlir::Value isLast;  ///< null: there is no loop
  mlir::Value isOnly;  ///< null: the order of blocks does not depend on it
};

/// Bytes of the data caches of a core, and the shares that operands may take, beside other things.
struct GemmCaches {
  int64_t l1Bytes, l2Bytes;
  int64_t mostInL1() const { return l1Bytes / 4 * 3; }
  int64_t mostInL2() const { return l2Bytes / 2; }
};

Iterations iterationsOf(tile::GemmOp gemm, const Surroundings &around, const GemmCaches &caches);

/// Moves the fill to where the loop has no iteration: the first one clears registers.
void startWithZero(const Surroundings &around);

} // namespace penstock

#endif // PENSTOCK_TARGET_X86_GEMM_GEMMSURROUNDINGS_H
