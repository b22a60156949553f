//===- LoopBuilder.cpp - Loops over the elements of tiles -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Transforms/Loops/LoopBuilder.h"

using namespace mlir;
using namespace penstock;

Value LoopBuilder::convert(Value value, Type to) {
  Type from = value.getType();
  if (from == to)
    return value;
  unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
  if (isa<IntegerType>(from))
    return arith::ExtSIOp::create(b, loc, to, value);
  if (fromWidth == toWidth)
    return convert(convert(value, b.getF32Type()), to);
  if (fromWidth < toWidth)
    return arith::ExtFOp::create(b, loc, to, value);
  return arith::TruncFOp::create(b, loc, to, value);
}

Value LoopBuilder::zero(Type type) {
  return arith::ConstantOp::create(b, loc, cast<TypedAttr>(b.getZeroAttr(type)));
}

Value LoopBuilder::clamp(Value value, Value limit) {
  value = arith::MaxSIOp::create(b, loc, value, index(0));
  return arith::MinSIOp::create(b, loc, value, limit);
}

static OperandRange offsetsOf(tile::CopyOp copy) {
  return copy.readsTensor() ? copy.getSourceOffsets() : copy.getTargetOffsets();
}

LoopBuilder::Box LoopBuilder::boxOf(tile::CopyOp copy) {
  Value tensor = copy.readsTensor() ? copy.getSource() : copy.getTarget();
  SmallVector<Value> offsets = offsetsOf(copy);
  SmallVector<int64_t> dims(copy.getTensorDims());
  SmallVector<int64_t> shape = copy.getBoxShape();
  Box box;
  auto require = [&](arith::CmpIPredicate predicate, Value x, Value y) {
    Value ok = arith::CmpIOp::create(b, loc, predicate, x, y);
    box.inside = box.inside ? Value(arith::AndIOp::create(b, loc, box.inside, ok)) : ok;
  };
  Value exists;
  for (int64_t dim = 0, rank = typeOf(tensor).getRank(); dim < rank; ++dim) {
    Value size = memref::DimOp::create(b, loc, tensor, dim);
    Value offset = offsets[dim];
    auto run = llvm::find(dims, dim);
    if (run == dims.end()) {
      Value ok = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, offset, size);
      exists = exists ? Value(arith::AndIOp::create(b, loc, exists, ok)) : ok;
      continue;
    }
    Value extent = index(shape[run - dims.begin()]);
    Value left = arith::SubIOp::create(b, loc, size, offset);
    require(arith::CmpIPredicate::sge, offset, index(0));
    require(arith::CmpIPredicate::sge, left, extent);
    Value before = arith::SubIOp::create(b, loc, index(0), offset);
    box.begins.push_back(clamp(before, extent));
    box.ends.push_back(clamp(left, extent));
  }
  if (exists) {
    box.inside = box.inside ? Value(arith::AndIOp::create(b, loc, box.inside, exists)) : exists;
    for (Value &end : box.ends)
      end = arith::SelectOp::create(b, loc, exists, end, index(0));
  }
  if (!box.inside) // a tile without dimensions
    box.inside = arith::ConstantIntOp::create(b, loc, 1, 1);
  return box;
}

SmallVector<Value> LoopBuilder::inTensor(tile::CopyOp copy, ValueRange at) {
  SmallVector<Value> position = offsetsOf(copy);
  SmallVector<int64_t> dims = copy.getTensorDims();
  for (auto [dim, i] : llvm::zip(dims, at))
    position[dim] = arith::AddIOp::create(b, loc, position[dim], i);
  return position;
}

Value LoopBuilder::neutral(tile::ReduceOp op) {
  Type type = typeOf(op.getTarget()).getElementType();
  bool floating = isa<FloatType>(type);
  auto kind = [&] {
    switch (op.getKind()) {
    case tile::ReduceKind::Sum:
      return floating ? arith::AtomicRMWKind::addf : arith::AtomicRMWKind::addi;
    case tile::ReduceKind::Prod:
      return floating ? arith::AtomicRMWKind::mulf : arith::AtomicRMWKind::muli;
    case tile::ReduceKind::Max:
      return floating ? arith::AtomicRMWKind::maximumf : arith::AtomicRMWKind::maxs;
    case tile::ReduceKind::Min:
      break;
    }
    return floating ? arith::AtomicRMWKind::minimumf : arith::AtomicRMWKind::mins;
  }();
  // For types without infinities, use the largest number.
  auto format = dyn_cast<FloatType>(type);
  bool finite = format && !llvm::APFloat::semanticsHasInf(format.getFloatSemantics());
  return arith::getIdentityValue(kind, type, b, loc, finite);
}

Value LoopBuilder::combine(tile::ReduceOp op, Value x, Value y) {
  Type type = typeOf(op.getTarget()).getElementType();
  bool floating = isa<FloatType>(type);
  switch (op.getKind()) {
  case tile::ReduceKind::Sum:
    if (floating)
      return arith::AddFOp::create(b, loc, x, y, arith::FastMathFlags::reassoc);
    return arith::AddIOp::create(b, loc, x, y);
  case tile::ReduceKind::Prod:
    if (floating)
      return arith::MulFOp::create(b, loc, x, y, arith::FastMathFlags::reassoc);
    return arith::MulIOp::create(b, loc, x, y);
  case tile::ReduceKind::Max:
    if (floating)
      return arith::MaximumFOp::create(b, loc, x, y);
    return arith::MaxSIOp::create(b, loc, x, y);
  case tile::ReduceKind::Min:
    break;
  }
  if (floating)
    return arith::MinimumFOp::create(b, loc, x, y);
  return arith::MinSIOp::create(b, loc, x, y);
}

void LoopBuilder::cloneBody(Block &body, IRMapping &mapping, ValueRange at) {
  for (Operation &op : body.without_terminator()) {
    if (auto element = dyn_cast<tile::ElementIndexOp>(op))
      mapping.map(element.getResult(), at[element.getDim()]);
    else
      b.clone(op, mapping);
  }
}
