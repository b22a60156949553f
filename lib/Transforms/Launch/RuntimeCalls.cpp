//===- RuntimeCalls.cpp - Calls from generated code to the runtime --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Transforms/Launch/RuntimeCalls.h"

using namespace mlir;
using namespace penstock;

Value penstock::runtimeHandle(OpBuilder &builder) {
  Operation *op = builder.getInsertionBlock()->getParentOp();
  auto function = dyn_cast<func::FuncOp>(op);
  if (!function)
    function = op->getParentOfType<func::FuncOp>();
  return function.getArguments().back();
}

void penstock::callRuntime(OpBuilder &builder, Location loc, StringRef name, ValueRange arguments) {
  SmallVector<Value> operands = {runtimeHandle(builder)};
  llvm::append_range(operands, arguments);
  auto module = builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto declaration = func::FuncOp::create(
        builder, loc, name, builder.getFunctionType(ValueRange(operands).getTypes(), {}));
    declaration.setPrivate();
  }
  func::CallOp::create(builder, loc, name, TypeRange(), operands);
}
