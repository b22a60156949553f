//===- VerifyCopies.cpp - Verifiers of copies -----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of NVCopyOps.td: TMA, cp.async, and answers of cluster launch control.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/OperandChecks.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/PackedElements.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nv;
using tile::describe;
using tile::emitCoded;

static LogicalResult verifyCache(Operation *op, std::optional<StringRef> cache) {
  if (!cache || *cache == "evict_first" || *cache == "evict_normal" || *cache == "evict_last")
    return success();
  return fail(emitCoded(op, OpForm) << "\"" << *cache << "\" says nothing to the cache",
              "evict_first, evict_normal and evict_last do");
}

using Dims = std::optional<ArrayRef<int64_t>>;

/// The extents of a box whose rows are those of a tile of rank 2.
static LogicalResult verifyRows(Operation *op, Value tile, Dims rows) {
  int64_t product = 1;
  for (int64_t extent : *rows)
    product = extent < 1 || extent > typeOf(tile).getDimSize(0) ? 0 : product * extent;
  if (rows->size() >= 2 && rows->size() <= 4 && product == typeOf(tile).getDimSize(0))
    return success();
  return fail(emitCoded(op, HardwareShape) << "`rows` does not give the rows of " << describe(tile),
              "name two to four extents, whose product is the number of rows");
}

/// A box of a tensor and a shared tile, as an engine copies them, or threads some
/// bytes at a time.
static LogicalResult verifyBox(Operation *op, Value tensor, ValueRange offsets, Value tile,
                               Dims dims, Dims ofRows, bool byTma, int64_t bytes = 16,
                               std::optional<tile::Packing> padding = std::nullopt) {
  if (failed(verifySpace(op, tensor, tile::Space::Global, "tensor")) ||
      failed(verifySpace(op, tile, tile::Space::Shared, "tile")))
    return failure();
  MemRefType tensorType = typeOf(tensor), tileType = typeOf(tile);
  if (tensorType.getRank() != int64_t(offsets.size()))
    return fail(emitCoded(op, OffsetCount)
                << describe(tensor) << " has rank " << tensorType.getRank() << " and "
                << offsets.size() << " offsets are given");
  if (tensorType.getElementType() != tileType.getElementType())
    return fail(emitCoded(op, ElementMismatch)
                << describe(tensor) << " and " << describe(tile)
                << " hold different elements; an engine copies without converting");
  // Scales are rows of 16 bytes, which lie in shared memory as in a box of all their dimensions.
  bool scales = byTma && tileType.getRank() == 4 && tileType.getDimSize(3) == 16 &&
                tileType.getElementTypeBitWidth() == 8;
  int64_t boxRank = scales ? 4 : !byTma && tileType.getRank() == 1 ? 1 : 2;
  if (((boxRank == 2 || ofRows) && failed(verifyRank2(op, tile, "tile"))) ||
      (ofRows && failed(verifyRows(op, tile, ofRows))) ||
      failed(verifyPartOfSlot(op, tile, "tile", byTma ? Part::Rows : Part::Whole)))
    return failure();
  if (ofRows)
    boxRank = int64_t(ofRows->size()) + 1;
  if (isTransposed(tile))
    return fail(emitCoded(op, HardwareShape)
                    << "`" << op->getName().stripDialect() << "` copies rows to rows, and "
                    << describe(tile) << " is transposed",
                "copy the tile as it is, and transpose it where it is multiplied");
  if (tensorType.getRank() < boxRank || tensorType.getRank() > 5)
    return fail(emitCoded(op, HardwareShape)
                << describe(tensor) << " has rank " << tensorType.getRank() << "; tensors of rank "
                << boxRank << " to 5 are copied");
  int64_t last = tensorType.getRank() - 1;
  if (scales && dims)
    return fail(emitCoded(op, HardwareShape)
                    << "`" << op->getName().stripDialect()
                    << "` copies scales along the last dimensions of " << describe(tensor),
                "leave .dims(..) out");
  if (dims && (int64_t(dims->size()) != boxRank || dims->back() != last || dims->front() < 0 ||
               !llvm::is_sorted(*dims, std::less_equal<int64_t>())))
    return fail(emitCoded(op, HardwareShape)
                    << "`" << op->getName().stripDialect()
                    << "` copies rows, whose elements lie along the last dimension of "
                    << describe(tensor),
                (ofRows ? "name " + std::to_string(boxRank) + " dimensions, the last of them "
                        : std::string("name two dimensions, the second of them ")) +
                    std::to_string(last) + "; or copy with b.copy");
  if (tileType.getShape().back() * tileType.getElementTypeBitWidth() % (8 * bytes))
    return fail(emitCoded(op, HardwareShape) << "the rows of " << describe(tile)
                                             << " are not multiples of " << bytes << " bytes",
                byTma ? "engines copy 16 bytes at a time"
                      : "threads copy 16 bytes at a time, or with {.bytes = ..} 8 or 4");
  if (!byTma)
    return success();
  auto layout = sharedLayoutOf(tileType);
  // Rows of 128 padded values fill the widest swizzle, the only one that their boxes have.
  if (padding && (!tile::isPadded(*padding) || ofRows || !tileType.getElementType().isInteger(8) ||
                  tileType.getDimSize(1) % paddedBox))
    return fail(emitCoded(op, HardwareShape)
                    << "`tma.load` does not pad values to " << describe(tile),
                "its rows are multiples of " + std::to_string(paddedBox) + " bytes");
  constexpr int64_t boxAlignment = 128;
  // A part has the columns of its tile, with the same distances.
  Value root = tile::rootOf(tile);
  if (auto whole = sharedLayoutOf(typeOf(root));
      whole && layout->chunks() > 1 && whole->chunkBytes() % boxAlignment)
    return fail(emitCoded(op, HardwareShape)
                    << describe(root) << " lies in " << whole->chunks() << " boxes of "
                    << whole->chunkBytes() << " bytes; each must begin at a multiple of "
                    << boxAlignment,
                "give it a multiple of 8 rows");
  if (scales) {
    ArrayRef<int64_t> shape = tileType.getShape();
    if (auto rule = layout::refuseTmaBox(8, {shape[3], shape[2], shape[1], shape[0]},
                                         layout::Swizzle::None))
      return fail(emitCoded(op, HardwareShape)
                  << describe(tile) << " is not a legal TMA box: " << *rule);
    return success();
  }
  int64_t rows = layout::tmaBoxRows(layout->rows);
  std::vector<int64_t> box = {layout->chunkCols(), rows ? rows : layout->rows};
  if (ofRows) {
    box.pop_back();
    box.insert(box.end(), ofRows->rbegin(), ofRows->rend());
  }
  if (auto rule = layout::refuseTmaBox(layout->elementBits, box, layout->swizzle))
    return fail(emitCoded(op, HardwareShape)
                << describe(tile) << " is not a legal TMA box: " << *rule);
  return success();
}

