//===- LoweringPasses.td - From tiles to loops -------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The second phase: what a launch computes, and tiles in loops over their elements.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TRANSFORMS_LOWERINGPASSES
#define PENSTOCK_TRANSFORMS_LOWERINGPASSES

include "mlir/Pass/PassBase.td"

def LowerLaunch : Pass<"tile-lower-launch", "::mlir::ModuleOp"> {
  let summary = "Split a kernel into per-launch and per-block code";
  let description = [{
    For each kernel `@k`, creates a function `@k.launch` that stores the extents of
    the grid and all launch constants in an array of i64, and extends the kernel's
    arguments by the block number, that array, the block's scratch memory and a
    handle of the runtime. `tile.grid` becomes arithmetic on the block number;
    `tile.divmod` becomes a quotient and a remainder with the attribute
    `penstock.reciprocal`: the entry of the array that has the multiplier of the
    divisor, before its shift and the divisor. `tile-guard-faults` multiplies.

    On GPUs, which call functions to divide 64 bits, this holds for `arith.divsi` and
    `arith.remsi` by launch constants, too, and what is known to fit is divided in 32
    bits: block numbers and extents of tensors are below 2^31. A swizzled grid divides
    by `tile.divmod` there.

    With `requirements`, each top-level `tile.assert` whose condition is integer
    arithmetic on the kernel's arguments moves to `@k.launch`, which rejects the
    launch before the kernel starts.

    With `clusters`, the blocks of a cluster that `tile.grid` prefers have consecutive
    numbers, and extents are rounded up to whole clusters.

    Example (`--tile-lower-launch --canonicalize`): the grid has one dimension; the
    extents of the other two are 1.

    ```mlir
    func.func @k(%n: index) attributes {tile.kernel} {
      %i = tile.grid %n : index
      tile.print "block {}" %i : index
      return
    }
    ```

    becomes

    ```mlir
    func.func @k.launch(%n: index, %launch: memref<?xi64>, %runtime: !llvm.ptr) attributes {penstock.pack} {
      %c1_i64 = arith.constant 1 : i64
      %c2 = arith.constant 2 : index
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      %0 = arith.index_cast %n : index to i64
      memref.store %0, %launch[%c0] : memref<?xi64>
      memref.store %c1_i64, %launch[%c1] : memref<?xi64>
      memref.store %c1_i64, %launch[%c2] : memref<?xi64>
      return
    }
    func.func @k(%n: index, %block: index, %launch: memref<?xi64>, %scratch: memref<?xi8>, %runtime: !llvm.ptr)
        attributes {penstock.launch_constants = 3 : i64, penstock.pack, tile.kernel} {
      tile.print "block {}" %block : index
      return
    }
    ```

    Tests: test/Transforms/lower-launch.mlir
  }];
  let options = [Option<"requirements", "requirements", "bool", "false",
                        "check assertions at the launch">,
                 Option<"clusters", "clusters", "bool", "false",
                        "number the blocks of clusters consecutively">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def OutlineAsync : Pass<"tile-outline-async", "::mlir::ModuleOp"> {
  let summary = "Lower asynchronous operations for a CPU";
  let description = [{
    A CPU has no copy engine. With `late=false` asynchronous operations become
    synchronous and waits are removed. With `late=true` each is outlined to a
    function; the call that replaces it is marked `penstock.async` with the number of
    its name, and `pack-arguments` turns it into a request to the runtime. The
    runtime runs it as late as the waits allow, or at a random earlier time, so that
    a missing wait is detected.

    Example (`--tile-outline-async`):

    ```mlir
    !t = memref<8xf32, #tile.space<local>>
    func.func @k(%s: !t, %t: !t) attributes {tile.kernel} {
      tile.copy %s to %t async "load" : !t to !t
      tile.wait ["load"]
      return
    }
    ```

    becomes

    ```mlir
    !t = memref<8xf32, #tile.space<local>>
    func.func @k(%s: !t, %t: !t) attributes {tile.kernel} {
      tile.copy %s to %t : !t to !t
      return
    }
    ```

    Tests: test/Transforms/outline-async.mlir
  }];
  let options = [Option<"late", "late", "bool", "false",
                        "let asynchronous operations complete late">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def FuseElements : Pass<"tile-fuse-elements", "::mlir::func::FuncOp"> {
  let summary = "Lower sequences of operations on elements to one loop each";
  let description = [{
    Fuses consecutive copies, fills, maps and reductions along the last dimension into one loop, if
    they have the same shape and only depend on elements of equal index: an element passes from one
    to the next in a register. It is not stored if every user of its tile sets it first. The fused
    loop runs if all copies are in bounds; at an edge, the original operations run, which
    `tile-lower-to-loops` lowers.

    Example (`--tile-fuse-elements --canonicalize`): `%t` stays in registers.

    ```mlir
    !t = memref<4x8xf32, #tile.space<local>>
    !v = memref<4xf32, #tile.space<local>>
    func.func @k(%x: f32, %sum: f32) attributes {tile.kernel} {
      %t = tile.alloc "t" : !t
      %v = tile.alloc "v" : !v
      tile.fill %t, %x : !t, f32
      tile.reduce sum %t along 1 into %v accumulate : !t, !v
      return
    }
    ```

    becomes

    ```mlir
    !v = memref<4xf32, #tile.space<local>>
    func.func @k(%x: f32, %sum: f32) attributes {tile.kernel} {
      %c8 = arith.constant 8 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %c0 = arith.constant 0 : index
      %v = tile.alloc "v" : !v
      scf.for %i = %c0 to %c4 step %c1 {
        %0 = memref.load %v[%i] : !v
        %1 = scf.for %j = %c0 to %c8 step %c1 iter_args(%s = %0) -> (f32) {
          %2 = arith.addf %s, %x fastmath<reassoc> : f32
          scf.yield %2 : f32
        }
        memref.store %1, %v[%i] : !v
      }
      return
    }
    ```

    Tests: test/Transforms/fuse-elements.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect"];
}

def LowerToLoops : Pass<"tile-lower-to-loops", "::mlir::ModuleOp"> {
  let summary = "Lower the remaining tile operations to loops over elements";
  let description = [{
    Copies, fills, reductions, maps and parallel bodies become loops whose innermost
    level is along the last dimension, in a form that LLVM's vectorizer supports. A
    copy that is entirely within its tensor has loops of constant length; at an edge
    it fills first and then copies the existing elements. Sums may be reassociated,
    because their order is undefined.

    Example (`--tile-lower-to-loops --canonicalize`):

    ```mlir
    !t = memref<4x8xf32, #tile.space<local>>
    func.func @k(%t: !t, %x: f32) {
      tile.fill %t, %x : !t, f32
      return
    }
    ```

    becomes

    ```mlir
    !t = memref<4x8xf32, #tile.space<local>>
    func.func @k(%t: !t, %x: f32) {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %c4 step %c1 {
        scf.for %j = %c0 to %c8 step %c1 {
          memref.store %x, %t[%i, %j] : !t
        }
      }
      return
    }
    ```

    Tests: test/Transforms/lower-to-loops.mlir
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def GuardFaults : Pass<"tile-guard-faults", "::mlir::ModuleOp"> {
  let summary = "Guard indices, slices, divisions and assertions";
  let description = [{
    A kernel must not access memory out of bounds or stop the process. If an index, a
    slice's offset, a divisor or a loop's step is not a constant, a check is inserted
    that reports a fault to the runtime and continues with a default value: an
    out-of-bounds element reads as zero and is not written, a slice is clamped, a
    division by zero returns zero. `tile.assert` becomes such a check. Divisions with
    `penstock.reciprocal` become multiplications, which are right for all integers. The module
    attribute `penstock.faults` lists all checks with code, source location and
    message. Runs on loops over elements, because the bodies of maps may only compute
    values.

    Example (`--tile-guard-faults`): an unsigned division by zero is fault 0.

    ```mlir
    func.func @k(%a: i32, %b: i32, %block: index) -> i32 {
      %0 = arith.divui %a, %b : i32
      return %0 : i32
    }
    ```

    becomes

    ```mlir
    module attributes {penstock.faults = [[1403,
    ...
    func.func private @penstock_fault(index, i32)
    func.func @k(%arg0: i32, %arg1: i32, %arg2: index) -> i32 {
      ...
      %0 = arith.cmpi eq, %arg1, %c0_i32 : i32
      scf.if %0 {
        func.call @penstock_fault(%arg2, %c0_i32_0) : (index, i32) -> ()
      }
      %1 = arith.select %0, %c1_i32, %arg1 : i32
      %2 = arith.divui %arg0, %1 : i32
      %3 = arith.select %0, %c0_i32, %2 : i32
      return %3 : i32
    ```

    Tests: test/Transforms/guard-faults.mlir
  }];
  let options = [
    Option<"keepElements", "keep-elements", "bool", "false",
           "keep `tile.load`, `tile.store` and `tile.atomic`, with indices moved inside">,
    Option<"memoryIn", "memory-in", "std::string", "\"\"",
           "guard elements and slices only in kernels with this attribute">
  ];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def PlaceTiles : Pass<"tile-place-tiles", "::mlir::func::FuncOp"> {
  let summary = "Allocate tiles in the block's scratch memory";
  let description = [{
    Each `tile.alloc` becomes a view of the scratch memory at a constant offset, a
    multiple of 64 bytes. Mutable scalars become stack slots, so that LLVM keeps them
    in registers. The kernel's attribute `penstock.scratch` is the total size.
    Memory spaces are dropped, because they have no meaning on a CPU.

    Example (`--tile-place-tiles`): 5 x 3 f16 are 30 bytes, so the second tile starts
    at 64.

    ```mlir
    func.func @k(%x: f32, %block: index, %launch: memref<?xi64>, %scratch: memref<?xi8>, %runtime: !llvm.ptr)
        attributes {tile.kernel} {
      %c0 = arith.constant 0 : index
      %a = tile.alloc "a" : memref<5x3xf16, #tile.space<shared>>
      %b = tile.alloc "b" : memref<4xf32, #tile.space<local>>
      memref.store %x, %b[%c0] : memref<4xf32, #tile.space<local>>
      return
    }
    ```

    becomes

    ```mlir
    func.func @k(%x: f32, %block: index, %launch: memref<?xi64>, %scratch: memref<?xi8>, %runtime: !llvm.ptr)
        attributes {penstock.scratch = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c0_0 = arith.constant 0 : index
      %a = memref.view %scratch[%c0_0][] : memref<?xi8> to memref<5x3xf16>
      %c64 = arith.constant 64 : index
      %b = memref.view %scratch[%c64][] : memref<?xi8> to memref<4xf32>
      memref.store %x, %b[%c0] : memref<4xf32>
      return
    }
    ```

    Tests: test/Transforms/place-tiles.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def ExpandNarrowFloats : Pass<"expand-narrow-floats", "::mlir::ModuleOp"> {
  let summary = "Lower f8 and bf16 to integer arithmetic";
  let description = [{
    x86 has no instructions that convert f8, and the one for bf16 flushes subnormal
    numbers. Extensions and truncations of these types become exact integer
    arithmetic, rounding to nearest even; other arithmetic on them is done in f32 and
    rounded.

    Example (`--expand-narrow-floats`): a bf16 is the upper half of an f32.

    ```mlir
    func.func @k(%x: bf16) -> f32 {
      %0 = arith.extf %x : bf16 to f32
      return %0 : f32
    }
    ```

    becomes

    ```mlir
    func.func @k(%x: bf16) -> f32 {
      %c16_i32 = arith.constant 16 : i32
      %0 = arith.bitcast %x : bf16 to i16
      %1 = arith.extui %0 : i16 to i32
      %2 = arith.shli %1, %c16_i32 : i32
      %3 = arith.bitcast %2 : i32 to f32
      return %3 : f32
    }
    ```

    Tests: test/Transforms/expand-narrow-floats.mlir
  }];
  let options = [
    Option<"convertsBf16", "converts-bf16", "bool", "false",
           "the target has exact instructions that convert bf16">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif // PENSTOCK_TRANSFORMS_LOWERINGPASSES
