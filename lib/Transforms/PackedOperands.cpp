//===- PackedOperands.cpp - Operands of grouped products ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Transforms/PackedOperands.h"
#include "Transforms/KernelAbi.h"
#include "Transforms/RuntimeCalls.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace penstock;

SmallVector<int64_t> penstock::stridesOf(Value memref) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(cast<MemRefType>(memref.getType()).getStridesAndOffset(strides, offset)))
    strides.clear();
  return strides;
}

Type penstock::elementTypeOf(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementType();
}

Value GemmBuilder::allocate(ArrayRef<int64_t> shape, Type element) {
  OpBuilder::InsertionGuard guard(b);
  auto function = gemm->getParentOfType<func::FuncOp>();
  b.setInsertionPointToStart(&function.getBody().front());
  return tile::AllocOp::create(b, loc, tile::tileType(shape, element, tile::Space::Local),
                               StringAttr(), IntegerAttr());
}

static constexpr int64_t tileRows = 16, tileRowBytes = 64;

bool penstock::isGrouped(tile::GemmOp gemm) {
  Type element = elementTypeOf(gemm.getA());
  return element.isBF16() || element.isSignlessInteger(8);
}

PackedOperands::PackedOperands(tile::GemmOp gemm, int64_t depth, bool tiles, bool flipSigns,
                               Value readsOnce)
    : GemmBuilder(gemm) {
  auto type = cast<MemRefType>(gemm.getA().getType());
  isInt = type.getElementType().isSignlessInteger(8);
  elementBytes = isInt ? 1 : 2;
  inGroup = groupBytes / elementBytes;
  m = type.getDimSize(0);
  k = type.getDimSize(1);
  n = cast<MemRefType>(gemm.getAcc().getType()).getDimSize(1);
  groups = llvm::alignTo(llvm::divideCeil(k, inGroup), depth);
  panels = llvm::divideCeil(n, panelColumns);
  packLeft(tiles, flipSigns, readsOnce);
  packRight();
  report.leftBytes = m * groups * groupBytes;
  report.rightBytes = panels * groups * panelRowBytes;
  acc = addressOf(gemm.getAcc(), 0);
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

PackedOperands::Operand PackedOperands::operandOf(Value memref) {
  auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, memref);
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref);
  int64_t size = elementTypeOf(memref).getIntOrFloatBitWidth() / 8;
  Value offset = product(metadata.getOffset(), index(size));
  return {arith::AddIOp::create(b, loc, base, offset),
          SmallVector<Value, 4>(metadata.getStrides())};
}

Value PackedOperands::toPointer(Value address) {
  return LLVM::IntToPtrOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()),
                                  toI64(address));
}

Value PackedOperands::pointerTo(Value memref) { return toPointer(operandOf(memref).address); }

PackedOperands::Address PackedOperands::addressOf(Value memref, unsigned strideOf) {
  Operand operand = operandOf(memref);
  int64_t size = elementTypeOf(memref).getIntOrFloatBitWidth() / 8;
  return {toPointer(operand.address), product(operand.strides[strideOf], index(size))};
}

Value PackedOperands::bytes(Value pointer, Value offset) {
  return LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI8Type(), pointer,
                             ValueRange{toI64(offset)});
}

Value PackedOperands::intrinsic(StringRef name, ValueRange arguments, Type result) {
  auto text = b.getStringAttr(name);
  if (!result) {
    LLVM::CallIntrinsicOp::create(b, loc, text, arguments);
    return {};
  }
  return LLVM::CallIntrinsicOp::create(b, loc, result, text, arguments).getResult(0);
}

//===----------------------------------------------------------------------===//
// Operands in tensors
//===----------------------------------------------------------------------===//

bool penstock::isPlain(tile::CopyOp copy) {
  Value tensor = copy.readsTensor() ? copy.getSource() : copy.getTarget();
  auto dims = copy.getTensorDims();
  return !copy.getRows() && elementTypeOf(copy.getSource()) == elementTypeOf(copy.getTarget()) &&
         !dims.empty() && dims.back() == cast<MemRefType>(tensor.getType()).getRank() - 1 &&
         llvm::is_sorted(dims);
}

/// Whether nothing writes a tensor while a kernel runs.
static bool isConstant(Value tensor) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  if (!function || !function->hasAttr(tile::TileDialect::kernelAttr))
    return false;
  unsigned i = argument.getArgNumber();
  auto access = function.getArgAttrOfType<StringAttr>(i, tile::TileDialect::accessAttr);
  return access && access == "in" && !function.getArgAttr(i, tile::TileDialect::overlapsAttr);
}

