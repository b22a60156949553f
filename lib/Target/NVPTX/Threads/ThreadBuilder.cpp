//===- ThreadBuilder.cpp - Builder of the code of one thread --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Threads/ThreadBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

ThreadBuilder::ThreadBuilder(func::FuncOp kernel)
    : kernel(kernel), builder(kernel.getContext()), loc(kernel.getLoc()) {}

Value ThreadBuilder::i32(int64_t value) {
  // Each once, where the kernel starts: there are thousands of uses.
  Value &known = constants[static_cast<int32_t>(value)];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&kernel.getBody().front());
    known = arith::ConstantIntOp::create(builder, kernel.getLoc(), static_cast<int32_t>(value), 32);
  }
  return known;
}

Value ThreadBuilder::i64(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 64);
}

Value ThreadBuilder::asI16(Value value) {
  return arith::TruncIOp::create(builder, loc, builder.getI16Type(), value);
}

Value ThreadBuilder::asI32(Value value) {
  if (value.getType().isInteger(32))
    return value;
  if (auto constant = getConstantIntValue(value)) {
    // An index that far out is outside of every tensor: it must not come back inside.
    if (value.getType().isIndex())
      return i32(std::clamp<int64_t>(*constant, std::numeric_limits<int32_t>::min(),
                                     std::numeric_limits<int32_t>::max()));
    return i32(value.getType().isInteger(1) ? *constant & 1 : *constant);
  }
  if (value.getType().isIndex())
    return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), value);
  if (value.getType().getIntOrFloatBitWidth() < 32)
    return arith::ExtUIOp::create(builder, loc, builder.getI32Type(), value);
  return arith::TruncIOp::create(builder, loc, builder.getI32Type(), value);
}

/// Returns whether an index was converted from at most 32 bits.
static bool fitsI32(Value index) {
  auto cast = index.getDefiningOp<arith::IndexCastOp>();
  return cast && cast.getIn().getType().getIntOrFloatBitWidth() <= 32;
}

SmallVector<Value> ThreadBuilder::coordinates(ValueRange indices) {
  return llvm::map_to_vector(indices, [&](Value index) -> Value {
    if (!index.getType().isIndex() || getConstantIntValue(index) || fitsI32(index))
      return asI32(index);
    // Far outside must stay outside; there is room for a tile's extent.
    auto limit = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    constexpr int64_t far = int64_t(1) << 30;
    Value inside = arith::MaxSIOp::create(builder, loc, index, limit(-far));
    inside = arith::MinSIOp::create(builder, loc, inside, limit(2 * far - 1));
    return asI32(inside);
  });
}

Value ThreadBuilder::asI64(Value value) {
  if (value.getType().isInteger(64))
    return value;
  if (value.getType().isIndex())
    return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
  return arith::ExtSIOp::create(builder, loc, builder.getI64Type(), value);
}

Value ThreadBuilder::asIndex(Value value) {
  if (value.getType().isIndex())
    return value;
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), value);
}

Value ThreadBuilder::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}

Value ThreadBuilder::mul(Value a, Value b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, b);
}

Value ThreadBuilder::mul(Value a, int64_t b) { return b == 1 ? a : mul(a, i32(b)); }

Value ThreadBuilder::cmp(arith::CmpIPredicate predicate, Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, predicate, a, b);
}

Value ThreadBuilder::andBits(Value a, int64_t mask) {
  return builder.createOrFold<arith::AndIOp>(loc, a, i32(mask));
}

Value ThreadBuilder::shiftRight(Value a, int64_t bits) {
  return bits ? builder.createOrFold<arith::ShRUIOp>(loc, a, i32(bits)) : a;
}

Value ThreadBuilder::digitOf(Value number, int64_t weight, int64_t extent) {
  if (weight != 1)
    number = builder.createOrFold<arith::DivUIOp>(loc, number, i32(weight));
  return builder.createOrFold<arith::RemUIOp>(loc, number, i32(extent));
}

Value ThreadBuilder::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(builder, loc, a, b);
}

void ThreadBuilder::when(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto choice = scf::IfOp::create(builder, loc, TypeRange(), condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  body();
}

Value ThreadBuilder::packed(ArrayRef<Value> values) {
  auto type = VectorType::get({int64_t(values.size())}, values[0].getType());
  Value all = LLVM::PoisonOp::create(builder, loc, type);
  for (auto [i, value] : llvm::enumerate(values))
    all = LLVM::InsertElementOp::create(builder, loc, all, value, i32(int64_t(i)));
  return all;
}

void ThreadBuilder::ptx(StringRef text, ArrayRef<Value> operands) {
  inlinePtx().inputs(operands).emit(text, PtxEffects::Memory);
}

Value ThreadBuilder::ptxValue(Type type, StringRef text, ArrayRef<Value> operands) {
  // Predicates travel as words.
  bool predicate = type.isInteger(1);
  Value value = inlinePtx()
                    .output(predicate ? builder.getI32Type() : type)
                    .inputs(operands)
                    .emit(text, predicate ? PtxEffects::Ordered : PtxEffects::None)[0];
  return predicate ? cmp(arith::CmpIPredicate::ne, value, i32(0)) : value;
}
