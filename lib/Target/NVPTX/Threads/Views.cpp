//===- Views.cpp - Addresses of views of shared tiles ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Threads/Views.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

View nvptx::viewOf(LoweringContext &c, Value memref) {
  // A slice that is the whole tile has been folded to a cast.
  if (auto cast = memref.getDefiningOp<memref::CastOp>())
    return viewOf(c, cast.getSource());
  if (auto transpose = memref.getDefiningOp<memref::TransposeOp>()) {
    View view = viewOf(c, transpose.getIn());
    if (transpose.getPermutation().isIdentity())
      return view; // two have been folded to one that exchanges nothing
    std::swap(view.dims[0], view.dims[1]);
    std::swap(view.shape[0], view.shape[1]);
    return view;
  }
  if (auto slice = memref.getDefiningOp<memref::SubViewOp>()) {
    View view = viewOf(c, slice.getSource());
    auto dropped = slice.getDroppedDims();
    SmallVector<unsigned> dims;
    for (unsigned dim = 0; dim < view.dims.size(); ++dim) {
      OpFoldResult offset = slice.getMixedOffsets()[dim];
      unsigned rootDim = view.dims[dim];
      if (auto constant = getConstantIntValue(offset))
        view.offsets[rootDim] = c.add(view.offsets[rootDim], *constant);
      else
        view.offsets[rootDim] = c.add(view.offsets[rootDim], c.asI32(cast<Value>(offset)));
      if (!dropped.test(dim))
        dims.push_back(rootDim);
    }
    view.dims = dims;
    view.shape = SmallVector<int64_t>(slice.getType().getShape());
    return view;
  }
  View view;
  view.root = memref;
  auto type = cast<MemRefType>(memref.getType());
  for (unsigned dim = 0; dim < type.getRank(); ++dim) {
    view.offsets.push_back(c.i32(0));
    view.dims.push_back(dim);
  }
  view.shape = SmallVector<int64_t>(type.getShape());
  return view;
}

/// The number of the view's slot; null if its tile has none.
static Value slotOf(LoweringContext &c, const View &view) {
  auto type = cast<MemRefType>(view.root.getType());
  Value slot;
  for (int64_t dim = 0; dim + 2 < type.getRank(); ++dim) {
    slot = slot ? c.mul(slot, type.getDimSize(dim)) : Value();
    slot = slot ? c.add(slot, view.offsets[dim]) : view.offsets[dim];
  }
  return slot;
}

/// Bytes from the start of the block's shared memory to the view's slot, or multiples of them.
static Value slotOffset(LoweringContext &c, const View &view, int64_t unit = 1) {
  const SharedAllocation &allocation = c.shared.tiles.find(view.root)->second;
  Value slot = slotOf(c, view), start = c.i32(allocation.offset / unit);
  return slot ? c.add(c.mul(slot, allocation.slotBytes / unit), start) : start;
}

SharedOffset nvptx::slotStart(LoweringContext &c, const View &view) {
  const SharedAllocation &allocation = c.shared.tiles.find(view.root)->second;
  Value slot = slotOf(c, view);
  return {slot ? c.mul(slot, allocation.slotBytes) : c.i32(0), allocation.offset};
}

Value nvptx::engineOffset(LoweringContext &c, const View &view, int64_t unit) {
  int64_t span = layout::spanBytes(c.shared.tiles.find(view.root)->second.layout.swizzle);
  Value row = view.offsets[view.offsets.size() - 2];
  return c.add(slotOffset(c, view, unit), c.mul(row, span / unit));
}

Value nvptx::engineAddress(LoweringContext &c, const View &view) {
  return sharedAddress(c, engineOffset(c, view));
}

Value nvptx::rowOffset(LoweringContext &c, const View &view) {
  const layout::SharedTile &tile = c.shared.tiles.find(view.root)->second.layout;
  unsigned rank = view.offsets.size();
  Value element = view.offsets[rank - 1];
  if (rank > 1)
    element = c.add(c.mul(view.offsets[rank - 2], tile.cols), element);
  return c.add(slotOffset(c, view), c.mul(element, tile.elementBits / 8));
}

Value nvptx::sharedPointer(LoweringContext &c, Value offset) {
  return LLVM::GEPOp::create(c.builder, c.loc, c.shared.base.getType(), c.builder.getI8Type(),
                             c.shared.base, ArrayRef<LLVM::GEPArg>{offset});
}

Value nvptx::sharedAddress(LoweringContext &c, Value offset) {
  return c.add(c.shared.base32, offset);
}

Value nvptx::barrierAddress(LoweringContext &c, Value barriers, Value index) {
  return sharedAddress(c, c.add(c.mul(c.asI32(index), 8), c.shared.barriers.lookup(barriers)));
}