/// The copy before a product that makes its operand, if the tile has no other use.
static tile::CopyOp copyBefore(tile::GemmOp gemm, Value tile) {
  if (!tile.getDefiningOp<tile::AllocOp>())
    return {};
  tile::CopyOp copy;
  for (Operation *user : tile.getUsers()) {
    if (user == gemm || isa<memref::TransposeOp>(user))
      continue;
    auto other = dyn_cast<tile::CopyOp>(user);
    if (!other || copy)
      return {};
    copy = other;
  }
  if (!copy || copy.getTarget() != tile || !copy.readsTensor() || !isConstant(copy.getSource()) ||
      copy.getAsyncAttr() || copy->getBlock() != gemm->getBlock() || !copy->isBeforeInBlock(gemm))
    return {};
  return isPlain(copy) ? copy : tile::CopyOp();
}

static OperandRange offsetsOf(tile::CopyOp copy) {
  return copy.readsTensor() ? copy.getSourceOffsets() : copy.getTargetOffsets();
}

/// Of one value for each dimension of a copy's tensor, those of its tile.
static SmallVector<Value, 4> inTile(tile::CopyOp copy, ArrayRef<Value> ofTensor) {
  SmallVector<Value, 4> result;
  for (int64_t dim : copy.getTensorDims())
    result.push_back(ofTensor[size_t(dim)]);
  return result;
}

PackedOperands::Operand PackedOperands::boxOf(tile::CopyOp copy) {
  Value tensor = copy.readsTensor() ? copy.getSource() : copy.getTarget();
  Operand box = operandOf(tensor);
  int64_t size = elementTypeOf(tensor).getIntOrFloatBitWidth() / 8;
  for (auto [offset, stride] : llvm::zip(offsetsOf(copy), box.strides)) {
    Value step = product(product(offset, stride), index(size));
    box.address = arith::AddIOp::create(b, loc, box.address, step);
  }
  box.strides = inTile(copy, box.strides);
  return box;
}

Value PackedOperands::isInside(tile::CopyOp copy) {
  Value inside = arith::ConstantIntOp::create(b, loc, 1, 1);
  auto require = [&](Value x, Value y) {
    Value ok = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, x, y);
    inside = arith::AndIOp::create(b, loc, inside, ok);
  };
  Value tensor = copy.readsTensor() ? copy.getSource() : copy.getTarget();
  auto dims = copy.getTensorDims();
  for (auto [i, offset] : llvm::enumerate(offsetsOf(copy))) {
    auto at = llvm::find(dims, int64_t(i));
    int64_t extent = at == dims.end() ? 1 : copy.getTileShape()[size_t(at - dims.begin())];
    Value size = memref::DimOp::create(b, loc, tensor, int64_t(i));
    require(offset, index(0));
    require(arith::SubIOp::create(b, loc, size, offset), index(extent));
  }
  return inside;
}

tile::CopyOp PackedOperands::forwardedCopy(Value memref) {
  auto transposed = memref.getDefiningOp<memref::TransposeOp>();
  if (transposed && (!transposed->hasOneUse() || transposed.getPermutation().isIdentity()))
    return {};
  Value tile = transposed ? transposed.getIn() : memref;
  tile::CopyOp copy = copyBefore(gemm, tile);
  // A tile that is both operands, or is transposed for another product, is not forwarded.
  if (!copy || std::distance(tile.use_begin(), tile.use_end()) != 2)
    return {};
  return copy;
}

PackedOperands::Operand PackedOperands::locate(Value memref,
                                               llvm::function_ref<Value(ValueRange)> suits) {
  auto transposed = memref.getDefiningOp<memref::TransposeOp>();
  tile::CopyOp copy = forwardedCopy(memref);
  if (!copy)
    return operandOf(memref);
  Value tile = copy.getTarget();
  Value condition = isInside(copy);
  SmallVector<Value, 4> strides = inTile(copy, operandOf(copy.getSource()).strides);
  if (suits)
    condition = arith::AndIOp::create(b, loc, condition, suits(strides));
  SmallVector<Type> types(1 + strides.size(), b.getIndexType());
  auto branch = scf::IfOp::create(b, loc, types, condition, /*addElseBlock=*/true);
  auto yield = [&](Operand operand) {
    SmallVector<Value> values = {operand.address};
    llvm::append_range(values, operand.strides);
    scf::YieldOp::create(b, loc, values);
  };
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    yield(boxOf(copy));
    b.setInsertionPointToStart(branch.elseBlock());
    copy->moveBefore(branch.elseBlock(), b.getInsertionPoint());
    b.setInsertionPointToEnd(branch.elseBlock());
    yield(operandOf(tile));
  }
  Operand result{branch.getResult(0), SmallVector<Value, 4>(branch.getResults().drop_front())};
  if (transposed)
    std::swap(result.strides[0], result.strides[1]);
  return result;
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

void PackedOperands::callPack(StringRef name, const Operand &source, int64_t rows, int64_t columns,
                              Value target, ArrayRef<int64_t> numbers) {
  Value to = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, target);
  SmallVector<Value> arguments = {
      index(elementBytes), source.address,    index(rows), index(columns),
      source.strides[0],   source.strides[1], to};
  for (int64_t number : numbers)
    arguments.push_back(index(number));
  callRuntime(b, loc, name, arguments);
}

