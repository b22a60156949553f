//===- NVOps.cpp - What the hardware takes and what it refuses ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/TileTypes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nv;
using tile::describe;
using tile::emitCoded;

#define GET_OP_CLASSES
#include "Dialect/NV/NVOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

static LogicalResult fail(InFlightDiagnostic diagnostic, const Twine &help = {}) {
  if (!help.isTriviallyEmpty())
    tile::attachHelp(diagnostic) << help;
  return diagnostic;
}

static MemRefType typeOf(Value memref) { return cast<MemRefType>(memref.getType()); }

static LogicalResult verifySpace(Operation *op, Value memref, tile::Space space, StringRef role) {
  if (tile::spaceOf(typeOf(memref)) == space)
    return success();
  return fail(emitCoded(op, SpaceMismatch)
              << "the " << role << " of `" << op->getName().stripDialect() << "` is "
              << describe(memref) << "; it must be in the " << tile::stringifySpace(space).str()
              << " space");
}

static LogicalResult verifyRank2(Operation *op, Value memref, StringRef role) {
  if (typeOf(memref).getRank() == 2)
    return success();
  return fail(emitCoded(op, HardwareShape)
                  << "the " << role << " of `" << op->getName().stripDialect() << "` is "
                  << describe(memref) << "; it must have rows and columns",
              "take one slot of a ring with tile[slot]");
}

/// Rows of a tile that one pattern of a swizzle takes.
static constexpr int64_t patternRows = 8;

/// Which rows of a slot an engine takes.
enum class Rows { All, Patterns, KnownPatterns };

/// Engines take a tile in the layout of its whole slot. They can leave out rows, as long as
/// patterns of the swizzle stay whole: of copies that is the user's word, of products it must
/// be known.
static LogicalResult verifyWholeSlot(Operation *op, Value memref, StringRef role,
                                     Rows rows = Rows::All) {
  for (Value view = memref; Operation *from = view.getDefiningOp();) {
    if (isa<memref::TransposeOp, memref::CastOp>(from)) {
      view = from->getOperand(0);
      continue;
    }
    auto slice = dyn_cast<memref::SubViewOp>(from);
    if (!slice)
      break;
    ArrayRef<int64_t> shape = slice.getSourceType().getShape();
    size_t inner = std::min(size_t(slice.getType().getRank()), size_t(2));
    for (size_t dim = shape.size() - inner; dim < shape.size(); ++dim) {
      auto offset = getConstantIntValue(slice.getMixedOffsets()[dim]);
      int64_t size =
          slice.getType().getDimSize(slice.getType().getRank() - int64_t(shape.size() - dim));
      bool whole = offset == 0 && size == shape[dim];
      bool wholePatterns = rows != Rows::All && dim + 2 == shape.size() &&
                           size % patternRows == 0 &&
                           (offset ? *offset % patternRows == 0 : rows == Rows::Patterns);
      if (!whole && !wholePatterns)
        return fail(emitCoded(op, HardwareShape)
                        << "the " << role << " of `" << op->getName().stripDialect() << "`, "
                        << describe(memref) << ", is a part of a tile",
                    rows == Rows::All ? "engines take whole tiles, or whole slots of a ring"
                                      : "engines take whole rows, in multiples of 8");
    }
    view = slice.getSource();
  }
  return success();
}

static LogicalResult verifyIndex(Operation *op, Value barriers, Value index) {
  APInt value;
  int64_t count = cast<BarriersType>(barriers.getType()).getCount();
  if (matchPattern(index, m_ConstantInt(&value)) &&
      (value.getSExtValue() < 0 || value.getSExtValue() >= count))
    return fail(emitCoded(op, HardwareBarrier)
                << "barrier " << value.getSExtValue() << " does not exist; there are " << count);
  return success();
}

static LogicalResult verifyGroups(Operation *op, int64_t pending, int64_t most) {
  if (pending >= 0 && pending <= most)
    return success();
  return fail(emitCoded(op, HardwareBarrier)
              << "`" << op->getName().stripDialect() << "` cannot leave " << pending
              << " groups under way; 0 to " << most << " are possible");
}

static LogicalResult verifyCache(Operation *op, std::optional<StringRef> cache) {
  if (!cache || *cache == "evict_first" || *cache == "evict_normal" || *cache == "evict_last")
    return success();
  return fail(emitCoded(op, OpForm) << "\"" << *cache << "\" says nothing to the cache",
              "evict_first, evict_normal and evict_last do");
}

