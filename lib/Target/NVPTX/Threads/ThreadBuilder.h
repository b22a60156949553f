//===- ThreadBuilder.h - Builder of the code of one thread ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_THREADS_THREADBUILDER_H
#define PENSTOCK_TARGET_NVPTX_THREADS_THREADBUILDER_H

#include "Target/NVPTX/Threads/InlinePtx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace penstock::nvptx {

/// Creates operations at one position, and the small values that all lowerings need.
class ThreadBuilder {
public:
  explicit ThreadBuilder(mlir::func::FuncOp kernel);

  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  mlir::Value asI16(mlir::Value value); ///< of an i32
  mlir::Value asI32(mlir::Value value);
  mlir::Value asI64(mlir::Value value);
  mlir::Value asIndex(mlir::Value value);
  /// Indices in 32 bits; those that do not fit become ones outside of every tensor.
  llvm::SmallVector<mlir::Value> coordinates(mlir::ValueRange indices);

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b) { return b ? add(a, i32(b)) : a; }
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value cmp(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value andBits(mlir::Value a, int64_t mask);
  mlir::Value shiftRight(mlir::Value a, int64_t bits);
  /// The digit of \p number with this weight, below \p extent.
  mlir::Value digitOf(mlir::Value number, int64_t weight, int64_t extent);
  /// The conjunction of two conditions, either of which may be null.
  mlir::Value both(mlir::Value a, mlir::Value b);
  /// Runs \p body under a condition; without one if it is null.
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  /// A vector of these values.
  mlir::Value packed(llvm::ArrayRef<mlir::Value> values);

  /// Begins a statement of inline PTX.
  InlinePtx inlinePtx() { return {builder, loc}; }
  /// Emits a PTX instruction (or several) that keeps its position.
  void ptx(llvm::StringRef text, llvm::ArrayRef<mlir::Value> operands = {});
  /// Emits PTX that computes a value; a predicate ($0 is a word, 0 or 1) keeps its position.
  mlir::Value ptxValue(mlir::Type type, llvm::StringRef text,
                       llvm::ArrayRef<mlir::Value> operands = {});

  mlir::func::FuncOp kernel;
  mlir::OpBuilder builder;
  mlir::Location loc;

private:
  std::map<int32_t, mlir::Value> constants;
};

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_THREADS_THREADBUILDER_H
