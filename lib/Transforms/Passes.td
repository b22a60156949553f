//===- Passes.td - Passes on tile programs -----------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the order in which the native pipeline runs them. A test runs the example of
// each description.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TRANSFORMS_PASSES
#define PENSTOCK_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def NarrowIndexCasts : Pass<"tile-narrow-index-casts", "::mlir::func::FuncOp"> {
  let summary = "Cast indices to narrow integers through i64";
  let description = [{
    Rewrites a cast of an index to an integer of less than 64 bits as a cast to i64
    and a truncation. Upstream folds a cast to a narrow integer and back to the
    original index, which loses the wrap-around; it folds truncations correctly.
    Runs before the first pass that folds.

    Example (`--tile-narrow-index-casts`):

    ```mlir
    func.func @k(%i: index) -> i8 {
      %0 = arith.index_cast %i : index to i8
      return %0 : i8
    }
    ```

    becomes

    ```mlir
    func.func @k(%i: index) -> i8 {
      %0 = arith.index_cast %i : index to i64
      %1 = arith.trunci %0 : i64 to i8
      return %1 : i8
    }
    ```

    Tests: test/Transforms/narrow-index-casts.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AllowContraction : Pass<"tile-allow-contraction", "::mlir::func::FuncOp"> {
  let summary = "Allow products to be fused with sums";
  let description = [{
    Marks products, sums and differences of floating-point numbers, and the sums of
    `tile.reduce`, so that the code generator may compute `x * y + z` with one rounding. Added where the user compiles
    with `{.contract = true}`; the interpreter never fuses.

    Example (`--tile-allow-contraction`):

    ```mlir
    func.func @k(%x: f32, %y: f32, %z: f32) -> f32 {
      %0 = arith.mulf %x, %y : f32
      %1 = arith.addf %0, %z : f32
      return %1 : f32
    }
    ```

    becomes

    ```mlir
    func.func @k(%x: f32, %y: f32, %z: f32) -> f32 {
      %0 = arith.mulf %x, %y fastmath<contract> : f32
      %1 = arith.addf %0, %z fastmath<contract> : f32
      return %1 : f32
    }
    ```

    Tests: test/Transforms/allow-contraction.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ExpandScaledProducts : Pass<"tile-expand-scaled-products", "::mlir::func::FuncOp"> {
  let summary = "Write products with scales as products of bf16";
  let description = [{
    For targets whose instructions do not multiply with scales, all but `sm_100a`. Each operand times
    its scales becomes a tile of bf16, and these are multiplied. That is exact: the significand of a
    scaled operand has at most 4 bits with a power of two as its scale (e4m3), and at most 6 with an
    e4m3 scale (2 of e2m1 and 4), of the 8 that bf16 has; and bf16 has the exponents of f32, beyond
    which `tile.gemm` does not define scaled operands. Below 2^-126, where bf16 loses bits, an
    operand may be rounded.

    In a loop whose stages are stated, the three operations are one statement, as the product was.

    Example (`--tile-expand-scaled-products --canonicalize`):

    ```mlir
    !a = memref<128x128xf8E4M3FN, #tile.space<shared>>
    !t = memref<128x128xf8E4M3FN, strided<[1, 128]>, #tile.space<shared>>
    !s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
    !d = memref<128x128xf32, #tile.space<local>>
    func.func @k(%A: !a, %B: !a, %SA: !s, %SB: !s, %acc: !d) {
      %Bt = memref.transpose %B (i, j) -> (j, i) : !a to !t
      tile.gemm %A, %Bt into %acc scales(%SA, %SB) : !a, !t, !d scales(!s, !s)
      return
    }
    ```

    becomes

    ```mlir
    !a = memref<128x128xf8E4M3FN, #tile.space<shared>>
    !s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
    !d = memref<128x128xf32, #tile.space<local>>
    !l = memref<128x128xbf16, #tile.space<local>>
    !r = memref<128x128xbf16, #tile.space<shared>>
    !rt = memref<128x128xbf16, strided<[1, 128]>, #tile.space<shared>>
    func.func @k(%A: !a, %B: !a, %SA: !s, %SB: !s, %acc: !d) {
      %c128 = arith.constant 128 : index
      %c4 = arith.constant 4 : index
      %c32 = arith.constant 32 : index
      %0 = tile.alloc : !r
      %1 = tile.alloc : !l
      tile.map %1 ins(%A) dims [[0, 1]] {
      ^bb0(%arg5: f8E4M3FN):
        %2 = tile.element_index 0
        %3 = tile.element_index 1
        %4 = arith.extf %arg5 : f8E4M3FN to f32
        %5 = arith.divui %3, %c32 : index
        %6 = arith.divui %2, %c32 : index
        %7 = arith.remui %6, %c4 : index
        %8 = arith.muli %7, %c4 : index
        %9 = arith.remui %5, %c4 : index
        %10 = arith.addi %8, %9 : index
        %11 = arith.divui %2, %c128 : index
        %12 = arith.divui %5, %c4 : index
        %13 = arith.remui %2, %c32 : index
        %14 = tile.load %SA[%11, %12, %13, %10] : !s -> f8E8M0FNU
        %15 = arith.extf %14 : f8E8M0FNU to f32
        %16 = arith.mulf %4, %15 : f32
        %17 = arith.truncf %16 : f32 to bf16
        tile.yield %17 : bf16
      } : !l ins(!a)
      tile.map %0 ins(%B) dims [[0, 1]] {
      ^bb0(%arg5: f8E4M3FN):
        %2 = tile.element_index 0
        %3 = tile.element_index 1
        %4 = arith.extf %arg5 : f8E4M3FN to f32
        %5 = arith.divui %3, %c32 : index
        %6 = arith.divui %2, %c32 : index
        %7 = arith.remui %6, %c4 : index
        %8 = arith.muli %7, %c4 : index
        %9 = arith.remui %5, %c4 : index
        %10 = arith.addi %8, %9 : index
        %11 = arith.divui %2, %c128 : index
        %12 = arith.divui %5, %c4 : index
        %13 = arith.remui %2, %c32 : index
        %14 = tile.load %SB[%11, %12, %13, %10] : !s -> f8E8M0FNU
        %15 = arith.extf %14 : f8E8M0FNU to f32
        %16 = arith.mulf %4, %15 : f32
        %17 = arith.truncf %16 : f32 to bf16
        tile.yield %17 : bf16
      } : !r ins(!a)
      %transpose = memref.transpose %0 (d0, d1) -> (d1, d0) : !r to !rt
      tile.gemm %1, %transpose into %acc : !l, !rt, !d
      return
    }
    ```

    Tests: test/Transforms/expand-scaled-products.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::penstock::tile::TileDialect"];
}

def UnrollLoops : Pass<"tile-unroll-loops", "::mlir::func::FuncOp"> {
  let summary = "Unroll loops as requested by their tile.unroll attribute";
  let description = [{
    A factor of N makes N copies of the body and a second loop for the remaining
    iterations. 0 requests a full unroll and is an error (PS1113) unless the trip
    count is a constant of at most 1024. 1 disables unrolling. A loop whose step is
    not a constant is not unrolled, with a warning (PS1113). The attribute is
    removed. Upstream's utility does the rewriting.

    Example (`--tile-unroll-loops --canonicalize`):

    ```mlir
    !t = memref<8xf32, #tile.space<local>>
    func.func @k(%t: !t, %x: f32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      scf.for %i = %c0 to %c8 step %c1 {
        tile.store %x, %t[%i] : f32, !t
      } {tile.unroll = 2 : i64}
      return
    }
    ```

    becomes

    ```mlir
    !t = memref<8xf32, #tile.space<local>>
    func.func @k(%t: !t, %x: f32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %c2 = arith.constant 2 : index
      scf.for %i = %c0 to %c8 step %c2 {
        tile.store %x, %t[%i] : f32, !t
        %0 = arith.addi %i, %c1 : index
        tile.store %x, %t[%0] : f32, !t
      }
      return
    }
    ```

    Tests: test/Transforms/unroll-loops.mlir
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def OpenStatements : Pass<"tile-open-statements", "::mlir::func::FuncOp"> {
  let summary = "Make statements of what a stated role groups";
  let description = [{
    A group of operations with `tile.role` becomes one statement for each operation, with that
    role, so that each waits for what it needs itself, and engines take copies and products. In a
    loop with a stated schedule, which has one entry for the group, this happens only to groups of
    one operation.

    Example (`--tile-open-statements`):

    ```mlir
    !s = memref<64xf32, #tile.space<shared>>
    func.func @k(%n: index, %zero: f32) attributes {tile.kernel} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %X = tile.alloc "X" : !s
      %Y = tile.alloc "Y" : !s
      scf.for %k = %c0 to %n step %c1 {
        tile.statement "move" {
          tile.fill %X, %zero : !s, f32
          tile.copy %X to %Y : !s to !s
        } {tile.role = "mover"}
      } {tile.schedule = #tile.schedule<num_stages = 2>}
      return
    }
    ```

    becomes

    ```mlir
    ...
    tile.fill %X, %arg1 {tile.role = "mover"}
    tile.copy %X to %Y {tile.role = "mover"}
    ...
    ```

    Tests: test/Transforms/open-statements.mlir
  }];
}

def ResolveSchedules : Pass<"tile-resolve-schedules", "::mlir::func::FuncOp"> {
  let summary = "Check or infer the schedule of every pipelined loop";
  let description = [{
    Translates each loop with `tile.schedule` to a problem of lib/Scheduling. An
    explicit `stage` and `order` is checked against every dependence of the body;
    from `num_stages`, a schedule is inferred. An illegal schedule is an error
    (PS12xx) that names both statements, the buffer, the iterations and a fix. The
    result replaces the attribute and is marked `resolved`.

    With `arch`, the tiles must fit in that architecture's memory: all tiles of the
    kernel with one version each (PS1119), and those of each loop with the versions
    that its schedule needs (PS1218, which names the largest `num_stages` that
    fits).

    Example (`--tile-resolve-schedules`): three stages give the copy a lead of two
    iterations.

    ```mlir
    !A = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<64x64xf16, #tile.space<shared>>
    !l = memref<64x64xf32, #tile.space<local>>
    func.func @k(%A: !A, %n: index) attributes {tile.kernel} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %As = tile.alloc "As" : !s
      %acc = tile.alloc "acc" : !l
      scf.for %k = %c0 to %n step %c1 {
        %0 = arith.muli %k, %c64 : index
        tile.copy %A[%c0, %0] to %As : !A to !s
        tile.gemm %As, %As into %acc : !s, !s, !l
      } {tile.schedule = #tile.schedule<num_stages = 3>}
      return
    }
    ```

    becomes

    ```mlir
    !A = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<64x64xf16, #tile.space<shared>>
    !l = memref<64x64xf32, #tile.space<local>>
    func.func @k(%A: !A, %n: index) attributes {tile.kernel} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %As = tile.alloc "As" : !s
      %acc = tile.alloc "acc" : !l
      scf.for %k = %c0 to %n step %c1 {
        %0 = arith.muli %k, %c64 : index
        tile.copy %A[%c0, %0] to %As : !A to !s
        tile.gemm %As, %As into %acc : !s, !s, !l
      } {tile.schedule = #tile.schedule<stage = [0, 2], order = [0, 1], resolved, inferred>}
      return
    }
    ```

    Tests: test/Transforms/resolve-schedules.mlir
  }];
  let options = [
    Option<"arch", "arch", "std::string", "\"\"",
           "the architecture whose memory the tiles must fit; empty: any">];
}

def ExpandPipelines : Pass<"tile-expand-pipelines", "::mlir::func::FuncOp"> {
  let summary = "Expand pipelined loops in schedule order";
  let description = [{
    For a loop of n iterations and a last stage S, step t runs statement i for
    iteration t - stage(i), statements in schedule order. The first S steps are
    peeled, or a loop if there are more than 8. The last S steps are a loop. In
    both, each statement is guarded by the existence of its iteration; the steady
    loop between them has no guards. This is correct for every n, including 0 and
    values below S. Buffers with several versions become rings; iteration k uses
    slot k mod V. If a buffer is read after the loop, its last slot is copied out.
    Pure scalars are rematerialized at each use, for the iteration of that
    statement. Missing waits are inserted before the first conflicting statement.
    `scf::pipelineForLoop` is not used: it passes values through loop arguments and
    supports neither buffers nor waits.

    All loops of a kernel are analyzed and verified before the first is expanded.
    Inner loops are expanded first and stay one statement of the outer loop.

    Example (`--tile-expand-pipelines --canonicalize`): the copy to the tile runs one
    iteration ahead, in a ring of two slots. The epilogue is left out here.

    ```mlir
    !T = memref<?xf32, strided<[1]>, #tile.space<global>>
    !t = memref<1xf32, #tile.space<shared>>
    func.func @k(%A: !T, %B: !T, %n: index) attributes {tile.kernel} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %t = tile.alloc "t" : !t
      scf.for %k = %c0 to %n step %c1 {
        tile.copy %A[%k] to %t : !T to !t
        tile.copy %t to %B[%k] : !t to !T
      } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1], resolved>}
      return
    }
    ```

    becomes

    ```mlir
    %t = tile.alloc "t" : memref<2x1xf32, #tile.space<shared>>
    ...
    scf.if
      memref.subview %t[0, 0] [1, 1] [1, 1]
      tile.copy %arg0[%c0] to
    ...
    scf.for %arg3 = %c1 to
      %4 = arith.remsi %arg3, %c2 : index
      memref.subview %t[%4, 0] [1, 1] [1, 1]
      tile.copy %arg0[%arg3] to %subview
      %5 = arith.subi %arg3, %c1 : index
      %6 = arith.remsi %5, %c2 : index
      memref.subview %t[%6, 0] [1, 1] [1, 1]
      tile.copy %subview_0 to %arg1[%5]
    ...
    ```

    Tests: test/Transforms/expand-pipelines.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect"];
}

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
    transposed operands. Remaining rows and columns get their own blocks. A tile of B that
    is only copied to and multiplied gets longer rows if they are a multiple of 1 KB, because
    these would displace each other in the first-level cache.

    Products of bf16 and i8, and of f16 with `tiles-f16`, use instructions that add up groups
    of elements, if the target has them. The runtime packs B in panels of 16 columns, and A where K is not
    a multiple of what an instruction takes. `tiles` selects AMX: 2 x 2 tiles of the
    accumulator stay in tile registers, and each product loads and releases its own
    configuration. `dot-bf16` and `dot-i8` select AVX-512.

    These products take an operand from the tensor that it was copied from, if its tile
    has no other use, the tensor is only read, and the copy is within it. With `tiles`,
    A is then packed in tiles. If the accumulator is zero before a loop over K that only
    multiplies into it, the first iteration clears the sums in registers, further ones find
    them in blocks of 2 x 2 tiles, and the last one stores them in the accumulator, or in the
    tensor that it is copied to.

    Example (`--tile-lower-gemm --canonicalize`): 16 columns fit in one vector of 512
    bits.

    ```mlir
    !a = memref<1x2xf32, #tile.space<local>>
    !b = memref<2x16xf32, #tile.space<local>>
    !c = memref<1x16xf32, #tile.space<local>>
    func.func @k(%a: !a, %b: !b, %acc: !c) {
      tile.gemm %a, %b into %acc : !a, !b, !c
      return
    }
    ```

    becomes

    ```mlir
    !a = memref<1x2xf32, #tile.space<local>>
    !b = memref<2x16xf32, #tile.space<local>>
    !c = memref<1x16xf32, #tile.space<local>>
    func.func @k(%a: !a, %b: !b, %acc: !c) {
      %c2 = arith.constant 2 : index
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      %0 = vector.load %acc[%c0, %c0] : !c, vector<16xf32>
      %1 = scf.for %k = %c0 to %c2 step %c1 iter_args(%sum = %0) -> (vector<16xf32>) {
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

#endif // PENSTOCK_TRANSFORMS_PASSES
