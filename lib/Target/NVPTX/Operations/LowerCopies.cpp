//===- LowerCopies.cpp - Copies by TMA, and cluster launch control --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/PackedElements.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Operations/Operations.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "Target/NVPTX/Threads/Tensors.h"
#include "Target/NVPTX/Threads/Views.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

namespace {

/// Part of a tile that one instruction copies.
struct Box {
  int64_t row, col, byte;
  int64_t offset(unsigned dim, unsigned rank, Extents dims) const {
    return dim + 1 == rank ? col : dim == rowDim(rank, dims) ? row : 0;
  }
};

/// Chunks of columns, and of those as many rows as a box can have.
SmallVector<Box> boxesOf(const layout::SharedTile &tile, ArrayRef<int64_t> shape, Extents ofRows) {
  if (shape.size() > 2) // scales, in one box
    return {{0, 0, 0}};
  SmallVector<Box> boxes;
  int64_t rows = shape[0], step = ofRows ? rows : layout::tmaBoxRows(rows);
  for (int64_t chunk = 0; chunk < tile.chunks(); ++chunk)
    for (int64_t row = 0; row < rows; row += step)
      boxes.push_back({row, chunk * tile.chunkCols(),
                       chunk * tile.chunkBytes() + row * layout::spanBytes(tile.swizzle)});
  return boxes;
}

} // namespace

/// CUtensorMapDataType of an element.
static unsigned mapType(Type element) {
  if (element.isF16())
    return 6;
  if (element.isF32())
    return 7;
  if (element.isF64())
    return 8;
  if (element.isBF16())
    return 9;
  switch (element.getIntOrFloatBitWidth()) {
  case 8:
    return 0;
  case 16:
    return 1;
  case 32:
    return 3;
  default:
    return 4; // unsigned: TMA adds no signed integers of 64 bits, and the sums are the same
  }
}

/// The same of packed values that are padded to 16 bytes for 16 of them.
static unsigned paddedMapType(tile::Packing packing) {
  return tile::bitsOf(packing) == 6 ? 15 : 14;
}

/// Returns the address of the tensor map for boxes of this tile.
static Value tensorMap(LoweringContext &c, Value tensor, Value tile, Extents dims, Extents rows,
                       std::optional<tile::Packing> padding = std::nullopt) {
  View view = viewOf(c, tile);
  const layout::SharedTile &layout = c.shared.tiles.find(view.root)->second.layout;
  auto type = cast<MemRefType>(tensor.getType());
  TensorMapRecipe recipe;
  recipe.argument = cast<BlockArgument>(tensor).getArgNumber() - 1;
  recipe.dataType = padding ? paddedMapType(*padding) : mapType(type.getElementType());
  size_t rank = size_t(type.getRank());
  recipe.box.resize(rank, 1);
  recipe.box[0] = uint32_t(layout.chunkCols());
  if (size_t tileRank = view.shape.size(); tileRank > 2) // all of it at once
    for (size_t dim = 0; dim < tileRank; ++dim)
      recipe.box[dim] = uint32_t(view.shape[tileRank - 1 - dim]);
  else if (rows)
    for (size_t i = 0; i < rows->size(); ++i)
      recipe.box[rank - 1 - rowDim(rank, dims, *rows, i)] = uint32_t((*rows)[i]);
  else
    recipe.box[rank - 1 - rowDim(rank, dims)] = uint32_t(layout::tmaBoxRows(view.shape[0]));
  recipe.swizzle = layout::tensorMapCode(layout.swizzle);
  if (padding) // the map counts boxes of values
    needRows(c, tensor, 32, unsigned(nv::paddedBox * tile::bitsOf(*padding) / 8));
  else
    needRows(c, tensor, 16);
  unsigned number = unsigned(llvm::find(c.result.maps, recipe) - c.result.maps.begin());
  if (number == c.result.maps.size()) {
    c.result.maps.push_back(recipe);
    unsigned offset = (c.result.parameterBytes + 63) / 64 * 64;
    c.result.fields.push_back({ParameterField::Map, number, 0, offset});
    c.result.parameterBytes = offset + 128;
  }
  return parameter(c, ParameterField::Map, number);
}

/// Returns the policy of the L2 cache, as copies take it.
static Value cachePolicy(LoweringContext &c, StringRef name) {
  return c.ptxValue(c.builder.getI64Type(),
                    ("createpolicy.fractional.L2::" + name + ".b64 $0, 1.0;").str());
}

/// Returns the state space of the destination of loads. For destinations in clusters, ptxas calls a
/// function on GPUs that have none.
static const char *loadSpace(const LoweringContext &c) {
  return c.architecture.limits.clusterBlocks > 1 ? "shared::cluster" : "shared::cta";
}

