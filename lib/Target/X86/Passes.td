//===- Passes.td - From loops to LLVM for the host ---------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_X86_PASSES
#define PENSTOCK_TARGET_X86_PASSES

include "mlir/Pass/PassBase.td"

def LowerToLLVM : Pass<"penstock-lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Convert loops, scalars and vectors to the LLVM dialect";
  let description = [{
    One conversion with upstream's patterns for arith, cf, func, math, memref and
    vector; `exp2`, `exp`, `log`, `tanh` and `erf` of f32 become polynomials
    first, so that loops around them vectorise. Pointers of kernels do not alias
    each other: the launch has checked it.

    Example: test/Target/X86/lower-to-llvm.mlir
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"];
}

def PackArguments : Pass<"penstock-pack-arguments", "::mlir::ModuleOp"> {
  let summary = "Give functions an entry that takes its arguments from memory";
  let description = [{
    For each function with the attribute `penstock.pack`, adds a function with
    the suffix `.packed` that loads all arguments from an array of 8-byte slots
    and calls it, so that a host can call any kernel through one pointer type.
    Calls marked `penstock.async` become requests to the runtime that carry
    their arguments in such an array.

    Example: test/Target/X86/pack-arguments.mlir
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // PENSTOCK_TARGET_X86_PASSES