LogicalResult TmaLoadOp::verify() {
  if (failed(verifyBox(*this, getSource(), getOffsets(), getTarget(), getDims(), getRows(), true,
                       16, getPadding())) ||
      failed(verifyMulticast(*this, getMulticast())) || failed(verifyCache(*this, getCache())))
    return failure();
  return verifyIndex(*this, getBarriers(), getIndex());
}

/// Verifies the reduction of a store.
static LogicalResult verifyCombination(TmaStoreOp op) {
  auto how = op.getCombine();
  if (!how)
    return success();
  if (*how != "add" && *how != "min" && *how != "max")
    return fail(emitCoded(op, OpForm) << "TMA does not combine elements by \"" << *how << "\"",
                "it adds them, or keeps the smaller or larger ones");
  Type element = typeOf(op.getSource()).getElementType();
  bool added = element.isF32() || element.isInteger(32) || element.isInteger(64);
  if (element.isF16() || element.isBF16() || (added && *how == "add"))
    return success();
  return fail(emitCoded(op, AtomicElement) << "TMA does not combine elements of "
                                           << describe(op.getSource()) << " by \"" << *how << "\"",
              "f16 and bf16 are added and compared; f32, i32 and i64 are added");
}

LogicalResult TmaStoreOp::verify() {
  auto argument = dyn_cast<BlockArgument>(getTarget());
  auto kernel =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  auto access = kernel ? kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                             tile::TileDialect::accessAttr)
                       : StringAttr();
  if (access && access == "in")
    return fail(emitCoded(*this, WriteToInput) << "`tma.store` writes to " << describe(getTarget())
                                               << ", which the kernel declares as an input",
                "declare the argument as Out<..> or InOut<..>");
  if (failed(verifyCache(*this, getCache())) || failed(verifyCombination(*this)))
    return failure();
  return verifyBox(*this, getTarget(), getOffsets(), getSource(), getDims(), getRows(), true);
}

LogicalResult TmaWaitOp::verify() { return verifyGroups(*this, getPending(), 63); }

LogicalResult AsyncCopyOp::verify() {
  int64_t bytes = getBytes();
  if ((bytes != 4 && bytes != 8 && bytes != 16) ||
      bytes * 8 < typeOf(getTarget()).getElementTypeBitWidth())
    return fail(emitCoded(*this, HardwareShape) << "`cp_async` of " << bytes << " bytes of "
                                                << describe(getTarget()) << " at a time",
                "4, 8 or 16 bytes are copied, and at least one element");
  return verifyBox(*this, getSource(), getOffsets(), getTarget(), getDims(), getRows(), false,
                   bytes);
}

LogicalResult AsyncArriveOp::verify() { return verifyIndex(*this, getBarriers(), getIndex()); }

LogicalResult AsyncWaitOp::verify() { return verifyGroups(*this, getPending(), 63); }

/// Verifies the destination of a 16-byte answer.
static LogicalResult verifyAnswer(Operation *op, Value tile) {
  MemRefType type = typeOf(tile);
  if (tile::spaceOf(type) == tile::Space::Shared && type.getRank() == 1 &&
      type.getDimSize(0) == 4 && type.getElementType().isInteger(32))
    return success();
  return fail(emitCoded(op, HardwareShape)
                  << "an answer of the launch control arrives in " << describe(tile),
              "it takes a shared tile of four i32, or such a row of one");
}

LogicalResult ClcRequestOp::verify() {
  if (failed(verifyAnswer(*this, getAnswer())))
    return failure();
  return verifyIndex(*this, getBarriers(), getIndex());
}

LogicalResult ClcAnswerOp::verify() { return verifyAnswer(*this, getAnswer()); }

LogicalResult ClcWorkOp::verify() {
  if (getFirst().size() != getCoordinates().size())
    return emitCoded(*this, HardwareShape)
           << "has " << getCoordinates().size() << " coordinates of " << getFirst().size();
  Operation *loop = (*this)->getParentOp();
  while (loop && !loop->hasAttr(NVDialect::takesOverAttr))
    loop = loop->getParentOp();
  if (!loop)
    return emitCoded(*this, HardwareShape) << "is in no loop over blocks that are taken over";
  return success();
}
