//===- PlaceTiles.cpp - Allocation of tiles in scratch memory --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Transforms/Launch/KernelAbi.h"
#include "Transforms/Passes.h"

namespace penstock {
#define GEN_PASS_DEF_PLACETILES
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

constexpr int64_t alignment = 64;

int64_t bytesOf(MemRefType type) {
  // A condition takes a byte in memory.
  int64_t bits = std::max<int64_t>(8, type.getElementTypeBitWidth());
  return type.getNumElements() * (bits / 8);
}

MemRefType withoutSpace(MemRefType type) {
  return MemRefType::get(type.getShape(), type.getElementType(), type.getLayout());
}

/// On a CPU all spaces are one memory.
void dropSpaces(func::FuncOp function) {
  auto convert = [](Value value) {
    if (auto type = dyn_cast<MemRefType>(value.getType()))
      value.setType(withoutSpace(type));
  };
  function.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), convert);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), convert);
  });
  SmallVector<Type> types;
  for (Type type : function.getArgumentTypes())
    types.push_back(isa<MemRefType>(type) ? Type(withoutSpace(cast<MemRefType>(type))) : type);
  function.setFunctionType(FunctionType::get(function.getContext(), types, {}));
}

struct PlaceTiles : penstock::impl::PlaceTilesBase<PlaceTiles> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    bool kernel = function->hasAttr(tile::TileDialect::kernelAttr);
    SmallVector<tile::AllocOp> allocs;
    function.walk([&](tile::AllocOp op) { allocs.push_back(op); });
    int64_t offset = 0;
    for (tile::AllocOp op : allocs) {
      OpBuilder b(op);
      auto type = cast<MemRefType>(op.getResult().getType());
      Value tile;
      if (!kernel || type.getRank() == 0) {
        // Mutable scalars, and what a request to the runtime needs for itself.
        tile = memref::AllocaOp::create(b, op.getLoc(), withoutSpace(type), ValueRange(),
                                        b.getI64IntegerAttr(alignment));
      } else {
        unsigned scratch = function.getNumArguments() - abi::NumExtra + abi::Scratch;
        Value at = arith::ConstantIndexOp::create(b, op.getLoc(), offset);
        tile = memref::ViewOp::create(b, op.getLoc(), withoutSpace(type),
                                      function.getArgument(scratch), at, ValueRange());
        offset += llvm::alignTo(bytesOf(type), alignment);
      }
      op.getResult().replaceAllUsesWith(tile);
      op.erase();
    }
    dropSpaces(function);
    if (!kernel)
      return;
    function->setAttr(abi::scratchAttr, Builder(&getContext()).getI64IntegerAttr(offset));
    // It is no tile program any more.
    function->removeAttr(tile::TileDialect::kernelAttr);
    function->removeAttr(tile::TileDialect::targetAttr);
    function->removeAttr(tile::TileDialect::signatureAttr);
    function.removeArgAttrsAttr();
  }
};

} // namespace