/// A box of a tensor and a shared tile, as an engine copies them, or threads some
/// bytes at a time.
static LogicalResult verifyBox(Operation *op, Value tensor, ValueRange offsets, Value tile,
                               std::optional<ArrayRef<int64_t>> dims, bool byTma,
                               int64_t bytes = 16) {
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
  int64_t boxRank = !byTma && tileType.getRank() == 1 ? 1 : 2;
  if ((boxRank == 2 && failed(verifyRank2(op, tile, "tile"))) ||
      failed(verifyWholeSlot(op, tile, "tile", byTma ? Rows::Patterns : Rows::All)))
    return failure();
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
  if (dims && (int64_t(dims->size()) != boxRank || dims->back() != last ||
               (boxRank == 2 && (dims->front() < 0 || dims->front() >= last))))
    return fail(emitCoded(op, HardwareShape)
                    << "`" << op->getName().stripDialect()
                    << "` copies rows, whose elements lie along the last dimension of "
                    << describe(tensor),
                "name two dimensions, the second of them " + std::to_string(last) +
                    "; or copy with b.copy");
  if (tileType.getShape().back() * tileType.getElementTypeBitWidth() % (8 * bytes))
    return fail(emitCoded(op, HardwareShape) << "the rows of " << describe(tile)
                                             << " are not multiples of " << bytes << " bytes",
                byTma ? "engines copy 16 bytes at a time"
                      : "threads copy 16 bytes at a time, or with {.bytes = ..} 8 or 4");
  if (!byTma)
    return success();
  auto layout = sharedLayoutOf(tileType);
  constexpr int64_t boxAlignment = 128;
  if (layout->chunks() > 1 && layout->chunkBytes() % boxAlignment)
    return fail(emitCoded(op, HardwareShape)
                    << describe(tile) << " is copied in " << layout->chunks() << " boxes of "
                    << layout->chunkBytes() << " bytes; each must begin at a multiple of "
                    << boxAlignment,
                "give it a multiple of 8 rows");
  int64_t rows = layout::tmaBoxRows(layout->rows);
  if (auto rule = layout::refuseTmaBox(
          layout->elementBits, {layout->chunkCols(), rows ? rows : layout->rows}, layout->swizzle))
    return fail(emitCoded(op, HardwareShape)
                << describe(tile) << " is not a legal TMA box: " << *rule);
  return success();
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

LogicalResult WarpsOp::verify() {
  auto kernel = (*this)->getParentOfType<func::FuncOp>();
  if ((*this)->getParentOfType<WarpsOp>() || (*this)->getParentOfType<ElectOp>())
    return fail(emitCoded(*this, HardwareScope)
                << "`warps` stands inside of another choice of threads");
  auto threads =
      kernel ? kernel->getAttrOfType<IntegerAttr>(NVDialect::threadsAttr) : IntegerAttr();
  int64_t warps = threads ? threads.getInt() / warpSize : 0;
  int64_t first = getFirst(), count = getCount();
  if (first < 0 || count < 1)
    return fail(emitCoded(*this, HardwareScope)
                    << "`warps` is asked for " << count << " warps from warp " << first << " on",
                "it takes at least one warp, and warps are counted from 0");
  if (count > warps || first > warps - count)
    return fail(emitCoded(*this, HardwareScope)
                    << "warps " << first << " to " << uint64_t(first) + uint64_t(count) - 1
                    << " are not all in a block of " << warps << " warps",
                warps ? "b.threads(..) states the number of threads"
                      : "state the number of threads first, with b.threads(..)");
  return success();
}

LogicalResult ElectOp::verify() {
  if ((*this)->getParentOfType<ElectOp>())
    return fail(emitCoded(*this, HardwareScope) << "`elect_one` stands inside of another");
  return success();
}

static LogicalResult verifyInCluster(Operation *op, const Twine &what) {
  auto kernel = op->getParentOfType<func::FuncOp>();
  if (kernel && (kernel->hasAttr(NVDialect::clusterAttr) || kernel->hasAttr(NVDialect::pairAttr)))
    return success();
  return fail(emitCoded(op, HardwareScope) << what.str() << " requires a kernel with clusters",
              "call b.cluster(blocks) or b.pair() first");
}

/// Blocks of the cluster as bits of a mask.
static LogicalResult verifyMulticast(Operation *op, Value mask) {
  if (!mask)
    return success();
  if (failed(verifyInCluster(op, "a multicast")))
    return failure();
  APInt bits;
  int64_t blocks = clusterSize(op);
  if (matchPattern(mask, m_ConstantInt(&bits)) &&
      (bits.isZero() || bits.getZExtValue() >> blocks != 0))
    return fail(emitCoded(op, HardwareScope)
                    << "a multicast to the blocks of mask " << bits.getZExtValue()
                    << " in a cluster of " << blocks,
                "bit i stands for block i of the cluster, and one is set at least");
  return success();
}

LogicalResult ClusterRankOp::verify() { return verifyInCluster(*this, "`cluster.rank`"); }
LogicalResult ClusterSyncOp::verify() { return verifyInCluster(*this, "`cluster.sync`"); }

void NamedBarrierAllocOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (auto label = getLabel())
    setName(getResult(), *label);
}

