//===- WholeRows.cpp - Accumulators whose rows stay in one warp -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Placement/WholeRows.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace penstock;

using Tiles = llvm::SmallSetVector<Value, 8>;

static MemRefType typeOf(Value memref) { return cast<MemRefType>(memref.getType()); }

/// Adds the register tiles among \p memrefs.
static void addLocal(Tiles &tiles, ValueRange memrefs) {
  for (Value memref : memrefs)
    if (tile::spaceOf(typeOf(memref)) == tile::Space::Local && typeOf(memref).getRank() > 0)
      tiles.insert(memref);
}

/// Adds the register tiles that maps, copies and reductions use together with \p tiles.
static void close(Tiles &tiles) {
  for (size_t i = 0; i < tiles.size(); ++i)
    for (Operation *user : tiles[i].getUsers())
      if (isa<tile::MapOp, tile::CopyOp, tile::ReduceOp>(user))
        for (Value operand : user->getOperands())
          if (isa<MemRefType>(operand.getType()))
            addLocal(tiles, operand);
}

/// Returns whether threads write a tile of shared memory that is the left operand of an MMA.
static bool writesLeftOperand(Operation *op) {
  auto map = dyn_cast<tile::MapOp>(op);
  auto copy = dyn_cast<tile::CopyOp>(op);
  if (!map && !copy)
    return false;
  Value target = tile::rootOf(map ? map.getTarget() : copy.getTarget());
  return op->getParentOfType<func::FuncOp>()
      .walk([&](tile::GemmOp gemm) {
        return tile::rootOf(gemm.getA()) == target ? WalkResult::interrupt()
                                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns whether the left operand of a matmul is computed from an accumulator.
static bool leftIsComputed(tile::GemmOp product) {
  Value left = tile::rootOf(product.getA());
  Tiles sources;
  addLocal(sources, left);
  product->getParentOfType<func::FuncOp>().walk([&](Operation *op) {
    if (auto map = dyn_cast<tile::MapOp>(op); map && tile::rootOf(map.getTarget()) == left)
      addLocal(sources, map.getInputs());
    else if (auto copy = dyn_cast<tile::CopyOp>(op); copy && tile::rootOf(copy.getTarget()) == left)
      addLocal(sources, copy.getSource());
  });
  close(sources);
  return llvm::any_of(sources, [](Value tile) {
    return llvm::any_of(tile.getUsers(), [&](Operation *user) {
      auto gemm = dyn_cast<tile::GemmOp>(user);
      return gemm && gemm.getAcc() == tile;
    });
  });
}

/// Returns whether a use of a register tile needs whole rows. \p shape: of the accumulator.
static bool needsWholeRows(Operation *user, Value tile, ArrayRef<int64_t> shape) {
  if (auto reduce = dyn_cast<tile::ReduceOp>(user))
    return reduce.getDim() > 0;
  if (auto gemm = dyn_cast<tile::GemmOp>(user))
    return gemm.getAcc() != tile || typeOf(tile).getShape() != shape || leftIsComputed(gemm);
  return isa<memref::SubViewOp, memref::TransposeOp>(user) ||
         isa<nv::NVDialect>(user->getDialect()) || writesLeftOperand(user);
}

bool nvptx::needsWholeRows(tile::GemmOp product) {
  Tiles tiles;
  addLocal(tiles, product.getAcc());
  close(tiles);
  return llvm::any_of(tiles, [&](Value tile) {
    return llvm::any_of(tile.getUsers(), [&](Operation *user) {
      return ::needsWholeRows(user, tile, typeOf(product.getAcc()).getShape());
    });
  });
}
