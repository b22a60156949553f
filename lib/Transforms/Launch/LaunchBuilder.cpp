//===- LaunchBuilder.cpp - Builds the function of a launch ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Transforms/Launch/LaunchBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace penstock;

LaunchBuilder::LaunchBuilder(func::FuncOp kernel) : kernel(kernel), builder(kernel) {
  SmallVector<Type> types(kernel.getArgumentTypes());
  types.push_back(arrayType(builder));
  types.push_back(LLVM::LLVMPointerType::get(kernel.getContext()));
  launch =
      func::FuncOp::create(builder, kernel.getLoc(), (kernel.getName() + abi::launchSuffix).str(),
                           builder.getFunctionType(types, {}));
  Block *body = launch.addEntryBlock();
  for (auto [from, to] : llvm::zip(kernel.getArguments(), body->getArguments()))
    mapping.map(from, to);
  builder.setInsertionPointToEnd(body);
  func::ReturnOp::create(builder, kernel.getLoc());
  builder.setInsertionPoint(body->getTerminator());
}

Value LaunchBuilder::clone(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    clone(operand);
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

void LaunchBuilder::store(Value value, unsigned entry) {
  Location loc = value.getLoc();
  if (value.getType().isIndex())
    value = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
  Value index = arith::ConstantIndexOp::create(builder, loc, entry);
  memref::StoreOp::create(builder, loc, value, launch.getArgument(launch.getNumArguments() - 2),
                          ValueRange{index});
  numEntries = std::max(numEntries, entry + 1);
}

Value penstock::loadLaunchConstant(OpBuilder &b, Location loc, Value constants, unsigned entry) {
  Value index = arith::ConstantIndexOp::create(b, loc, entry);
  return memref::LoadOp::create(b, loc, constants, ValueRange{index});
}

bool penstock::usesFloats(Value value) {
  if (isa<FloatType>(value.getType()))
    return true;
  Operation *op = value.getDefiningOp();
  return op && llvm::any_of(op->getOperands(), usesFloats);
}
