//===- VerifyProducts.cpp - Verifiers of tensor core MMAs -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of NVTensorOps.td and NVWgmmaOps.td: TMEM, tcgen05 and wgmma.
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

/// Verifies a left operand outside of shared memory.
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
  if (blackwell && (isPaired(op) || typeOf(a).getDimSize(0) % tensorLanes))
    return fail(emitCoded(op, HardwareShape)
                    << "the left operand " << describe(a) << " lies in tensor memory",
                "it has 128 or 256 rows there, and belongs to a block that multiplies alone");
  return success();
}

/// Verifies that descriptors can begin where an operand does, within the swizzled spans of its
/// tile.
static LogicalResult verifyColumns(Operation *op, Value value, const layout::MatrixOperand &operand,
                                   layout::MmaType type) {
  bool byK = operand.major == layout::Major::K;
  int64_t columns = typeOf(value).getDimSize(isTransposed(value) ? 0 : 1);
  int64_t unit = byK ? layout::instructionK(type) : operand.tile.chunkCols();
  if (columns == operand.tile.cols || (operand.firstColumn % unit == 0 && columns % unit == 0))
    return success();
  return fail(emitCoded(op, HardwareShape)
                  << describe(value) << " has " << columns << " columns of its tile, from column "
                  << operand.firstColumn << " on",
              "begin at a multiple of " + Twine(unit) + ", and take as many or a multiple");
}

/// The operands where they can be, shapes that fit, types that are multiplied.
static LogicalResult verifyProduct(Operation *op, Value a, Value b, Value acc, tile::Space accSpace,
                                   bool blackwell, const ScaledTypes *scales = nullptr) {
  // Hopper reads its left operand from registers too, and Blackwell from where
  // accumulators lie: on both it is the accumulator's memory.
  bool leftShared = tile::spaceOf(typeOf(a)) != accSpace;
  if (!leftShared && failed(verifyLeftOperand(op, a, blackwell)))
    return failure();
  for (auto [value, role] : {std::pair(a, "left operand"), std::pair(b, "right operand")})
    if ((value != a || leftShared) &&
        (failed(verifySpace(op, value, tile::Space::Shared, role)) ||
         failed(verifyRank2(op, value, role)) ||
         failed(verifyPartOfSlot(op, value, role, Part::KnownRectangle))))
      return failure();
  if (failed(verifySpace(op, acc, accSpace, "accumulator")) ||
      failed(verifyRank2(op, acc, "accumulator")))
    return failure();
  bool pair = blackwell && isPaired(op);
  auto product = scales ? scaledProductOf(a, b, acc, *scales) : productOf(a, b, acc, pair);
  if (!product.error.empty())
    return fail(emitCoded(op, HardwareShape) << product.error);
  int64_t rows = product.m;
  if (blackwell && !pair && (rows == 2 * tensorLanes || rows == 192))
    rows /= tensorParts(rows); // of each part
  int64_t groups = blackwell ? 1 : scopeOf(op).warps / warpgroupWarps;
  if (!blackwell && groups && rows % (64 * groups))
    return fail(emitCoded(op, HardwareShape)
                << "the accumulator's " << rows << " rows are not 64, or a multiple, for each of "
                << groups << " warpgroups");
  auto rule = scales ? layout::refuseScaledTcgen05(int(rows), int(product.n), product.a, product.b,
                                                   product.d, product.aOperand.major,
                                                   product.bOperand.major, int(product.scaleBlock))
              : blackwell
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
  if (leftShared && failed(verifyColumns(op, a, product.aOperand, product.a)))
    return failure();
  return verifyColumns(op, b, product.bOperand, product.b);
}

void TensorAllocOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (auto label = getLabel())
    setName(getResult(), *label);
}

LogicalResult TensorAllocOp::verify() {
  MemRefType type = typeOf(getResult());
  if (tile::spaceOf(type) != tile::Space::Tensor || !type.hasStaticShape() ||
      (type.getRank() != 2 && !isScales(type)))
    return fail(emitCoded(*this, HardwareShape)
                << "tensor memory holds tiles with rows and columns, and scales of rank 4");
  if (tensorColumns(type) > 512)
    return fail(emitCoded(*this, HardwareMemory)
                << describe(getResult()) << " has " << tensorColumns(type)
                << " columns; tensor memory has 512");
  if (isScales(type)) {
    bool elements = isa<Float8E8M0FNUType, Float8E4M3FNType>(type.getElementType());
    if (elements && type.getDimSize(2) == 32 && type.getDimSize(3) == 16)
      return success();
    return fail(emitCoded(*this, HardwareShape) << describe(getResult()) << " does not hold scales",
                "scales are rows / 128 x K / (4 * block) x 32 x 16 of f8e8m0 or f8e4m3");
  }
  int64_t rows = type.getDimSize(0), bits = type.getElementTypeBitWidth();
  bool whole = rows == tensorLanes || rows == 2 * tensorLanes;
  bool accumulator = bits == 32 && (rows == 64 || rows == 192 || whole);
  bool operand = bits == 16 && whole && type.getDimSize(1) % 2 == 0;
  if (!accumulator && !operand)
    return fail(
        emitCoded(*this, HardwareShape) << describe(getResult()) << " does not fit tensor memory",
        "accumulators have 64, 128, 192 or 256 rows of 32-bit elements, left operands 128 or 256 "
        "rows of 16- or 32-bit ones");
  return success();
}

