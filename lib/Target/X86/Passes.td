//===- Passes.td - From loops to LLVM for the host ---------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_X86_PASSES
#define PENSTOCK_TARGET_X86_PASSES

include "mlir/Pass/PassBase.td"

def LowerGemm : Pass<"tile-lower-gemm", "::mlir::func::FuncOp"> {
  let summary = "Lower matmuls to register-blocked loops";
  let description = [{
    Keeps a block of the accumulator in vector registers during the loop over K: each
    iteration loads one row of B, and broadcasts and multiplies each element of a
    column of A. Operands that are not f32 (or i32 for i8), or whose rows of B are
    not contiguous, are packed into a tile of that form first; the runtime packs
    transposed operands. Remaining rows and columns get their own blocks. If B is copied from a
    tensor, it is packed in strips with the columns of a block instead. If a strip takes more than
    3/4 of the L1 cache and at most half of the L2 cache (`l1-bytes`, `l2-bytes`), rows of A are the
    outer loop, and A is read from its tensor. All rows are multiplied by the strips that fit half of
    L2 before the next strips. In other cases, a tile of B that is only copied to and multiplied gets
    padded rows if they are a multiple of 512 bytes, because these would evict each other from L1.

    Matmuls of bf16 and i8, and of f16 with `tiles-f16`, use dot-product instructions, if the target
    has them. The runtime packs B in panels of 16 columns, and A if K is not a multiple of the
    instruction's depth. `tiles` selects AMX: 2 x 2 tiles of the accumulator stay in tile registers,
    and each matmul loads and releases its configuration. `dot-bf16` and `dot-i8` select AVX-512,
    also instead of AMX for matrix-vector products, except of signed i8: they prefetch B if it is
    packed and read from its tensor. For one row, unpacked rows of B are read from their tensor and
    converted, to f32 also for bf16.

    An operand is read from the tensor that it was copied from, if its tile has no other use, the
    tensor is only read, and the copy is in bounds. With `tiles`, A is then packed in tiles. If the
    accumulator is zero before a loop over K that only accumulates into it, the first iteration
    clears the accumulator registers. Between iterations they are stored in the accumulator, with
    `tiles` in blocks of 2 x 2 tiles, and the last iteration stores them in the accumulator or in
    its destination tensor. `dot-bf16` and `dot-i8` do not do this with accumulators. With `tiles`,
    and at least 4 steps along K, the stores of a block overlap the computation of the next block;
    they are nontemporal if the tensor has 4 MB or more.

    B is packed before the outermost loop that does not change it.

    Example (`--tile-lower-gemm --canonicalize`): 16 columns fit in one vector of 512
    bits.

    ```mlir
    !a = memref<1x3xf32, #tile.space<local>>
    !b = memref<3x16xf32, #tile.space<local>>
    !c = memref<1x16xf32, #tile.space<local>>
    func.func @k(%a: !a, %b: !b, %acc: !c) {
      tile.gemm %a, %b into %acc : !a, !b, !c
      return
    }
    ```

    becomes

    ```mlir
    !a = memref<1x3xf32, #tile.space<local>>
    !b = memref<3x16xf32, #tile.space<local>>
    !c = memref<1x16xf32, #tile.space<local>>
    func.func @k(%a: !a, %b: !b, %acc: !c) {
      %c3 = arith.constant 3 : index
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      %0 = vector.load %acc[%c0, %c0] : !c, vector<16xf32>
      %1 = scf.for %k = %c0 to %c3 step %c1 iter_args(%sum = %0) -> (vector<16xf32>) {
        %2 = vector.load %b[%k, %c0] : !b, vector<16xf32>
        %3 = memref.load %a[%c0, %k] : !a
        %4 = vector.broadcast %3 : f32 to vector<16xf32>
        %5 = vector.fma %4, %2, %sum : vector<16xf32>
        scf.yield %5 : vector<16xf32>
      }
      vector.store %1, %acc[%c0, %c0] : !c, vector<16xf32>
      return
    }
    ```

    Tests: test/Target/X86/lower-gemm.mlir
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", "512",
           "width of the target's vector registers">,
    Option<"tiles", "tiles", "bool", "false", "the target has AMX for bf16 and i8">,
    Option<"tilesF16", "tiles-f16", "bool", "false", "the target has AMX for f16">,
    Option<"dotBf16", "dot-bf16", "bool", "false", "the target has AVX-512 BF16">,
    Option<"dotI8", "dot-i8", "bool", "false", "the target has AVX-512 VNNI">,
    Option<"l1Bytes", "l1-bytes", "int64_t", "49152", "L1 data cache of a core">,
    Option<"l2Bytes", "l2-bytes", "int64_t", "2097152", "L2 cache of a core">,
    Option<"report", "report", "bool", "false",
           "describe lowered products in the attribute `penstock.products`">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def LowerToLLVM : Pass<"penstock-lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Convert loops, scalars and vectors to the LLVM dialect";
  let description = [{
    One conversion with upstream's patterns for arith, cf, func, math, memref and
    vector. `exp2`, `exp`, `tanh` and `erf` of f32 become polynomials first, so
    that loops with them vectorize. Pointer arguments of kernels are marked `noalias`,
    because the launch has checked them for overlap.

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