/// The offset of an element in its slot, or in the block's shared memory.
static SharedOffset elementOffset(LoweringContext &c, const View &view, ArrayRef<Value> at,
                                  ArrayRef<int64_t> offset, const layout::Distribution *layout,
                                  bool inSlot) {
  const SharedAllocation &allocation = c.shared.tiles.find(view.root)->second;
  const layout::SharedTile &tile = allocation.layout;
  size_t rank = view.offsets.size();
  int64_t bytes = tile.elementBits / 8, piece = 16 / bytes;
  View element = view;
  int64_t inRow = 0;
  for (size_t dim = 0; dim < view.dims.size(); ++dim) {
    size_t along = view.dims[dim];
    int64_t rest = offset[dim];
    // A constant along rows becomes part of the address, unless it may lead out of a
    // piece that the swizzle moves as a whole.
    if (along + 1 == rank) {
      auto start = getConstantIntValue(view.offsets[along]);
      bool stays = layout && start && *start % piece == 0 &&
                   layout->largestRemainder(unsigned(dim), piece) + rest % piece < piece;
      if (tile.linear || stays) {
        inRow = rest;
        rest = 0;
      }
    }
    element.offsets[along] = c.add(element.offsets[along], c.add(at[dim], rest));
  }
  Value row = rank > 1 ? element.offsets[rank - 2] : c.i32(0);
  Value col = rank ? element.offsets[rank - 1] : c.i32(0);
  Value start = inSlot ? c.i32(0) : slotOffset(c, element);
  if (tile.linear) {
    Value index = c.add(c.mul(row, tile.cols), col);
    return {c.add(start, c.mul(index, bytes)), inRow * bytes};
  }
  // Within a chunk, pieces of 16 bytes change places; what is inside of a piece
  // stays in order, so that neighbors can be accessed together.
  int64_t span = layout::spanBytes(tile.swizzle);
  Value column = c.add(col, inRow / piece * piece);
  Value chunk = c.builder.createOrFold<arith::DivUIOp>(c.loc, column, c.i32(tile.chunkCols()));
  Value inChunk = c.builder.createOrFold<arith::RemUIOp>(c.loc, column, c.i32(tile.chunkCols()));
  Value pieceBytes = c.andBits(c.mul(inChunk, bytes), ~int64_t(15) & 0xffffffff);
  Value rest = c.andBits(c.mul(inChunk, bytes), 15);
  if (tile.swizzle != layout::Swizzle::None) {
    // The pattern follows the address, so that chunks of a few rows begin in its middle.
    Value line = c.mul(row, span);
    if (tile.chunkBytes() % layout::repeatBytes(tile.swizzle))
      line = c.add(c.mul(chunk, tile.chunkBytes()), line);
    Value turn = c.andBits(c.shiftRight(line, 7), span / 16 - 1);
    pieceBytes = c.builder.createOrFold<arith::XOrIOp>(c.loc, pieceBytes, c.mul(turn, 16));
  }
  Value address = c.add(start, c.mul(chunk, tile.chunkBytes()));
  address = c.add(address, c.mul(row, span));
  address = c.add(c.add(address, pieceBytes), rest);
  return {address, inRow % piece * bytes};
}

SharedOffset nvptx::offsetInSlot(LoweringContext &c, const View &view, ArrayRef<Value> at,
                                 ArrayRef<int64_t> offset) {
  return elementOffset(c, view, at, offset, /*layout=*/nullptr, /*inSlot=*/true);
}

Value nvptx::sharedElement(LoweringContext &c, const View &view, ArrayRef<Value> at,
                           ArrayRef<int64_t> offset, const layout::Distribution *layout) {
  SharedOffset element = elementOffset(c, view, at, offset, layout, /*inSlot=*/false);
  return LLVM::GEPOp::create(c.builder, c.loc, c.shared.base.getType(), c.builder.getI8Type(),
                             sharedPointer(c, element.bytes),
                             ArrayRef<LLVM::GEPArg>{int32_t(element.constant)});
}

int64_t nvptx::together(LoweringContext &c, const layout::Distribution &layout, Value tile) {
  View view = viewOf(c, tile);
  auto found = c.shared.tiles.find(view.root);
  if (found == c.shared.tiles.end() || view.dims.empty() ||
      view.dims.back() + 1 != view.offsets.size())
    return 1;
  // Pieces of 16 bytes stay together, whatever the swizzle; rows of plain tiles
  // begin where the one before ends.
  const layout::SharedTile &stored = found->second.layout;
  int64_t run = std::min<int64_t>(layout.run(), 128 / stored.elementBits);
  auto first = getConstantIntValue(view.offsets.back());
  while (run > 1 && (!first || *first % run || stored.cols % run))
    run /= 2;
  return run;
}

int64_t nvptx::neighborsFrom(LoweringContext &c, const layout::Distribution &layout, Value tile,
                             ArrayRef<int64_t> offset) {
  int64_t run = together(c, layout, tile);
  while (offset.back() % run)
    run /= 2;
  return run;
}