static void lowerTmaLoad(LoweringContext &c, nv::TmaLoadOp op) {
  View view = viewOf(c, op.getTarget());
  const layout::SharedTile &tile = c.shared.tiles.lookup(view.root).layout;
  unsigned rank = op.getOffsets().size();
  Value map =
      tensorMap(c, op.getSource(), op.getTarget(), op.getDims(), op.getRows(), op.getPadding());
  Value barrier = barrierAddress(c, op.getBarriers(), op.getIndex());
  if (c.mode.pair) // of the first block: the rank is bit 24 of an address
    barrier = c.andBits(barrier, 0xfeffffff);
  Value first = engineAddress(c, view);
  SmallVector<Value> offsets =
      c.mode.tileProgram ? c.coordinates(op.getOffsets()) : SmallVector<Value>();
  if (!c.mode.tileProgram) // explicit kernels slice tensors in their innermost loops
    for (Value offset : op.getOffsets())
      offsets.push_back(c.asI32(offset));
  for (const Box &box : boxesOf(tile, view.shape, op.getRows())) {
    SmallVector<Value> operands = {c.add(first, box.byte), map};
    for (unsigned dim = rank; dim-- > 0;)
      operands.push_back(c.add(offsets[dim], box.offset(dim, rank, op.getDims())));
    operands.push_back(barrier);
    std::string kind = c.mode.pair ? ".cta_group::2" : "", rest;
    auto append = [&](Value operand) {
      rest += ", $" + std::to_string(operands.size());
      operands.push_back(operand);
    };
    if (op.getMulticast()) {
      kind = ".multicast::cluster" + kind;
      append(c.asI16(op.getMulticast()));
    }
    if (auto cache = op.getCache()) {
      kind += ".L2::cache_hint";
      append(cachePolicy(c, *cache));
    }
    c.ptx("cp.async.bulk.tensor." + std::to_string(rank) + "d." + loadSpace(c) +
              ".global.tile.mbarrier::complete_tx::bytes" + kind + " [$0], [$1, " +
              operandList(2, rank) + "], [$" + std::to_string(2 + rank) + "]" + rest + ";",
          operands);
  }
}

static void lowerTmaStore(LoweringContext &c, nv::TmaStoreOp op) {
  View view = viewOf(c, op.getSource());
  const layout::SharedTile &tile = c.shared.tiles.lookup(view.root).layout;
  unsigned rank = op.getOffsets().size();
  Value map = tensorMap(c, op.getTarget(), op.getSource(), op.getDims(), op.getRows());
  Value first = engineAddress(c, view);
  for (const Box &box : boxesOf(tile, view.shape, op.getRows())) {
    SmallVector<Value> operands = {map};
    for (unsigned dim = rank; dim-- > 0;)
      operands.push_back(c.add(c.asI32(op.getOffsets()[dim]), box.offset(dim, rank, op.getDims())));
    operands.push_back(c.add(first, box.byte));
    std::string kind = op.getCombine() ? "." + op.getCombine()->str() + ".tile.bulk_group"
                                       : ".tile.bulk_group",
                rest;
    if (auto cache = op.getCache()) {
      kind += ".L2::cache_hint";
      rest = ", $" + std::to_string(2 + rank);
      operands.push_back(cachePolicy(c, *cache));
    }
    c.ptx((op.getCombine() ? "cp.reduce.async.bulk.tensor." : "cp.async.bulk.tensor.") +
              std::to_string(rank) + "d.global.shared::cta" + kind + " [$0, " +
              operandList(1, rank) + "], [$" + std::to_string(1 + rank) + "]" + rest + ";",
          operands);
  }
}

static void lowerClcRequest(LoweringContext &c, nv::ClcRequestOp op) {
  std::string all = op.getMulticast() ? ".multicast::cluster::all" : "";
  c.ptx("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes" + all +
            ".b128 [$0], [$1];",
        {sharedAddress(c, rowOffset(c, viewOf(c, op.getAnswer()))),
         barrierAddress(c, op.getBarriers(), op.getIndex())});
}

static void lowerClcAnswer(LoweringContext &c, nv::ClcAnswerOp op) {
  Value address = sharedAddress(c, rowOffset(c, viewOf(c, op.getAnswer())));
  Type word = c.builder.getI32Type();
  SmallVector<Value> answer = c.inlinePtx().earlyOutput(word).earlyOutput(word).input(address).emit(
      "{ .reg .b128 answer; .reg .pred granted; .reg .b32 y, z, w; mov.b32 $1, 0; "
      "ld.shared.b128 answer, [$2]; "
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 granted, answer; "
      "selp.b32 $0, 1, 0, granted; "
      "@granted clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {$1, y, z, w}, "
      "answer; }",
      PtxEffects::Memory);
  op.getGranted().replaceAllUsesWith(c.cmp(arith::CmpIPredicate::ne, answer[0], c.i32(0)));
  op.getBlock().replaceAllUsesWith(c.asIndex(answer[1]));
}

static void lowerTmaWait(LoweringContext &c, nv::TmaWaitOp op) {
  c.ptx(("cp.async.bulk.wait_group" + Twine(op.getRead() ? ".read " : " ") +
         Twine(op.getPending()) + ";")
            .str());
}

void nvptx::addCopies(LoweringTable &table) {
  table.add<lowerTmaLoad>();
  table.add<lowerTmaStore>();
  table.addPtx<nv::TmaCommitOp>("cp.async.bulk.commit_group;");
  table.add<lowerTmaWait>();
  table.add<lowerClcRequest>();
  table.add<lowerClcAnswer>();
}
