//===- LLVMPipeline.h - Runs passes of LLVM's by name -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_LLVMPIPELINE_H
#define PENSTOCK_TARGET_LLVMPIPELINE_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace penstock {

/// Each target has a short pipeline of its own: LLVM's O2 gives its kernels the
/// same code and takes more than twice as long.
void runLLVMPipeline(llvm::Module &module, llvm::TargetMachine &machine, const char *pipeline);

} // namespace penstock

#endif // PENSTOCK_TARGET_LLVMPIPELINE_H
