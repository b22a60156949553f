//===- InterpretFunc.cpp - Execution of return ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Interpreter/Models.h"

using namespace mlir;

namespace penstock::interpreter {

static void execute(func::ReturnOp, Frame &frame) { frame.yielded.clear(); }

void addFuncModels(DialectRegistry &registry) {
  addModels<func::FuncDialect, func::ReturnOp>(registry);
}

} // namespace penstock::interpreter
