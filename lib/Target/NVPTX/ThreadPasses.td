//===- ThreadPasses.td - The code of one thread ------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The third phase: the passes distribute tiles over threads, synchronize them, check
// the barriers, and write the code of one thread.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_THREADPASSES
#define PENSTOCK_TARGET_NVPTX_THREADPASSES

include "Target/NVPTX/KernelPass.td"

def AssignLayouts : KernelPass<"nv-assign-layouts", "Ordered", "Ordered"> {
  let summary = "Choose the register layout of each local tile";
  let description = [{
    Instructions dictate the layouts of accumulators and of tensor memory. Warps
    divide an accumulator of `mma.sync` so that they load the fewest bytes of its
    operands, which makes their parts about square. They have whole rows if tiles
    used with it are reduced along rows, are the left operand of another MMA, or
    are an accumulator of another shape. Tiles that are used with accumulators
    follow, uses in the innermost loops first. All others are distributed so that
    memory accesses coalesce. A vector has a slice of the layout of the tiles that
    it is broadcast to or reduced from. Each layout is written to its `tile.alloc`
    as `nv.layout`. If an operation needs another layout, the pass inserts a
    `tile.copy` into a tile with that layout. Tiles that are indexed at run time,
    transposed or sliced move to shared memory. Tiles that take more registers than
    a thread has are an error (PS1603).

    Example (`--nv-assign-layouts`): eight threads reduce a row, so that each sum has
    eight copies.

    ```mlir
    !T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
    !s = memref<32x32xf32, #tile.space<shared>>
    !l = memref<32xf32, #tile.space<local>>
    func.func @k(%x: !T, %n: index) attributes {tile.kernel, tile.target = "sm_100a", nv.tile_program, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %X = tile.alloc "X" : !s
      %sum = tile.alloc "sum" : !l
      scf.for %k = %c0 to %n step %c1 {
        tile.copy %x[%c0, %k] to %X : !T to !s
        tile.reduce sum %X along 1 into %sum accumulate : !s, !l
      }
      return
    }
    ```

    becomes

    ```mlir
    !T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
    !s = memref<32x32xf32, #tile.space<shared>>
    !l = memref<32xf32, #tile.space<local>>
    func.func @k(%x: !T, %n: index) attributes {tile.kernel, tile.target = "sm_100a", nv.tile_program, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %X = tile.alloc "X" : !s
      %sum = tile.alloc "sum" {nv.layout = #nv.layout<"32 threads [8:copies 16:0*1] registers [2:0*16]">} : !l
      scf.for %k = %c0 to %n step %c1 {
        tile.copy %x[%c0, %k] to %X : !T to !s
        tile.reduce sum %X along 1 into %sum accumulate : !s, !l
      }
      return
    }
    ```

    Tests: test/Target/NVPTX/assign-layouts.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def PlanMemory : KernelPass<"nv-plan-memory", "Ordered", "Ordered"> {
  let summary = "Assign offsets in shared memory";
  let description = [{
    Writes `nv.offset` on each shared tile. A tile that is only used after others have been
    deallocated reuses their memory, with a synchronization in between; `nv-write-plans`
    deallocates the tiles of a loop. All other tiles have disjoint memory.

    Example (`--nv-plan-memory`): `Y` reuses the memory of `X`.

    ```mlir
    !T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
    !s = memref<32x32xf32, #tile.space<shared>>
    func.func @k(%x: !T, %y: !T) attributes {tile.kernel, tile.target = "sm_100a", nv.tile_program, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %X = tile.alloc "X" : !s
      %Y = tile.alloc "Y" : !s
      tile.copy %x[%c0, %c0] to %X : !T to !s
      tile.copy %X to %x[%c0, %c0] : !s to !T
      memref.dealloc %X : !s
      tile.copy %y[%c0, %c0] to %Y : !T to !s
      tile.copy %Y to %y[%c0, %c0] : !s to !T
      return
    }
    ```

    becomes

    ```mlir
    tile.alloc "X" {nv.offset = 0 : i64}
    tile.alloc "Y" {nv.offset = 0 : i64}
    ...
    tile.copy %X to
    nv.sync
    tile.copy
    ```

    Tests: test/Target/NVPTX/plan-memory.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def InsertSyncs : TileProgramPass<"nv-insert-syncs", "Ordered", "Placed"> {
  let summary = "Insert barriers between conflicting accesses of a block's threads";
  let description = [{
    In a kernel that all threads execute in order (`nv.tile_program`), an `nv.sync` is
    inserted before each operation that reads memory written since the last barrier,
    or writes memory read or written since then. Conflicts are also tracked across the
    loop back edge. Redundant barriers are then removed, starting with those inside
    loops. The plan of a pipelined loop orders its statements (`nv.planned`), but not
    the operations of one statement (`nv.group`) among each other.

    Example (`--nv-insert-syncs`):

    ```mlir
    !T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
    !s = memref<32x32xf32, #tile.space<shared>>
    !l = memref<32xf32, #tile.space<local>>
    func.func @k(%x: !T, %n: index) attributes {tile.kernel, tile.target = "sm_100a", nv.tile_program, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %X = tile.alloc "X" : !s
      %sum = tile.alloc "sum" : !l
      scf.for %k = %c0 to %n step %c1 {
        tile.copy %x[%c0, %k] to %X : !T to !s
        tile.reduce sum %X along 1 into %sum accumulate : !s, !l
      }
      return
    }
    ```

    becomes

    ```mlir
    !T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
    !s = memref<32x32xf32, #tile.space<shared>>
    !l = memref<32xf32, #tile.space<local>>
    func.func @k(%x: !T, %n: index) attributes {tile.kernel, tile.target = "sm_100a", nv.tile_program, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %X = tile.alloc "X" : !s
      %sum = tile.alloc "sum" : !l
      scf.for %k = %c0 to %n step %c1 {
        nv.sync
        tile.copy %x[%c0, %k] to %X : !T to !s
        nv.sync
        tile.reduce sum %X along 1 into %sum accumulate : !s, !l
      }
      return
    }
    ```

    Tests: test/Target/NVPTX/insert-syncs.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def CheckBarriers : Pass<"nv-check-barriers", "::mlir::func::FuncOp"> {
  let summary = "Check barriers and tiles of explicit kernels";
  let description = [{
    The slots, phases and trip counts of an explicit kernel depend on tensor sizes.
    For sizes that give 0, 1, 2, .. iterations, up to two rounds of every ring plus
    two, and for combinations of the sizes of nested loops, the steps of each role are
    listed. One run of them is simulated, and its happens-before order shows whether
    it represents all timings; otherwise all orders are searched. Errors are: a wait
    that never completes in some timing (PS1611), unordered accesses to a tile
    (PS1612), bytes that differ from the copies (PS1613), arrivals beyond a barrier's
    count (PS1614), copies that are never awaited (PS1615), tiles that are read before
    they are written (PS1616) and phases that depend on the timing if the search
    reaches its limit (PS1233). If the steps form rings, the event graph proves the
    result for every trip count.

    If the use of barriers depends on data, or a kernel has too many steps, the pass
    only warns (PS1617); the emulator checks such kernels. The IR does not change.

    Example (`--nv-check-barriers`): the tile has 8192 bytes.

    ```mlir
    !A = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<64x64xf16, #tile.space<shared>>
    func.func @k(%A: !A) attributes {tile.kernel, nv.threads = 32 : i64} {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0 : i32
      %bytes = arith.constant 4096 : index
      %As = tile.alloc "As" : !s
      %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
      nv.elect {
        nv.mbarrier.arrive %full[%c0] expect %bytes : !nv.barriers<1>
      }
      nv.tma.load %A[%c0, %c0] to %As, %full[%c0] : !A, !s, !nv.barriers<1>
      nv.mbarrier.wait %full[%c0], %zero : !nv.barriers<1>
      return
    }
    ```

    reports

    ```text
    error: PS1613: `full`
      nv.mbarrier.arrive %full[%c0] expect %bytes : !nv.barriers<1>
    note:
      nv.tma.load %A[%c0, %c0] to %As, %full[%c0] : !A, !s, !nv.barriers<1>
    ```

    Tests: test/Target/NVPTX/check-barriers.mlir
  }];
  let options = [
    Option<"report", "report", "bool", "false", "say what was found to be right, as remarks">
  ];
}

def PrefetchScalars : TileProgramPass<"nv-prefetch-scalars", "Placed", "Placed"> {
  let summary = "Load coordinates of copies one iteration ahead";
  let description = [{
    In a loop whose copies take coordinates from a tensor, such as a page table, each iteration loads the
    coordinates of the next one. They arrive while the warp waits for a free slot, so the copy is issued
    without waiting for memory. A load is moved if nothing writes its tensor during the kernel, and if
    its indices and the conditions around it depend only on the iteration.

    Example (`--nv-prefetch-scalars`):

    ```mlir
    !T = memref<?x?x?xf16, strided<[?, ?, 1]>, #tile.space<global>>
    !P = memref<?xi32, strided<[1]>, #tile.space<global>>
    !s = memref<64x64xf16, #tile.space<shared>>
    func.func @k(%x: !T, %pages: !P, %n: index) attributes {tile.kernel, tile.target = "sm_80", nv.tile_program, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %X = tile.alloc "X" : !s
      scf.for %i = %c0 to %n step %c1 {
        %page = tile.load %pages[%i] : !P -> i32
        %at = arith.index_cast %page : i32 to index
        nv.cp_async %x[%at, %c0, %c0] to %X : !T, !s
      }
      return
    }
    ```

    becomes

    ```mlir
    ...
    %0 = arith.cmpi slt, %c0, %arg2 : index
    %1 = scf.if %0 -> (i32) {
      %3 = tile.load %arg1[%c0]
      scf.yield %3 : i32
    } else {
    ...
    %2 = scf.for %arg3 = %c0 to %arg2 step %c1 iter_args(%arg4 = %1) -> (i32) {
      %3 = arith.addi %arg3, %c1 : index
      %4 = arith.cmpi slt, %3, %arg2 : index
      %5 = scf.if %4 -> (i32) {
        %7 = tile.load %arg1[%3]
    ...
      %6 = arith.index_cast %arg4 : i32 to index
      nv.cp_async %arg0[%6, %c0, %c0] to %X
      scf.yield %5 : i32
    ...
    ```

    Tests: test/Target/NVPTX/prefetch-scalars.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def AdvanceSlots : KernelPass<"nv-advance-slots", "Placed", "Placed"> {
  let summary = "Advance ring slots without a division";
  let description = [{
    `slot = (slot + 1) % stages` advances a slot; the division is expensive in short
    loops. If every value of the variable is in 0 to `stages` - 1, it is replaced by a
    comparison and a select.

    Example (`--nv-advance-slots`):

    ```mlir
    !v = memref<i32, #tile.space<local>>
    func.func @k(%n: index) attributes {tile.kernel, tile.target = "sm_100a", nv.threads = 32 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %three = arith.constant 3 : i32
      %slot = tile.alloc "slot" : !v
      tile.store %zero, %slot[] : i32, !v
      scf.for %k = %c0 to %n step %c1 {
        %0 = tile.load %slot[] : !v -> i32
        %1 = arith.addi %0, %one : i32
        %2 = arith.remsi %1, %three : i32
        tile.store %2, %slot[] : i32, !v
      }
      return
    }
    ```

    becomes

    ```mlir
    !v = memref<i32, #tile.space<local>>
    func.func @k(%n: index) attributes {tile.kernel, tile.target = "sm_100a", nv.threads = 32 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %three = arith.constant 3 : i32
      %slot = tile.alloc "slot" : !v
      tile.store %zero, %slot[] : i32, !v
      scf.for %k = %c0 to %n step %c1 {
        %0 = tile.load %slot[] : !v -> i32
        %1 = arith.addi %0, %one : i32
        %2 = arith.cmpi sge, %1, %three : i32
        %3 = arith.subi %1, %three : i32
        %4 = arith.select %2, %3, %1 : i32
        tile.store %4, %slot[] : i32, !v
      }
      return
    }
    ```

    Tests: test/Target/NVPTX/advance-slots.mlir
  }];
}

def NarrowMasks : KernelPass<"nv-narrow-masks", "Placed", "Placed"> {
  let summary = "Compare coordinates of elements in 32 bits";
  let description = [{
    Indices have 64 bits, which GPUs compare with two instructions for each element. The pass
    rewrites a comparison in a `tile.map` so that one side only has coordinates of the element,
    which are small, and the other side is computed once before the map: in 32 bits if its value
    range fits, otherwise clamped to one step beyond the tile. A move hides the clamp from LLVM,
    which would compare 64 bits again. Applies if the ranges of all terms exclude overflow.

    If rows consist of whole vectors (`nv.aligned_rows`), all elements of a vector have the same
    result, and a thread compares the first one. `nv.coordinates` describes the side with
    coordinates to the lowering, which then compares each element with a constant.

    Example (`--nv-narrow-masks --canonicalize`): columns from `%n` on.

    ```mlir
    !t = memref<64xi1, #tile.space<local>>
    func.func @k(%x: memref<?xf32>, %t: !t) attributes {tile.kernel, tile.target = "sm_100a"} {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      tile.map %t dims [] {
        %i = tile.element_index 0
        %0 = arith.cmpi slt, %i, %n : index
        tile.yield %0 : i1
      } : !t
      return
    }
    ```

    becomes

    ```mlir
    ...
      %0 = arith.index_cast %dim : index to i32
      tile.map %arg1 dims [] {
        %1 = tile.element_index 0
        %2 = arith.index_cast %1 : index to i32
        %3 = arith.cmpi slt, %2, %0 {nv.coordinates = array<i64: 1, 1>} : i32
        tile.yield %3 : i1
      } : memref<64xi1, #tile.space<local>>
    ```

    Tests: test/Target/NVPTX/narrow-masks.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def SkipIdentities : KernelPass<"nv-skip-identities", "Placed", "Placed"> {
  let summary = "Skip maps in loops that change nothing";
  let description = [{
    Two maps of attention change nothing in most iterations:

    - a mask, `where(col < n, S, x)`, in all but the last tiles. It is skipped if the comparison is
      true for the last coordinates of the tile;
    - the rescaling of an accumulator in TMEM by powers of the difference of maxima, which is 1 if no
      row has a new maximum. If all factors of a warp are 1, the warp skips it, including the load
      and the store of the accumulator. Other warps scale 32 columns of a thread's row at a time, and
      load the next columns meanwhile.

    Example (`--nv-narrow-masks --nv-skip-identities --canonicalize`): the mask of a loop.

    ```mlir
    !t = memref<64xf32, #tile.space<local>>
    func.func @k(%x: memref<?xf32>, %t: !t) attributes {tile.kernel, tile.target = "sm_90a"} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %zero = arith.constant 0.0 : f32
      %n = memref.dim %x, %c0 : memref<?xf32>
      scf.for %k = %c0 to %c4 step %c1 {
        tile.map %t ins(%t) dims [[0]] {
        ^bb0(%e: f32):
          %i = tile.element_index 0
          %0 = arith.cmpi slt, %i, %n : index
          %1 = arith.select %0, %e, %zero : f32
          tile.yield %1 : f32
        } : !t ins(!t)
      }
      return
    }
    ```

    becomes

    ```mlir
    ...
      scf.for %arg2 = %c0 to %c4 step %c1 {
        %0 = arith.index_cast %dim : index to i32
        %1 = arith.cmpi sle, %0, %c63_i32 : i32
        scf.if %1 {
          tile.map %arg1 ins(%arg1) dims [[0]] {
    ...
    ```
  }];
  let dependentDialects = ["::penstock::nv::NVDialect", "::mlir::scf::SCFDialect"];
}

def LowerThreads : Pass<"nv-lower-threads", "::mlir::ModuleOp"> {
  let summary = "Lower explicit kernels to the code of one thread";
  let description = [{
    Allocates tiles and barriers in shared memory, TMEM and registers, and replaces
    the operations of `nv` and `tile` with PTX instructions and scalar code. The kernel
    then has one parameter with all arguments and tensor maps; its layout, the sizes of
    block and shared memory and the grid become the module attribute `nv.launch`.
    Requires the launch function that `tile-lower-launch` creates.

    Errors are: tiles that do not fit in the target's memories (PS1603), tiles in
    registers whose uses need different layouts (PS1606) and operations that explicit
    kernels do not support (PS1601).

    Example (`--tile-lower-launch --nv-lower-threads`): a sync of one warp is a named
    barrier, a sync of the block is barrier 0.

    ```mlir
    func.func @k() attributes {tile.kernel, tile.target = "sm_100a", nv.threads = 64 : i64} {
      nv.warps 0, 1 {
        nv.sync
      }
      nv.sync
      return
    }
    ```

    becomes

    ```mlir
    func.func @k(%arg0: !llvm.ptr) {
    ...
      scf.if
      ...
        "bar.sync 1, 32;"
      }
      "bar.sync 0;"
      return
    ```

    Tests: test/Target/NVPTX/lower-threads.mlir
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect"];
}

def LowerThreadsToLLVM : Pass<"nv-lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Convert the code of one thread to the LLVM dialect for NVPTX";
  let description = [{
    Upstream's patterns, with indices of 64 bits as on all targets. Mathematical functions are
    expanded first. Divisions and square roots of f16 and f32 become sequences that round
    correctly without calls: an approximation, FMAs and a branch for results that may be subnormal.

    Example (`--nv-lower-to-llvm`):

    ```mlir
    func.func @k(%p: !llvm.ptr, %n: i32) {
      %i = arith.index_cast %n : i32 to index
      %0 = arith.addi %i, %i : index
      %1 = arith.index_cast %0 : index to i32
      llvm.store %1, %p : i32, !llvm.ptr
      return
    }
    ```

    becomes

    ```mlir
    llvm.func @k(%p: !llvm.ptr, %n: i32) {
      %i = llvm.sext %n : i32 to i64
      %0 = llvm.add %i, %i : i64
      %1 = llvm.trunc %0 : i64 to i32
      llvm.store %1, %p : i32, !llvm.ptr
      llvm.return
    }
    ```

    Tests: test/Target/NVPTX/lower-threads.mlir
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // PENSTOCK_TARGET_NVPTX_THREADPASSES
