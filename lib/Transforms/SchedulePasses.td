//===- SchedulePasses.td - Passes on whole tiles -----------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first phase: operations still work on whole tiles, and loops have schedules.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TRANSFORMS_SCHEDULEPASSES
#define PENSTOCK_TRANSFORMS_SCHEDULEPASSES

include "mlir/Pass/PassBase.td"

def AttachTarget : Pass<"tile-attach-target", "::mlir::func::FuncOp"> {
  let summary = "Attach the target architecture to kernels";
  let description = [{
    Writes `tile.target` on each kernel, which later passes read. Comes first in every pipeline.

    Example (`--tile-attach-target=target=sm_89`):

    ```mlir
    func.func @k() attributes {tile.kernel} {
      return
    }
    ```

    becomes

    ```mlir
    func.func @k() attributes {tile.kernel, tile.target = "sm_89"} {
      return
    }
    ```

    Tests: test/Transforms/attach-target.mlir
  }];
  let options = [Option<"target", "target", "std::string", "\"sm_100a\"", "sm_80 to sm_120a, or x86">];
}

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
  let summary = "Allow fused multiply-add";
  let description = [{
    Marks floating-point multiplications, additions and subtractions, and the sums of `tile.reduce`, so
    that the code generator may compute `x * y + z` with one rounding. Only runs with
    `{.contract = true}`; the interpreter never fuses.

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
  let summary = "Expand block-scaled matmuls to bf16 matmuls";
  let description = [{
    For all targets except `sm_100a` and `sm_120a`, which have block-scaled MMAs. Each operand is multiplied
    by its scales into a bf16 tile, and the matmul uses these tiles. The conversion is exact: the significand
    of a scaled operand has at most 4 bits with a power-of-two scale (e4m3), and at most 6 with an
    e4m3 scale (2 of e2m1 and 4), and bf16 has 8; and bf16 has the exponent range of f32, beyond which
    `tile.gemm` does not define scaled operands. Below 2^-126, where bf16 loses bits, an operand may be
    rounded.

    In a loop with stated stages, the three operations are one statement, like the original matmul.

    With `unpadded`, the pass only expands matmuls that block-scaled MMAs do not support: 6-bit and mixed
    4-bit operands that `nv-pad-operands` has not padded.

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
  let options = [
    Option<"unpadded", "unpadded", "bool", "false",
           "only products that block-scaled MMAs do not take as they are">
  ];
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

    If a variable, e.g. the slot of a ring, has the same constant before the loop and
    after every N iterations, it is stored at the beginning of the unrolled body: the
    variable is a constant in each copy then.

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

def FlattenTiles : Pass<"tile-flatten-tiles", "::mlir::func::FuncOp"> {
  let summary = "Flatten tiles that are viewed as matrices";
  let description = [{
    A tile of three or more dimensions that `memref.collapse_shape` views as a matrix, `as_matrix` in
    C++, becomes that matrix, with all tiles that are copied or set together with it. Its copies from
    and to tensors name the extents of the box that its rows are (`rows`). In maps, the indices of
    elements along merged dimensions become quotients of the row. Any other use of the tile with its
    own dimensions is an error (PS1757).

    Example (`--tile-flatten-tiles`):

    ```mlir
    !X = memref<?x?x?xf16, strided<[?, ?, 1]>, #tile.space<global>>
    !x = memref<8x16x64xf16, #tile.space<shared>>
    !m = memref<128x64xf16, #tile.space<shared>>
    !t = memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
    !l = memref<128x128xf32, #tile.space<local>>
    func.func @k(%X: !X, %y: index, %x: index, %c: index) attributes {tile.kernel} {
      %Xs = tile.alloc "Xs" : !x
      %acc = tile.alloc "acc" : !l
      tile.copy %X[%y, %x, %c] to %Xs : !X to !x
      %m = memref.collapse_shape %Xs [[0, 1], [2]] : !x into !m
      %t = memref.transpose %m (i, j) -> (j, i) : !m to !t
      tile.gemm %m, %t into %acc overwrite : !m, !t, !l
      return
    }
    ```

    becomes

    ```mlir
    !X = memref<?x?x?xf16, strided<[?, ?, 1]>, #tile.space<global>>
    !m = memref<128x64xf16, #tile.space<shared>>
    !t = memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
    !l = memref<128x128xf32, #tile.space<local>>
    func.func @k(%X: !X, %y: index, %x: index, %c: index) attributes {tile.kernel} {
      %Xs = tile.alloc "Xs" : !m
      %acc = tile.alloc "acc" : !l
      tile.copy %X[%y, %x, %c] to %Xs rows [8, 16] : !X to !m
      %t = memref.transpose %Xs (i, j) -> (j, i) : !m to !t
      tile.gemm %Xs, %t into %acc overwrite : !m, !t, !l
      return
    }
    ```

    Tests: test/Transforms/flatten-tiles.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def OpenStatements : Pass<"tile-open-statements", "::mlir::func::FuncOp"> {
  let summary = "Split groups with a stated role into statements";
  let description = [{
    A group of operations with `tile.role` becomes one statement per operation, with that role, so
    that each operation only waits for its operands, and engines execute copies and MMAs. A stated
    schedule has one entry for the group, so there the pass only splits groups of one operation.

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
    (PS12xx) that names both statements, the buffer, the iterations and a fix. Each
    statement gets its position as `tile.scheduled`; the loop keeps the request.

    The tiles must fit in the memory of `tile.target`, if the kernel has one: all tiles of the
    kernel with one version each (PS1119), and those of each loop with the versions
    that its schedule needs (PS1218, which names the largest `num_stages` that
    fits).

    Example (`--tile-resolve-schedules`): with three stages, the copy is prefetched
    two iterations ahead.

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
        tile.copy %A[%c0, %0] to %As {tile.scheduled = #tile.scheduled<stage = 0, order = 0>} : !A to !s
        tile.gemm %As, %As into %acc {tile.scheduled = #tile.scheduled<stage = 2, order = 1>} : !s, !s, !l
      } {tile.schedule = #tile.schedule<num_stages = 3>}
      return
    }
    ```

    Tests: test/Transforms/resolve-schedules.mlir
  }];
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

    Example (`--tile-resolve-schedules --tile-expand-pipelines --canonicalize`): the copy to the tile runs one
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
      } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
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

def DropSchedules : Pass<"tile-drop-schedules", "::mlir::func::FuncOp"> {
  let summary = "Execute pipelined loops in source order";
  let description = [{
    Removes `tile.schedule` and `tile.scheduled`. Native code whose copies complete when they
    return gains nothing from a schedule: it would only reorder statements that one core
    overlaps anyway. `tile-resolve-schedules` has checked that the schedule is legal.

    Example (`--tile-resolve-schedules --tile-drop-schedules`):

    ```mlir
    func.func @k(%v: memref<f32, #tile.space<local>>, %n: index, %x: f32) attributes {tile.kernel} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %k = %c0 to %n step %c1 {
        tile.store %x, %v[] : f32, memref<f32, #tile.space<local>>
      } {tile.schedule = #tile.schedule<stage = [0], order = [0]>}
      return
    }
    ```

    becomes

    ```mlir
    func.func @k(%v: memref<f32, #tile.space<local>>, %n: index, %x: f32) attributes {tile.kernel} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %k = %c0 to %n step %c1 {
        tile.store %x, %v[] : f32, memref<f32, #tile.space<local>>
      }
      return
    }
    ```

    Tests: test/Transforms/drop-schedules.mlir
  }];
}

#endif // PENSTOCK_TRANSFORMS_SCHEDULEPASSES