LogicalResult NamedBarrierAllocOp::verify() {
  auto kernel = (*this)->getParentOfType<func::FuncOp>();
  auto block = kernel ? kernel->getAttrOfType<IntegerAttr>(NVDialect::threadsAttr) : IntegerAttr();
  int64_t threads = getResult().getType().getThreads();
  if (threads >= warpSize && threads % warpSize == 0 && block && threads <= block.getInt())
    return success();
  return fail(emitCoded(*this, HardwareBarrier)
                  << "a named barrier for " << threads << " threads of "
                  << (block ? std::to_string(block.getInt()) : "an unknown number"),
              "whole warps of the block meet there");
}

/// All threads of the scope come, so they cannot be more than the barrier waits
/// for.
static LogicalResult verifyNamedBarrier(Operation *op, Value barrier) {
  int64_t expected = cast<NamedBarrierType>(barrier.getType()).getThreads();
  int64_t coming = scopeOf(op).warps * warpSize;
  if (coming <= expected)
    return success();
  return fail(emitCoded(op, HardwareBarrier)
              << coming << " threads come to a named barrier for " << expected);
}
LogicalResult NamedBarrierSyncOp::verify() { return verifyNamedBarrier(*this, getBarrier()); }
LogicalResult NamedBarrierArriveOp::verify() {
  if (failed(verifyNamedBarrier(*this, getBarrier())))
    return failure();
  // Somebody must be there for whom it opens.
  if (scopeOf(*this).warps * warpSize < getBarrier().getType().getThreads())
    return success();
  return fail(emitCoded(*this, HardwareBarrier)
                  << "all " << getBarrier().getType().getThreads()
                  << " threads of a named barrier arrive and none waits",
              "count the threads that wait as well: a barrier for those of both roles");
}

static LogicalResult verifyRegisters(Operation *op, int64_t count) {
  if (count % 8 || count < 24 || count > 256)
    return fail(emitCoded(op, HardwareMemory) << "`" << op->getName().stripDialect() << "` of "
                                              << count << " registers for each thread",
                "multiples of 8 from 24 to 256 are possible");
  return success();
}
LogicalResult RegistersRequestOp::verify() { return verifyRegisters(*this, getCount()); }
LogicalResult RegistersReleaseOp::verify() { return verifyRegisters(*this, getCount()); }

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void BarrierAllocOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (auto label = getLabel())
    setName(getResult(), *label);
}

LogicalResult BarrierAllocOp::verify() {
  if (getCounts().empty() || getCounts().size() > 1024 ||
      getResult().getType().getCount() != int64_t(getCounts().size()))
    return fail(emitCoded(*this, HardwareBarrier)
                << getCounts().size() << " barriers; 1 to 1024 are possible");
  for (int64_t count : getCounts())
    if (count < 1 || count >= (1 << 20))
      return fail(emitCoded(*this, HardwareBarrier)
                      << "a barrier that waits for " << count << " arrivals",
                  "a phase has between 1 and 2^20 - 1 of them");
  return success();
}

