//===- LowerCopies.cpp - Copies by TMA and by threads ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Lowering.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

/// "{$1, $2}" for coordinates that are operands from \p first on.
static std::string coordinateText(unsigned first, unsigned rank) {
  std::string text = "{";
  for (unsigned i = 0; i < rank; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}

namespace {

/// What one instruction copies of a tile.
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

void Lowering::lowerTmaLoad(nv::TmaLoadOp op, const ExecutionScope &) {
  View view = viewOf(op.getTarget());
  const layout::SharedTile &tile = shared.lookup(view.root).layout;
  unsigned rank = op.getOffsets().size();
  Value map =
      tensorMap(op.getSource(), op.getTarget(), op.getDims(), op.getRows(), op.getPadding());
  Value barrier = sharedAddress(barrierOffset(op.getBarriers(), op.getIndex()));
  if (pair) // of the first block: the rank is bit 24 of an address
    barrier = andBits(barrier, 0xfeffffff);
  Value first = engineAddress(view);
  SmallVector<Value> offsets = inOrder ? coordinates(op.getOffsets()) : SmallVector<Value>();
  if (!inOrder) // explicit kernels slice tensors in their innermost loops
    for (Value offset : op.getOffsets())
      offsets.push_back(asI32(offset));
  for (const Box &box : boxesOf(tile, view.shape, op.getRows())) {
    SmallVector<Value> operands = {add(first, box.byte), map};
    for (unsigned dim = rank; dim-- > 0;)
      operands.push_back(add(offsets[dim], box.offset(dim, rank, op.getDims())));
    operands.push_back(barrier);
    std::string kind = pair ? ".cta_group::2" : "", rest;
    auto append = [&](Value operand) {
      rest += ", $" + std::to_string(operands.size());
      operands.push_back(operand);
    };
    if (op.getMulticast()) {
      kind = ".multicast::cluster" + kind;
      append(blockMask(op.getMulticast()));
    }
    if (auto cache = op.getCache()) {
      kind += ".L2::cache_hint";
      append(cachePolicy(*cache));
    }
    ptx("cp.async.bulk.tensor." + std::to_string(rank) +
            "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" + kind + " [$0], [$1, " +
            coordinateText(2, rank) + "], [$" + std::to_string(2 + rank) + "]" + rest + ";",
        operands);
  }
}

void Lowering::lowerTmaStore(nv::TmaStoreOp op, const ExecutionScope &) {
  View view = viewOf(op.getSource());
  const layout::SharedTile &tile = shared.lookup(view.root).layout;
  unsigned rank = op.getOffsets().size();
  Value map = tensorMap(op.getTarget(), op.getSource(), op.getDims(), op.getRows());
  Value first = engineAddress(view);
  for (const Box &box : boxesOf(tile, view.shape, op.getRows())) {
    SmallVector<Value> operands = {map};
    for (unsigned dim = rank; dim-- > 0;)
      operands.push_back(add(asI32(op.getOffsets()[dim]), box.offset(dim, rank, op.getDims())));
    operands.push_back(add(first, box.byte));
    std::string kind = op.getCombine() ? "." + op.getCombine()->str() + ".tile.bulk_group"
                                       : ".tile.bulk_group",
                rest;
    if (auto cache = op.getCache()) {
      kind += ".L2::cache_hint";
      rest = ", $" + std::to_string(2 + rank);
      operands.push_back(cachePolicy(*cache));
    }
    ptx((op.getCombine() ? "cp.reduce.async.bulk.tensor." : "cp.async.bulk.tensor.") +
            std::to_string(rank) + "d.global.shared::cta" + kind + " [$0, " +
            coordinateText(1, rank) + "], [$" + std::to_string(1 + rank) + "]" + rest + ";",
        operands);
  }
}

Value Lowering::cachePolicy(StringRef name) {
  return ptxValue(builder.getI64Type(),
                  ("createpolicy.fractional.L2::" + name + ".b64 $0, 1.0;").str());
}

void Lowering::lowerClcRequest(nv::ClcRequestOp op) {
  std::string all = op.getMulticast() ? ".multicast::cluster::all" : "";
  ptx("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes" + all +
          ".b128 [$0], [$1];",
      {sharedAddress(rowOffset(viewOf(op.getAnswer()))),
       sharedAddress(barrierOffset(op.getBarriers(), op.getIndex()))});
}

void Lowering::lowerClcAnswer(nv::ClcAnswerOp op) {
  Value address = sharedAddress(rowOffset(viewOf(op.getAnswer())));
  Type word = builder.getI32Type();
  SmallVector<Value> answer = inlinePtx().earlyOutput(word).earlyOutput(word).input(address).emit(
      "{ .reg .b128 answer; .reg .pred granted; .reg .b32 y, z, w; mov.b32 $1, 0; "
      "ld.shared.b128 answer, [$2]; "
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 granted, answer; "
      "selp.b32 $0, 1, 0, granted; "
      "@granted clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {$1, y, z, w}, "
      "answer; }",
      PtxEffects::Memory);
  op.getGranted().replaceAllUsesWith(cmp(arith::CmpIPredicate::ne, answer[0], i32(0)));
  op.getBlock().replaceAllUsesWith(asIndex(answer[1]));
}

/// Each thread copies pieces of 16 bytes or fewer, consecutive threads along a row.
/// What lies outside of the tensor is filled with zeros by the instruction itself.
LogicalResult Lowering::lowerAsyncCopy(nv::AsyncCopyOp op, const ExecutionScope &by) {
  View view = viewOf(op.getTarget());
  auto type = cast<MemRefType>(op.getTarget().getType());
  int64_t piece = op.getBytes();
  int64_t bytes = type.getElementTypeBitWidth() / 8, vector = piece / bytes;
  std::string kind = piece < 16 || op.getL1() ? "cp.async.ca" : "cp.async.cg";
  int64_t threads = by.scope.warps * nv::warpSize;
  layout::Distribution layout =
      layout::blocked({type.getShape().begin(), type.getShape().end()}, threads, vector);
  SmallVector<Value> base = baseOf(layout, by);
  unsigned rank = op.getOffsets().size();
  bool hasRows = type.getRank() == 2;
  int64_t oneExtent[] = {0}; // that of rows along one dimension does not matter
  ArrayRef<int64_t> rows = op.getRows().value_or(ArrayRef<int64_t>(oneExtent));
  needRows(op.getSource(), unsigned(piece));
  Value width = asI32(tensorSize(op.getSource(), rank - 1));
  SmallVector<Value> indices = coordinates(op.getOffsets());
  SmallVector<Value> start = indices;
  SmallVector<int64_t> zeros(base.size(), 0);
  for (int64_t reg = 0; reg < layout.registers(); reg += vector) {
    auto offset = layout.offsetOf(reg);
    SmallVector<Value> inTile;
    for (auto [thread, own] : llvm::zip(base, offset))
      inTile.push_back(add(thread, own));
    auto copy = [&] {
      if (hasRows)
        for (auto [i, at] : llvm::enumerate(inRows(inTile.front(), rows))) {
          size_t dim = rowDim(rank, op.getDims(), rows, i);
          indices[dim] = add(start[dim], at);
        }
      indices[rank - 1] = add(start[rank - 1], inTile.back());
      // Elements of the piece that lie in the tensor: pieces do not lie across its edge at
      // the left, where they begin at multiples of their size.
      Value left = arith::SubIOp::create(builder, loc, width, indices[rank - 1]);
      left = arith::MinSIOp::create(builder, loc, left, i32(vector));
      Value inside;
      for (unsigned dim = 0; dim < rank; ++dim) {
        Value here =
            cmp(arith::CmpIPredicate::ult, indices[dim], asI32(tensorSize(op.getSource(), dim)));
        inside = inside ? arith::AndIOp::create(builder, loc, inside, here).getResult() : here;
      }
      Value present = arith::SelectOp::create(builder, loc, inside, mul(left, bytes), i32(0));
      // An address outside is not read, but must still be an address.
      Value any = cmp(arith::CmpIPredicate::ne, present, i32(0));
      SmallVector<Value> at;
      for (Value index : indices)
        at.push_back(arith::SelectOp::create(builder, loc, any, index, i32(0)));
      Value from = LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(),
                                            globalElement(op.getSource(), at));
      Value to = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(),
                                          sharedElement(view, inTile, zeros));
      ptx(kind + ".shared.global [$0], [$1], " + std::to_string(piece) + ", $2;",
          {to, from, present});
    };
    when(holdsElement(layout, base, offset), copy);
  }
  return success();
}