void PackedOperands::packTilesOrRead(Value readsOnce) {
  Value a = gemm.getA();
  int64_t steps = groups * groupBytes / tileRowBytes;
  Value packed = allocate({llvm::divideCeilSigned(m, tileRows), steps * tileRows * tileRowBytes},
                          b.getI8Type());
  auto pack = [&] {
    callPack(abi::packTilesFn, locate(a), m, k, packed, {steps});
    Operand rows = operandOf(packed);
    return SmallVector<Value, 4>{rows.address, index(tileRowBytes), rows.strides[0],
                                 index(tileRows * tileRowBytes)};
  };
  auto take = [&](ValueRange values) {
    left = {toPointer(values[0]), values[1]};
    leftBlock = values[2];
    leftStep = values[3];
  };
  tile::CopyOp copy = forwardedCopy(a);
  report.leftInTensor = bool(copy);
  if (!copy || stridesOf(a).back() != 1)
    return take(pack());
  leftSource = boxOf(copy);
  if (!readsOnce || k != groups * inGroup)
    return take(pack());
  // Rows that are far apart displace each other in the first-level cache.
  constexpr int64_t mostApart = 2048;
  Value rowBytes = product(leftSource.strides[0], index(elementBytes));
  Value isNear =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, rowBytes, index(mostApart));
  Value direct = arith::AndIOp::create(b, loc, isNear, isInside(copy));
  direct = arith::AndIOp::create(b, loc, direct, readsOnce);
  SmallVector<Type> types(4, b.getIndexType());
  auto branch = scf::IfOp::create(b, loc, types, direct, /*addElseBlock=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc,
                         ValueRange{leftSource.address, rowBytes,
                                    product(rowBytes, index(tileRows)), index(tileRowBytes)});
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, pack());
  }
  take(branch.getResults());
}

void PackedOperands::packLeft(bool tiles, bool flipSigns, Value readsOnce) {
  Value a = gemm.getA();
  bool flip = flipSigns && isInt && !gemm.getUnsignedA();
  if (tiles && copyBefore(gemm, a)) {
    packTilesOrRead(readsOnce);
    report.left = "packed in tiles of 16 rows x 64 bytes, from its tensor where it is within it";
    report.leftPacking = GemmPacking::Tiles;
    return;
  }
  leftStep = index(tileRowBytes);
  if (stridesOf(a).back() == 1 && k == groups * inGroup && !flip) {
    left = addressOf(a, 0);
    report.left = "read in its tile";
  } else {
    report.left = flip ? "packed in rows, 128 added to each element" : "packed in rows";
    report.leftPacking = GemmPacking::Rows;
    Value packed = allocate({m, groups * groupBytes}, b.getI8Type());
    report.leftInTensor = bool(forwardedCopy(a));
    callPack(abi::packRowsFn, locate(a), m, k, packed, {groups * groupBytes, flip ? 0x80 : 0});
    left = addressOf(packed, 0);
  }
  leftBlock = product(left.stride, index(tileRows));
}

void PackedOperands::packRight() {
  Value source = gemm.getB();
  if (!gemm.isPacked()) {
    report.rightPacking =
        stridesOf(source).back() == 1 ? GemmPacking::Panels : GemmPacking::TransposedPanels;
    report.rightInTensor = bool(forwardedCopy(source));
    Value packed = allocate({panels, groups * panelRowBytes}, b.getI8Type());
    callPack(abi::packPanelsFn, locate(source), k, n, packed, {groups});
    right = addressOf(packed, 0);
    report.right = "packed in panels of 16 columns";
    return;
  }
  report.right = copyBefore(gemm, source)
                     ? "packed by the caller, read in its tensor where it is within it"
                     : "packed by the caller, read in its tile";
  report.rightInTensor = bool(forwardedCopy(source));
  Operand operand = locate(source, [&](ValueRange strides) -> Value {
    auto is = [&](Value stride, int64_t value) -> Value {
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, stride, index(value));
    };
    return arith::AndIOp::create(b, loc, is(strides[1], panelRowBytes / elementBytes),
                                 is(strides[2], inGroup));
  });
  right = {toPointer(operand.address), product(operand.strides[0], index(elementBytes))};
  if (k == groups * inGroup)
    return;
  report.right = "packed by the caller, and copied to pad K";
  report.rightPacking = GemmPacking::Rows;
  // Panels of their own, because the padding must be zero: a NaN there would count.
  Value packed = allocate({panels, groups * panelRowBytes}, b.getI8Type());
  Value to = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, packed);
  callRuntime(b, loc, abi::packRowsFn,
              {index(1), operand.address, index(panels), index(k / inGroup * panelRowBytes),
               right.stride, index(1), to, index(groups * panelRowBytes), index(0)});
  right = addressOf(packed, 0);
}