/// The scales of a product, in tensor memory.
static LogicalResult verifyScales(TensorMmaOp op) {
  Value scales[] = {op.getScaleA(), op.getScaleB()};
  if (!scales[0] || !scales[1])
    return fail(emitCoded(op, ScaledProduct) << "`tcgen05.mma` has scales of one operand only",
                "give both .scale_a and .scale_b");
  if (isPaired(op) || tile::spaceOf(typeOf(op.getA())) != tile::Space::Shared)
    return fail(emitCoded(op, ScaledProduct)
                    << "`tcgen05.mma` with scales of a pair of blocks, or of an operand in tensor "
                       "memory, is not supported",
                "multiply tiles in shared memory by one block");
  Type element = typeOf(scales[0]).getElementType();
  int64_t k = typeOf(op.getA()).getDimSize(1);
  if (typeOf(op.getA()).getElementType().isSignlessInteger(8))
    k = tile::valuesIn(op.getPackingA().value_or(tile::Packing::F4E2M1), k);
  int64_t group = isa<Float8E4M3FNType>(element) ? 4 * 16 : 4 * 32;
  int64_t sizes[] = {typeOf(op.getA()).getDimSize(0), typeOf(op.getB()).getDimSize(1)};
  for (auto [scale, rows] : llvm::zip(scales, sizes)) {
    int64_t shape[] = {rows / 128, k / group, 32, 16};
    if (scale.getDefiningOp<TensorAllocOp>() && rows % 128 == 0 && k % group == 0 &&
        typeOf(scale).getShape() == ArrayRef<int64_t>(shape) &&
        typeOf(scale).getElementType() == element)
      continue;
    return fail(emitCoded(op, ScaledProduct)
                    << "`tcgen05.mma` of " << describe(op.getA()) << " and " << describe(op.getB())
                    << " with the scales " << describe(scale),
                "scales of both operands are whole tiles in tensor memory of one element, " +
                    std::to_string(shape[0]) + "x" + std::to_string(shape[1]) +
                    "x32x16; rows are multiples of 128, values of k of " + std::to_string(group));
  }
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
  if (IntegerAttr part = getPartAttr();
      part && (part.getInt() < 0 || part.getInt() >= warpgroupParts(typeOf(getAcc()))))
    return fail(emitCoded(*this, HardwareShape)
                << describe(getAcc()) << " has no part " << part.getInt() << " of 128 rows");
  if (!getScaleA() && !getScaleB())
    return verifyProduct(*this, getA(), getB(), getAcc(), tile::Space::Tensor, true);
  if (failed(verifyScales(*this)))
    return failure();
  ScaledTypes types{typeOf(getScaleA()).getElementType(), getPackingA(), getPackingB()};
  return verifyProduct(*this, getA(), getB(), getAcc(), tile::Space::Tensor, true, &types);
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
  int64_t rows = typeOf(cells).getDimSize(0);
  bool few = (rows == 64 || rows == 192) && elements == 1;
  int64_t parts = warpgroupParts(typeOf(cells));
  if ((rows != parts * tensorLanes && !few) || (groups & (groups - 1)) || groups < parts ||
      typeOf(cells).getDimSize(1) % (groups / parts * (few ? 8 : elements)))
    return fail(
        emitCoded(op, HardwareShape) << "`" << op->getName().stripDialect() << "` of "
                                     << describe(cells) << " by " << scopeOf(op).warps << " warps",
        "4 warps reach the rows of a tile, 64, 128 or 192, and 8 warps 256 rows; more share the "
        "columns, of 64 or 192 rows eight at a time");
  return success();
}

LogicalResult TensorLoadOp::verify() { return verifyLanes(*this, getSource(), getTarget()); }
LogicalResult TensorStoreOp::verify() { return verifyLanes(*this, getTarget(), getSource()); }

/// 32 rows of 16 bytes at a time, to all quarters of the lanes.
static LogicalResult verifyScalesCopy(TensorCopyOp op) {
  if (failed(verifySpace(op, op.getSource(), tile::Space::Shared, "source")) ||
      failed(verifyPartOfSlot(op, op.getSource(), "source")) ||
      failed(verifySameTile(op, op.getSource(), op.getTarget())))
    return failure();
  if (!op.getTarget().getDefiningOp<TensorAllocOp>() || isPaired(op))
    return fail(emitCoded(op, HardwareShape)
                    << "`tcgen05.copy` of the scales " << describe(op.getSource()),
                "scales are copied to a whole tile of tensor memory, of one block");
  return success();
}

LogicalResult TensorCopyOp::verify() {
  if (isScales(typeOf(getTarget())))
    return verifyScalesCopy(*this);
  if (failed(verifySpace(*this, getSource(), tile::Space::Shared, "source")) ||
      failed(verifySpace(*this, getTarget(), tile::Space::Tensor, "target")) ||
      failed(verifyRank2(*this, getSource(), "source")) ||
      failed(verifyPartOfSlot(*this, getSource(), "source")) ||
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
