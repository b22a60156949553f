//===- Passes.h - From tile programs to NVPTX -------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PASSES_H
#define PENSTOCK_TARGET_NVPTX_PASSES_H

#include "Dialect/NV/NVDialect.h"
#include "Runtime/DeviceKernel.h"
#include "Target/NVPTX/Phases/KernelPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace penstock {

#define GEN_PASS_DECL
#include "Target/NVPTX/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Target/NVPTX/Passes.h.inc"

/// The PTX of a module in the LLVM dialect; empty, with the reason in \p error,
/// if there is none.
std::string emitPtx(mlir::ModuleOp module, const DeviceKernel &kernel, std::string &error);

/// Its two halves: the module as LLVM IR, and what LLVM makes of that.
std::unique_ptr<llvm::Module> translateForPtx(mlir::ModuleOp module, const DeviceKernel &kernel,
                                              llvm::LLVMContext &context, std::string &error);
std::string generatePtx(llvm::Module &module, const DeviceKernel &kernel, std::string &error);

} // namespace penstock

#endif // PENSTOCK_TARGET_NVPTX_PASSES_H