LogicalResult ArriveOp::verify() {
  APInt bytes;
  if (getBytes() && matchPattern(getBytes(), m_ConstantInt(&bytes)) &&
      (bytes.getSExtValue() < 0 || bytes.getSExtValue() >= (1 << 20)))
    return fail(emitCoded(*this, HardwareBarrier)
                    << "a phase cannot wait for " << bytes.getSExtValue() << " bytes",
                "at most 2^20 - 1 are counted");
  if (getCta()) {
    if (failed(verifyInCluster(*this, "an arrival in another block")))
      return failure();
    APInt rank;
    if (matchPattern(getCta(), m_ConstantInt(&rank)) &&
        (rank.getSExtValue() < 0 || rank.getSExtValue() >= clusterSize(*this)))
      return fail(emitCoded(*this, HardwareScope)
                  << "block " << rank.getSExtValue() << " does not exist in a cluster of "
                  << clusterSize(*this));
  }
  return verifyIndex(*this, getBarriers(), getIndex());
}

LogicalResult TryWaitOp::verify() {
  if (auto time = getNanoseconds(); time && (*time < 1 || *time > UINT32_MAX))
    return fail(emitCoded(*this, HardwareBarrier)
                    << "`mbarrier.try_wait` sleeps for " << *time << " nanoseconds",
                "the time is a positive number of 32 bits");
  return verifyIndex(*this, getBarriers(), getIndex());
}

LogicalResult WaitOp::verify() { return verifyIndex(*this, getBarriers(), getIndex()); }

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

LogicalResult TmaLoadOp::verify() {
  if (failed(verifyBox(*this, getSource(), getOffsets(), getTarget(), getDims(), true)) ||
      failed(verifyMulticast(*this, getMulticast())) || failed(verifyCache(*this, getCache())))
    return failure();
  return verifyIndex(*this, getBarriers(), getIndex());
}

/// How TMA combines elements with those of a tensor.
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
  return verifyBox(*this, getTarget(), getOffsets(), getSource(), getDims(), true);
}

LogicalResult TmaWaitOp::verify() { return verifyGroups(*this, getPending(), 63); }

LogicalResult AsyncCopyOp::verify() {
  int64_t bytes = getBytes();
  if ((bytes != 4 && bytes != 8 && bytes != 16) ||
      bytes * 8 < typeOf(getTarget()).getElementTypeBitWidth())
    return fail(emitCoded(*this, HardwareShape) << "`cp_async` of " << bytes << " bytes of "
                                                << describe(getTarget()) << " at a time",
                "4, 8 or 16 bytes are copied, and at least one element");
  return verifyBox(*this, getSource(), getOffsets(), getTarget(), getDims(), false, bytes);
}

LogicalResult AsyncArriveOp::verify() { return verifyIndex(*this, getBarriers(), getIndex()); }

LogicalResult AsyncWaitOp::verify() { return verifyGroups(*this, getPending(), 63); }

/// Where the 16 bytes of an answer arrive.
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

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// What a left operand outside of shared memory must be.
static LogicalResult verifyLeftOperand(Operation *op, Value a, bool blackwell) {
  if (failed(verifyRank2(op, a, "left operand")))
    return failure();
  int64_t bits = typeOf(a).getElementTypeBitWidth();
  if (isTransposed(a))
    return fail(emitCoded(op, HardwareShape) << "the left operand " << describe(a)
                                             << " is transposed; only one in shared memory can be");
  if (!blackwell && bits != 16)
    return fail(emitCoded(op, HardwareShape)
                    << "the left operand " << describe(a)
                    << " lies in registers and has elements of " << bits << " bits",
                "16-bit elements lie in registers as the tensor core wants them; pass others "
                "through shared memory");
  if (blackwell && (isPaired(op) || typeOf(a).getDimSize(0) != 128))
    return fail(emitCoded(op, HardwareShape)
                    << "the left operand " << describe(a) << " lies in tensor memory",
                "it has 128 rows there, and belongs to a block that multiplies alone");
  return success();
}

