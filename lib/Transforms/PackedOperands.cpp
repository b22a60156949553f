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

bool penstock::isGrouped(tile::GemmOp gemm) {
  Type element = elementTypeOf(gemm.getA());
  return element.isBF16() || element.isSignlessInteger(8);
}

PackedOperands::PackedOperands(tile::GemmOp gemm, int64_t depth, bool flipSigns)
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
  packLeft(flipSigns);
  packRight();
  acc = addressOf(gemm.getAcc(), 0);
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value PackedOperands::addressIndex(Value memref, ValueRange *strides) {
  auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, memref);
  if (strides)
    *strides = metadata.getStrides();
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref);
  int64_t size = elementTypeOf(memref).getIntOrFloatBitWidth() / 8;
  return arith::AddIOp::create(b, loc, base, product(metadata.getOffset(), index(size)));
}

Value PackedOperands::pointerTo(Value memref) {
  return LLVM::IntToPtrOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()),
                                  toI64(addressIndex(memref)));
}

PackedOperands::Address PackedOperands::addressOf(Value memref, unsigned strideOf) {
  ValueRange strides;
  Value first = addressIndex(memref, &strides);
  int64_t size = elementTypeOf(memref).getIntOrFloatBitWidth() / 8;
  Value pointer =
      LLVM::IntToPtrOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()), toI64(first));
  return {pointer, product(strides[strideOf], index(size))};
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
// Packing
//===----------------------------------------------------------------------===//

void PackedOperands::callPack(StringRef name, Value source, Value target,
                              ArrayRef<int64_t> numbers) {
  auto shape = cast<MemRefType>(source.getType()).getShape();
  ValueRange strides;
  Value from = addressIndex(source, &strides);
  Value to = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, target);
  SmallVector<Value> arguments = {
      index(elementBytes), from, index(shape[0]), index(shape[1]), strides[0], strides[1], to};
  for (int64_t number : numbers)
    arguments.push_back(index(number));
  callRuntime(b, loc, name, arguments);
}

void PackedOperands::packLeft(bool flipSigns) {
  Value a = gemm.getA();
  bool flip = flipSigns && isInt && !gemm.getUnsignedA();
  if (stridesOf(a).back() == 1 && k == groups * inGroup && !flip) {
    left = addressOf(a, 0);
    return;
  }
  Value packed = allocate({m, groups * groupBytes}, b.getI8Type());
  callPack(abi::packRowsFn, a, packed, {groups * groupBytes, flip ? 0x80 : 0});
  left = addressOf(packed, 0);
}

void PackedOperands::packRight() {
  Value source = gemm.getB();
  if (!gemm.isPacked()) {
    Value packed = allocate({panels, groups * panelRowBytes}, b.getI8Type());
    callPack(abi::packPanelsFn, source, packed, {groups});
    right = addressOf(packed, 0);
    return;
  }
  right = addressOf(source, 0);
  if (k == groups * inGroup)
    return;
  // Panels of their own, because the padding must be zero: a NaN behind it would count.
  Value packed = allocate({panels, groups * panelRowBytes}, b.getI8Type());
  int64_t rowBytes = k / inGroup * panelRowBytes;
  Value from = addressIndex(source);
  Value to = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, packed);
  callRuntime(b, loc, abi::packRowsFn,
              {index(1), from, index(panels), index(rowBytes), right.stride, index(1), to,
               index(groups * panelRowBytes), index(0)});
  right = addressOf(packed, 0);
}
