//===- Pipelines.h - The passes of each target, in order --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_PIPELINES_H
#define PENSTOCK_COMPILER_PIPELINES_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace penstock {

struct NativePipelineOptions {
  bool lateCompletion = false;
  unsigned vectorBits = 512;
};

/// From a tile program to loops over elements, still in upstream's dialects.
void buildNativeLoopPipeline(mlir::OpPassManager &passes, const NativePipelineOptions &options);
/// From there to the LLVM dialect.
void buildNativeLLVMPipeline(mlir::OpPassManager &passes);

/// Registers `--penstock-native-loops` and `--penstock-native`, and all passes.
void registerPasses();

/// The dialects of tile programs and of everything they are lowered to, with
/// the models that passes and the interpreter need.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace penstock

#endif // PENSTOCK_COMPILER_PIPELINES_H
