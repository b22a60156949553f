//===- Elements.cpp - Elements in memory and in registers -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Threads/Elements.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

Type nvptx::storedAs(Type element) {
  bool moved = isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8;
  return moved || element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : element;
}

Type nvptx::elementOf(Value memref) { return cast<MemRefType>(memref.getType()).getElementType(); }

Value nvptx::converted(ThreadBuilder &c, Value value, Type to) {
  Type from = value.getType();
  if (from == to)
    return value;
  if (isa<IntegerType>(from) && isa<IntegerType>(to) &&
      from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(c.builder, c.loc, to, value);
  if (isa<IntegerType>(from) || isa<IntegerType>(to)) // only moved
    return c.builder.createOrFold<arith::BitcastOp>(c.loc, to, value);
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(c.builder, c.loc, to, value);
  // Between formats of one width there is no direct way.
  if (from.getIntOrFloatBitWidth() == to.getIntOrFloatBitWidth())
    return converted(c, converted(c, value, c.builder.getF32Type()), to);
  return arith::TruncFOp::create(c.builder, c.loc, to, value);
}

Value nvptx::fromStored(ThreadBuilder &c, Value value, Type element) {
  if (element.isInteger(1))
    return value.getType() == element
               ? value
               : arith::TruncIOp::create(c.builder, c.loc, element, value).getResult();
  return c.builder.createOrFold<arith::BitcastOp>(c.loc, element, value);
}

Value nvptx::toStored(ThreadBuilder &c, Value value) {
  if (value.getType().isInteger(1))
    return arith::ExtUIOp::create(c.builder, c.loc, c.builder.getI8Type(), value);
  return c.builder.createOrFold<arith::BitcastOp>(c.loc, storedAs(value.getType()), value);
}

SmallVector<Value> nvptx::loadShared(ThreadBuilder &c, Value address, Type element, int64_t count,
                                     int64_t aligned) {
  Type stored = storedAs(element);
  SmallVector<Value> values;
  if (count == 1) {
    auto bytes = unsigned(aligned * stored.getIntOrFloatBitWidth() / 8);
    values.push_back(
        fromStored(c, LLVM::LoadOp::create(c.builder, c.loc, stored, address, bytes), element));
    return values;
  }
  Value all = LLVM::LoadOp::create(c.builder, c.loc, VectorType::get({count}, stored), address,
                                   unsigned(count * stored.getIntOrFloatBitWidth() / 8));
  for (int64_t i = 0; i < count; ++i)
    values.push_back(
        fromStored(c, LLVM::ExtractElementOp::create(c.builder, c.loc, all, c.i32(i)), element));
  return values;
}

void nvptx::storeShared(ThreadBuilder &c, Value address, ArrayRef<Value> elements) {
  SmallVector<Value> values =
      llvm::map_to_vector(elements, [&](Value value) { return toStored(c, value); });
  if (values.size() == 1) {
    LLVM::StoreOp::create(c.builder, c.loc, values[0], address);
    return;
  }
  LLVM::StoreOp::create(c.builder, c.loc, c.packed(values), address,
                        unsigned(values.size() * values[0].getType().getIntOrFloatBitWidth() / 8));
}