/// The operands where they can be, shapes that fit, types that are multiplied.
static LogicalResult verifyProduct(Operation *op, Value a, Value b, Value acc, tile::Space accSpace,
                                   bool blackwell) {
  // Hopper reads its left operand from registers too, and Blackwell from where
  // accumulators lie: on both it is the accumulator's memory.
  bool leftShared = tile::spaceOf(typeOf(a)) != accSpace;
  if (!leftShared && failed(verifyLeftOperand(op, a, blackwell)))
    return failure();
  for (auto [value, role] : {std::pair(a, "left operand"), std::pair(b, "right operand")})
    if ((value != a || leftShared) &&
        (failed(verifySpace(op, value, tile::Space::Shared, role)) ||
         failed(verifyRank2(op, value, role)) ||
         failed(verifyWholeSlot(op, value, role, Rows::KnownPatterns))))
      return failure();
  if (failed(verifySpace(op, acc, accSpace, "accumulator")) ||
      failed(verifyRank2(op, acc, "accumulator")))
    return failure();
  bool pair = blackwell && isPaired(op);
  auto product = productOf(a, b, acc, pair);
  if (!product.error.empty())
    return fail(emitCoded(op, HardwareShape) << product.error);
  int64_t rows = product.m;
  int64_t groups = blackwell ? 1 : scopeOf(op).warps / warpgroupWarps;
  if (!blackwell && groups && rows % (64 * groups))
    return fail(emitCoded(op, HardwareShape)
                << "the accumulator's " << rows << " rows are not 64, or a multiple, for each of "
                << groups << " warpgroups");
  auto rule = blackwell
                  ? layout::refuseTcgen05(pair ? 2 : 1, rows, product.n, product.a, product.b,
                                          product.d, product.aOperand.major, product.bOperand.major)
                  : layout::refuseWgmma(64, product.n, product.a, product.b, product.d,
                                        product.aOperand.major, product.bOperand.major);
  if (rule)
    return fail(emitCoded(op, HardwareShape)
                << "no instruction multiplies " << describe(a) << " and " << describe(b) << " into "
                << describe(acc) << ": " << *rule);
  if (blackwell && !leftShared && product.n % 16)
    return fail(emitCoded(op, HardwareShape)
                << "n is " << product.n << ", but a left operand in tensor memory needs a multiple "
                << "of 16");
  if (product.k % layout::instructionK(product.a))
    return fail(emitCoded(op, HardwareShape)
                << "the products' length " << product.k << " is not a multiple of the "
                << layout::instructionK(product.a) << " that one instruction takes");
  return success();
}

void TensorAllocOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (auto label = getLabel())
    setName(getResult(), *label);
}

LogicalResult TensorAllocOp::verify() {
  MemRefType type = typeOf(getResult());
  if (tile::spaceOf(type) != tile::Space::Tensor || type.getRank() != 2 || !type.hasStaticShape())
    return fail(emitCoded(*this, HardwareShape)
                << "tensor memory holds tiles with rows and columns");
  int64_t rows = type.getDimSize(0), bits = type.getElementTypeBitWidth();
  bool accumulator = bits == 32 && (rows == 64 || rows == 128);
  bool operand = bits == 16 && rows == 128 && type.getDimSize(1) % 2 == 0;
  if (!accumulator && !operand)
    return fail(emitCoded(*this, HardwareShape)
                    << describe(getResult()) << " does not fit tensor memory",
                "accumulators have 64 or 128 rows of 32-bit elements, left operands 128 rows of "
                "16- or 32-bit ones");
  int64_t columns = type.getDimSize(1) * bits / 32;
  if (columns > 512)
    return fail(emitCoded(*this, HardwareMemory) << describe(getResult()) << " has " << columns
                                                 << " columns; tensor memory has 512");
  return success();
}

/// Columns of 32 bits are addressed: 16-bit elements begin in even places. Lanes
/// are the threads', so a part has all rows.
static LogicalResult verifyCells(Operation *op, Value tile) {
  auto slice = tile.getDefiningOp<memref::SubViewOp>();
  if (!slice)
    return success();
  auto row = getConstantIntValue(slice.getMixedOffsets()[0]);
  auto col = getConstantIntValue(slice.getMixedOffsets()[1]);
  bool narrow = typeOf(tile).getElementTypeBitWidth() == 16;
  if (row == 0 && (!narrow || (col && *col % 2 == 0 && typeOf(tile).getDimSize(1) % 2 == 0)))
    return success();
  return fail(emitCoded(op, HardwareShape)
                  << describe(tile) << " does not begin in the first row of its tile, or between "
                  << "two columns of tensor memory",
              "take all rows, and of 16-bit elements pairs of columns");
}

LogicalResult TensorDeallocOp::verify() {
  if (!getTile().getDefiningOp<TensorAllocOp>())
    return fail(emitCoded(*this, HardwareShape)
                << "`dealloc` takes what `alloc` gave, not a part of it");
  return success();
}

