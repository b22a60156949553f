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
    vector. `exp2`, `exp`, `tanh` and `erf` of f32 become polynomials first, so
    that loops with them vectorize. Pointer arguments of kernels are marked as not
    aliasing, because the launch has checked it.

    Example (`--penstock-lower-to-llvm`):

    ```mlir
    func.func @k(%x: f32, %y: f32) -> f32 {
      %0 = arith.addf %x, %y : f32
      return %0 : f32
    }
    ```

    becomes

    ```mlir
    llvm.func @k(%x: f32, %y: f32) -> f32 {
      %0 = llvm.fadd %x, %y : f32
      llvm.return %0 : f32
    }
    ```

    Tests: test/Target/X86/lower-to-llvm.mlir
  }];
  let options = [Option<"vectorBits", "vector-bits", "unsigned", "512",
                        "width of the target's vector registers">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"];
}

def PackArguments : Pass<"penstock-pack-arguments", "::mlir::ModuleOp"> {
  let summary = "Create entry functions that load their arguments from memory";
  let description = [{
    For each function with the attribute `penstock.pack`, adds a function with the
    suffix `.packed` that loads all arguments from an array of 8-byte slots and calls
    it, so that a host can call any kernel through one pointer type. Calls marked
    `penstock.async` become requests to the runtime that carry their arguments in
    such an array.

    Example (`--penstock-pack-arguments`):

    ```mlir
    llvm.func @k(%n: i64, %x: f32) attributes {penstock.pack} {
      llvm.return
    }
    ```

    becomes

    ```mlir
    llvm.func @k.packed(%arguments: !llvm.ptr) {
      %0 = llvm.getelementptr %arguments[0] : (!llvm.ptr) -> !llvm.ptr, i8
      %1 = llvm.load %0 : !llvm.ptr -> i64
      %2 = llvm.getelementptr %arguments[8] : (!llvm.ptr) -> !llvm.ptr, i8
      %3 = llvm.load %2 : !llvm.ptr -> f32
      llvm.call @k(%1, %3) : (i64, f32) -> ()
      llvm.return
    }
    llvm.func @k(%n: i64, %x: f32) attributes {penstock.pack} {
      llvm.return
    }
    ```

    Tests: test/Target/X86/pack-arguments.mlir
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // PENSTOCK_TARGET_X86_PASSES
