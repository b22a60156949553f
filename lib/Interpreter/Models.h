//===- Models.h - Attaching execute functions to operations -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each Interpret*.cpp has one function `execute(SomeOp, Frame &)` for each
// operation of its dialect and attaches them with addModels.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_INTERPRETER_MODELS_H
#define PENSTOCK_INTERPRETER_MODELS_H

#include "Interpreter/Frame.h"
#include "mlir/IR/DialectRegistry.h"

namespace penstock::interpreter {

/// Found by the frame's namespace, so that a file may define its functions in
/// any order.
template <class Op> struct Model : InterpretableOpInterface::ExternalModel<Model<Op>, Op> {
  void interpret(mlir::Operation *op, Frame &frame) const { execute(mlir::cast<Op>(op), frame); }
};

template <class Dialect, class... Ops> void addModels(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, Dialect *) {
    (Ops::template attachInterface<Model<Ops>>(*context), ...);
  });
}

void addArithModels(mlir::DialectRegistry &registry);
void addFuncModels(mlir::DialectRegistry &registry);
void addMathModels(mlir::DialectRegistry &registry);
void addMemRefModels(mlir::DialectRegistry &registry);
void addScfModels(mlir::DialectRegistry &registry);
void addTileModels(mlir::DialectRegistry &registry);
void addTileElementModels(mlir::DialectRegistry &registry);

} // namespace penstock::interpreter

#endif // PENSTOCK_INTERPRETER_MODELS_H