LogicalResult TensorMmaOp::verify() {
  if (auto slice = getAcc().getDefiningOp<memref::SubViewOp>())
    if (getConstantIntValue(slice.getMixedOffsets()[0]) != 0)
      return fail(emitCoded(*this, HardwareShape) << "the accumulator " << describe(getAcc())
                                                  << " does not begin in the first row of its tile",
                  "take all rows, and columns from anywhere: slice(acc, {0, n}, {rows, columns})");
  if (tile::spaceOf(typeOf(getAcc())) == tile::Space::Tensor &&
      typeOf(getAcc()).getElementTypeBitWidth() != 32)
    return fail(emitCoded(*this, HardwareShape)
                << "the accumulator " << describe(getAcc()) << " has no 32-bit elements");
  if (tile::spaceOf(typeOf(getA())) == tile::Space::Tensor && failed(verifyCells(*this, getA())))
    return failure();
  return verifyProduct(*this, getA(), getB(), getAcc(), tile::Space::Tensor, true);
}

LogicalResult TensorCommitOp::verify() {
  if (failed(verifyMulticast(*this, getMulticast())))
    return failure();
  return verifyIndex(*this, getBarriers(), getIndex());
}

static LogicalResult verifySameTile(Operation *op, Value source, Value target) {
  MemRefType from = typeOf(source), to = typeOf(target);
  if (from.getShape() == to.getShape() && from.getElementType() == to.getElementType())
    return success();
  return fail(emitCoded(op, HardwareShape)
              << "`" << op->getName().stripDialect() << "` copies " << describe(source) << " to "
              << describe(target) << ", a tile of another shape or type");
}

/// Between registers and tensor memory, by the four warps that reach its lanes.
static LogicalResult verifyLanes(Operation *op, Value cells, Value registers) {
  if (failed(verifySpace(op, cells, tile::Space::Tensor, "tensor tile")) ||
      failed(verifySpace(op, registers, tile::Space::Local, "tile in registers")) ||
      failed(verifySameTile(op, cells, registers)) || failed(verifyCells(op, cells)))
    return failure();
  int64_t groups = scopeOf(op).warps / warpgroupWarps;
  int64_t elements = 32 / typeOf(cells).getElementTypeBitWidth(); // of a column
  // Of 64 rows, a warp reaches 16, and its threads hold pairs of columns eight at a time.
  bool few = typeOf(cells).getDimSize(0) == 64 && elements == 1;
  if ((typeOf(cells).getDimSize(0) != 128 && !few) || (groups & (groups - 1)) ||
      typeOf(cells).getDimSize(1) % (groups * (few ? 8 : elements)))
    return fail(emitCoded(op, HardwareShape)
                    << "`" << op->getName().stripDialect() << "` of " << describe(cells) << " by "
                    << scopeOf(op).warps << " warps",
                "4 warps reach the rows of a tile, 128 or 64; 8 or 16 share the columns, of 64 "
                "rows eight at a time");
  return success();
}

LogicalResult TensorLoadOp::verify() { return verifyLanes(*this, getSource(), getTarget()); }
LogicalResult TensorStoreOp::verify() { return verifyLanes(*this, getTarget(), getSource()); }

LogicalResult TensorCopyOp::verify() {
  if (failed(verifySpace(*this, getSource(), tile::Space::Shared, "source")) ||
      failed(verifySpace(*this, getTarget(), tile::Space::Tensor, "target")) ||
      failed(verifyRank2(*this, getSource(), "source")) ||
      failed(verifyWholeSlot(*this, getSource(), "source")) ||
      failed(verifySameTile(*this, getSource(), getTarget())) ||
      failed(verifyCells(*this, getTarget())))
    return failure();
  MemRefType type = typeOf(getSource());
  if (isTransposed(getSource()) || type.getDimSize(0) != 128 ||
      type.getDimSize(1) * type.getElementTypeBitWidth() % 256)
    return fail(emitCoded(*this, HardwareShape) << "`tcgen05.copy` of " << describe(getSource()),
                "it copies 128 rows, 32 bytes of each at a time, as they lie");
  return success();
}

LogicalResult WgmmaOp::verify() {
  return verifyProduct(*this, getA(), getB(), getAcc(), tile::Space::Local, false);
}

LogicalResult WgmmaWaitOp::verify() { return verifyGroups(*this, getPending(), 7); }
