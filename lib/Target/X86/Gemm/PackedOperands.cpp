//===- PackedOperands.cpp - Operands of grouped products ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/X86/Gemm/PackedOperands.h"
#include "Transforms/Launch/KernelAbi.h"
#include "Transforms/Launch/RuntimeCalls.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace penstock;

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
  beforeLoops(gemm.getB(), [&] { packRight(); });
  report.leftBytes = m * groups * groupBytes;
  report.rightBytes = panels * groups * panelRowBytes;
  acc = addressOf(gemm.getAcc(), 0);
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
  if (!copy || !hasContiguousRows(a))
    return take(pack());
  leftSource = boxOf(copy);
  if (!readsOnce || k != groups * inGroup)
    return take(pack());
  report.leftReadOnce = true;
  Value rowBytes = product(leftSource.strides[0], index(elementBytes));
  Value isNear =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, rowBytes, index(nearRows));
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
  if (tiles && copyBefore(a)) {
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
        hasContiguousRows(source) ? GemmPacking::Panels : GemmPacking::TransposedPanels;
    report.rightInTensor = bool(forwardedCopy(source));
    Value packed = allocate({panels, groups * panelRowBytes}, b.getI8Type());
    callPack(abi::packPanelsFn, locate(source), k, n, packed, {groups});
    right = addressOf(packed, 0);
    report.right = reader == gemm ? "packed in panels of 16 columns"
                                  : "packed in panels of 16 columns, before the loop";
    return;
  }
  report.right = copyBefore(source)
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
