//===- InlinePtx.h - Builder of inline PTX ----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds LLVM's constraint strings, and nothing else does. Constraints follow from the types of
// operands: "r" for i32, "l" for i64, and so on.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_THREADS_INLINEPTX_H
#define PENSTOCK_TARGET_NVPTX_THREADS_INLINEPTX_H

#include "mlir/IR/Builders.h"

#include <string>

namespace penstock::nvptx {

/// Freedom of LLVM to move a statement of inline PTX.
enum class PtxEffects : uint8_t {
  None,    ///< may be moved, merged and removed
  Ordered, ///< stays where it is, among others that do
  Memory   ///< also orders accesses to memory
};

/// One statement of inline PTX. Its text names operands by numbers: outputs first ($0, $1, ..),
/// then inputs in the order in which they are added.
class InlinePtx {
public:
  InlinePtx(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  InlinePtx &output(mlir::Type type) { return addOutput(type, "="); }
  /// An output that is written before all inputs are read.
  InlinePtx &earlyOutput(mlir::Type type) { return addOutput(type, "=&"); }
  /// An output in the register of an input. Both have a number; inputs of this kind come before
  /// all others.
  InlinePtx &inOut(mlir::Value value) { return addInOut(value, "="); }
  /// The same, written before all inputs are read.
  InlinePtx &earlyInOut(mlir::Value value) { return addInOut(value, "=&"); }
  InlinePtx &input(mlir::Value value);
  InlinePtx &inputs(llvm::ArrayRef<mlir::Value> values);

  /// Returns the outputs.
  llvm::SmallVector<mlir::Value> emit(llvm::StringRef text, PtxEffects effects);

private:
  InlinePtx &addOutput(mlir::Type type, llvm::StringRef prefix);
  InlinePtx &addInOut(mlir::Value value, llvm::StringRef prefix);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<std::string> outputConstraints, inputConstraints;
};

/// Returns "{$0, $1}" for operands from \p first on.
std::string operandList(int64_t first, int64_t count);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_THREADS_INLINEPTX_H
