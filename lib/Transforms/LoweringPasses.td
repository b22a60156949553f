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
    `tile.divmod` becomes a multiplication by a number from the array, with a
    division if operands are out of its range.

    With `requirements`, each `tile.assert` outside of everything else whose
    condition follows from the kernel's arguments, by integer arithmetic, moves to
    `@k.launch`, so that a launch is refused before it starts.

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

def LowerGemm : Pass<"tile-lower-gemm", "::mlir::func::FuncOp"> {
  let summary = "Lower matrix products to register-blocked loops";
  let description = [{
    Keeps a block of the accumulator in vector registers during the loop over K: each
    iteration loads one row of B, and broadcasts and multiplies each element of a
    column of A. Operands that are not f32 (or i32 for i8), or whose rows of B are
    not contiguous, are packed into a tile of that form first; the runtime packs
    transposed operands. Remaining rows and columns get their own blocks. If B is copied from a
    tensor, it is packed in strips of as many columns as a block has, instead of being copied. If
    a strip takes more than 3/4 of the L1 cache and at most half of the L2 cache (`l1-bytes`,
    `l2-bytes`), rows of A change slowest, and A is read in its tensor. As many strips as take half
    of L2 are multiplied by all rows before the next ones. Another tile of B that
    is only copied to and multiplied gets longer rows if they are a multiple of 512 bytes, because
    these would displace each other in the first-level cache.

    Products of bf16 and i8, and of f16 with `tiles-f16`, use instructions that add up groups
    of elements, if the target has them. The runtime packs B in panels of 16 columns, and A where K is not
    a multiple of what an instruction takes. `tiles` selects AMX: 2 x 2 tiles of the
    accumulator stay in tile registers, and each product loads and releases its own
    configuration. `dot-bf16` and `dot-i8` select AVX-512, also instead of AMX for products of one
    row, except of signed i8: they prefetch B if it is packed and read in its tensor. For one row, rows of
    B that is not packed are read and converted in their tensor, in f32 also for bf16.

    Products take an operand from the tensor that it was copied from, if its tile
    has no other use, the tensor is only read, and the copy is within it. With `tiles`,
    A is then packed in tiles. If the accumulator is zero before a loop over K that only
    multiplies into it, the first iteration clears the sums in registers, further ones find
    them in the accumulator, with `tiles` in blocks of 2 x 2 tiles, and the last one stores them in the
    accumulator, or in the tensor that it is copied to. `dot-bf16` and `dot-i8` do not do this with sums.
    With `tiles`, and at least 4 steps along K, the result of a block is stored while the next one is
    multiplied, by nontemporal stores if the tensor has 4 MB or more.

    B is packed before the outermost loop around the product that does not change it.

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

    Tests: test/Transforms/lower-gemm.mlir
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

def FuseElements : Pass<"tile-fuse-elements", "::mlir::func::FuncOp"> {
  let summary = "Lower sequences of operations on elements to one loop each";
  let description = [{
    Copies, fills, maps and reductions along the last dimension that follow each other, have
    one shape, and meet in elements of equal index only become one loop: an element goes from
    one to the next in a register. It is not stored if every user of its tile sets it first.
    Copies are within their tensors in this loop. At an edge the operations are kept, for
    `tile-lower-to-loops`.

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
    division by zero returns zero. `tile.assert` becomes such a check. The module
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
