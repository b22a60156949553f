//===- PipelinePasses.td - Roles and pipelines -------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The second phase: the passes decide which warps issue a statement, and write
// pipelined loops with their synchronization.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PIPELINEPASSES
#define PENSTOCK_TARGET_NVPTX_PIPELINEPASSES

include "Target/NVPTX/KernelPass.td"

def AssignRoles : TileProgramPass<"nv-assign-roles", "Bound", "Bound"> {
  let summary = "Assign statements of pipelined loops to warp roles";
  let description = [{
    Writes `nv.role` on statements of pipelined loops that dedicated warps should issue: `load` on
    TMA copies, `mma` on tcgen05 MMAs. `nv-write-plans` then writes a loop for each role.

    A loop is warp-specialized if its schedule was inferred, it has tensor core MMAs, and every warp
    can compute its bounds, conditions and box coordinates. Other loops are not specialized.

    Example (`--tile-resolve-schedules --nv-assign-roles`):

    ```mlir
    !T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    func.func @k(%x: !T, %n: index) attributes {tile.kernel, tile.target = "sm_90a", nv.tile_program, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %X = tile.alloc "X" : !s
      %acc = tile.alloc "acc" : !c
      scf.for %k = %c0 to %n step %c1 {
        tile.copy %x[%c0, %k] to %X {nv.engine = #nv.engine<tma.load>} : !T to !s
        tile.gemm %X, %X into %acc {nv.engine = #nv.engine<wgmma>} : !s, !s, !c
      } {tile.schedule = #tile.schedule<num_stages = 2>}
      return
    }
    ```

    becomes

    ```mlir
    ...
    tile.copy %arg0[%c0, %arg2] to %X {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled = #tile.scheduled<stage = 0, order = 0>}
    tile.gemm %X, %X into %acc {nv.engine = #nv.engine<wgmma>, tile.scheduled = #tile.scheduled<stage = 1, order = 1>}
    ...
    ```

    Tests: test/Target/NVPTX/assign-roles.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def TakeOverBlocks : TileProgramPass<"nv-take-over-blocks", "Tile", "Tile"> {
  let summary = "Let blocks claim pending blocks (cluster launch control)";
  let description = [{
    If `tile.grid` prefers `launch_control` and the GPU supports it, the kernel becomes the body of a
    loop: iteration 0 is the block itself, further iterations are claimed blocks. Later passes treat
    it as a persistent kernel, whose rings stay live across iterations. `nv-request-blocks` ends the
    loop when no block is pending.

    Example (`--tile-attach-target=target=sm_100a --nv-choose-threads --nv-take-over-blocks`):

    ```mlir
    func.func @k(%n: index) attributes {tile.kernel} {
      %block = tile.grid %n launch_control : index
      tile.print "{}" %block : index
      return
    }
    ```

    becomes

    ```mlir
    ...
    %0 = tile.grid %arg0 launch_control : index
    ...
    scf.for %arg1 = %c0 to %1 step %c1 {
      %granted, %coordinates = nv.clc.work %arg1, %0 : i1, index
      scf.if %granted {
        tile.print "{}" %coordinates : index
      }
    } {nv.takes_over}
    ...
    ```

    Tests: test/Target/NVPTX/take-over-blocks.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect"];
}

def RequestBlocks : TileProgramPass<"nv-request-blocks", "Ordered", "Ordered"> {
  let summary = "Request pending blocks (cluster launch control)";
  let description = [{
    Makes the loop of `nv-take-over-blocks` run as long as the hardware grants blocks. One warp, a
    dedicated one if there are other roles, requests the next block as soon as all threads have read
    the previous answer. At the end of an iteration all threads wait for the answer. In a cluster the
    first block sends the request, and the answer arrives in all blocks.

    Example (`--nv-request-blocks`):

    ```mlir
    func.func @k(%n: index) attributes {tile.kernel, tile.target = "sm_100a", nv.tile_program, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %block = tile.grid %n launch_control : index
      scf.for %round = %c0 to %n step %c1 {
        %granted, %own = nv.clc.work %round, %block : i1, index
        scf.if %granted {
          tile.print "{}" %own : index
        }
      } {nv.takes_over}
      return
    }
    ```

    becomes

    ```mlir
    ...
    scf.while : () -> () {
    ...
      nv.warps 0, 1 {
        nv.mbarrier.wait %read
    ...
        nv.clc.request %answer, %answered
    ...
      tile.print
    ...
      nv.mbarrier.wait %answered
      %granted, %block = nv.clc.answer %answer
      nv.fence.proxy_async
      nv.mbarrier.arrive %read
    ...
    ```

    Tests: test/Target/NVPTX/take-over-blocks.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect"];
}

def ShareCopies : TileProgramPass<"nv-share-copies", "Bound", "Bound"> {
  let summary = "Divide copies among the blocks of a cluster";
  let description = [{
    Forms the clusters that `tile.grid` prefers, if load warps of pipelined loops load common boxes
    in adjacent blocks of the grid. Such copies get `nv.shared_along`, the extents of the grid along
    which their boxes are the same. `nv-write-plans` then lets each block multicast a part of the
    rows to all blocks of the cluster.

    The launch pads the grid to whole clusters. Padding blocks load for the others: the pass guards
    all their other side effects by a condition. The blocks of a cluster synchronize before they
    exit.

    With `pair`, the right operand of the only MMA is divided instead: each of two blocks loads and
    holds half of it (`halved`), and the kernel runs on CTA pairs (`nv.pair`). If that is not
    possible, `nv.no_pair` states the reason.

    All blocks of a cluster must run the same loops, with copies under the same conditions.
    Otherwise `cluster` is removed, and `nv.no_cluster` states the reason.

    Example (`--tile-resolve-schedules --nv-share-copies`): two blocks in a column of the grid load the same rows of `y`.

    ```mlir
    !T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    !C = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
    func.func @k(%x: !T, %y: !T, %z: !C, %m: index, %n: index) attributes {tile.kernel, tile.target = "sm_90a", nv.tile_program, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %bm, %bn = tile.grid %m, %n cluster [2, 1] : index, index
      %X = tile.alloc "X" : !s
      %Y = tile.alloc "Y" : !s
      %acc = tile.alloc "acc" : !c
      scf.for %k = %c0 to %n step %c1 {
        tile.copy %x[%bm, %k] to %X {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>} : !T to !s
        tile.copy %y[%bn, %k] to %Y {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>} : !T to !s
        tile.gemm %X, %Y into %acc {nv.engine = #nv.engine<wgmma>} : !s, !s, !c
      } {tile.schedule = #tile.schedule<num_stages = 2>}
      tile.copy %acc to %z[%bm, %bn] : !c to !C
      return
    }
    ```

    becomes

    ```mlir
    ...
    %0:2 = tile.grid %arg3, %arg4 cluster [2, 1] : index, index
    %1 = arith.cmpi slt, %0#0, %arg3 : index
    ...
    tile.copy %arg0[%0#0, %arg5] to %X {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled = #tile.scheduled<stage = 0, order = 0>}
    tile.copy %arg1[%0#1, %arg5] to %Y {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, nv.shared_along = array<i64: 0>, tile.scheduled = #tile.scheduled<stage = 0, order = 1>}
    ...
    scf.if %1 {
      tile.copy %acc to %arg2[%0#0, %0#1]
    ...
    nv.cluster.sync
    ...
    ```

    Tests: test/Target/NVPTX/share-copies.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect", "::mlir::scf::SCFDialect"];
}

def WritePlans : TileProgramPass<"nv-write-plans", "Bound", "Pipelined"> {
  let summary = "Expand pipelined loops with engines and all synchronization";
  let description = [{
    Derives the plan of each pipelined loop (docs/contributing/plans.md) from its schedule and its
    engines, verifies it, and expands the loop: buffers get their slots, copies and MMAs stay
    in flight across iterations, and each point of the plan becomes an `nv` operation.
    The loop becomes a prologue and a main loop, in which statements of the last stage run
    unconditionally. The text of the plan is kept on the main loop (`nv.plan`). Tiles without
    accesses after a loop are deallocated there. MMAs outside of pipelined loops get a wait.

    Roles of a loop inside of a loop over tiles do not synchronize between two of its runs if the
    plan is verified for that (test/Target/NVPTX/open-rings.mlir).

    Runs after `tile-resolve-schedules`, `nv-bind-engines` and `nv-place-accumulators`.

    Example (`--tile-resolve-schedules --nv-write-plans`): the copy of the next iteration is in flight while a tile
    is reduced. The prologue is left out here.

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
        tile.copy %x[%c0, %k] to %X {nv.engine = #nv.engine<cp.async>} : !T to !s
        tile.reduce sum %X along 1 into %sum accumulate : !s, !l
      } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
      return
    }
    ```

    becomes

    ```mlir
    tile.alloc "X" : memref<2x32x32xf32, #tile.space<shared>>
    ...
    scf.for
      nv.cp_async.wait_group 0
      nv.sync
      scf.if
        nv.cp_async
      nv.cp_async.commit_group
      tile.reduce sum
    ...
    ```

    Tests: test/Target/NVPTX/write-plans.mlir
  }];
  let options = [
    Option<"omit", "omit", "int64_t", "-1",
           "for tests: leave out this point of every plan, which makes it wrong">
  ];
  let dependentDialects = ["::penstock::nv::NVDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def LoadTiles : TileProgramPass<"nv-load-tiles", "Ordered", "Ordered"> {
  let summary = "Load MMA operands before loops with TMA";
  let description = [{
    Turns a copy that precedes all pipelined loops, and that nv-bind-engines assigned to TMA, into an
    `nv.tma.load` issued before the warp roles start. Each role waits on the load's mbarrier before
    its first access to the tile. A role that does not access the tile, such as the load role of a
    pipelined loop, does not wait.
    In CTA pairs, threads copy.
    Runs after `nv-execute-in-order`.

    Example (`--nv-choose-threads --nv-bind-engines --nv-execute-in-order --nv-load-tiles`):

    ```mlir
    !T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    func.func @k(%Q: !T) attributes {tile.kernel, nv.tile_program, nv.aligned_rows, tile.target = "sm_90a"} {
      %c0 = arith.constant 0 : index
      %A = tile.alloc "A" : !s
      %acc = tile.alloc "acc" : !c
      tile.copy %Q[%c0, %c0] to %A : !T to !s
      tile.gemm %A, %A into %acc overwrite : !s, !s, !c
      return
    }
    ```

    becomes

    ```mlir
    nv.mbarrier.alloc "A loaded" [1] : !nv.barriers<1>
    ...
    nv.elect {
      nv.mbarrier.arrive
    ...
    nv.tma.load
    ...
    nv.mbarrier.wait
    tile.gemm
    ...
    ```

    Tests: test/Target/NVPTX/load-tiles.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect", "::mlir::arith::ArithDialect"];
}

def AddTiles : TileProgramPass<"nv-add-tiles", "Ordered", "Ordered"> {
  let summary = "Add tiles to tensors with TMA reductions";
  let description = [{
    A `tile.parallel` body that adds a shared tile to a tensor, element by element, becomes
    `nv.tma.store` with `combine "add"`: one instruction per box instead of one per element. The body
    may only exclude out-of-bounds elements, which TMA clips, and must not use old values. All
    accesses to the tensor must be such additions, because threads and TMA use different paths to
    memory, and launches must guarantee 16-byte-aligned rows. If a body is not replaced, an attribute
    states the reason, which `penstock explain` prints.

    The threads that wrote the tile execute a proxy fence and a barrier before one of them issues the
    addition. If a loop writes and adds a tile in each iteration, that thread waits until the last
    addition has read the tile, before the next iteration overwrites it and after the loop. For a
    tile that is not written again, it waits at the end; for all others, immediately. Existing
    barriers of a plan at these points are reused. Runs after `nv-execute-in-order`.

    Example (`--nv-add-tiles`):

    ```mlir
    !T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
    !s = memref<64x32xf32, #tile.space<shared>>
    func.func @k(%C: !T {tile.access = "inout"}) attributes {tile.kernel, nv.tile_program, nv.aligned_rows, tile.target = "sm_90a", nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %M = memref.dim %C, %c0 : !T
      %N = memref.dim %C, %c1 : !T
      %one = arith.constant 1.0 : f32
      %S = tile.alloc "S" : !s
      tile.fill %S, %one : !s, f32
      tile.parallel [64, 32] {
      ^bb0(%i: index, %j: index):
        %row = arith.cmpi slt, %i, %M : index
        %col = arith.cmpi slt, %j, %N : index
        %inside = arith.andi %row, %col : i1
        scf.if %inside {
          %x = tile.load %S[%i, %j] : !s -> f32
          %old = tile.atomic add %x, %C[%i, %j] : f32, !T -> f32
        }
      }
      return
    }
    ```

    becomes

    ```mlir
    ...
    tile.fill %S
    nv.fence.proxy_async
    nv.sync
    nv.tma.store %S to %arg0
    nv.tma.commit_group
    nv.tma.wait_group 0 read
    ...
    ```

    Tests: test/Target/NVPTX/add-tiles.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect", "::mlir::arith::ArithDialect"];
}

def ZeroAccumulators : TileProgramPass<"nv-zero-accumulators", "Ordered", "Ordered"> {
  let summary = "Zero accumulators in tensor memory after loops without iterations";
  let description = [{
    The first MMA of a loop overwrites its accumulator, so a load after the loop is conditional: without
    iterations, the registers keep the zeros that they were filled with. This pass makes the load
    unconditional. Loops without iterations store zeros to tensor memory instead, at most 32 columns per
    thread and instruction, so the common path has no moves of zeros.

    A thread loads the zeros that it has stored, so both have a common number in `nv.planned`, and
    `nv-insert-syncs` inserts no barrier between them. If warpgroups share columns, threads synchronize
    after the stores.

    Runs before `nv-stage-stores`, which loads the accumulator in pieces.

    Example (`--nv-zero-accumulators`):

    ```mlir
    !t = memref<128x64xf32, #tile.space<tensor>>
    !c = memref<128x64xf32, #tile.space<local>>
    func.func @k(%some: i1) attributes {tile.kernel, nv.tile_program, tile.target = "sm_100a", nv.threads = 128 : i64} {
      %zero = arith.constant 0.0 : f32
      %cells = nv.tcgen05.alloc "acc" : !t
      %acc = tile.alloc "acc" : !c
      tile.fill %acc, %zero : !c, f32
      scf.if %some {
        nv.tcgen05.load %cells to %acc : !t, !c
        nv.tcgen05.wait_load
      }
      nv.tcgen05.dealloc %cells : !t
      return
    }
    ```

    becomes

    ```mlir
    ...
    %1 = arith.xori %arg0, %true : i1
    scf.if %1 {
      %cst_1 = arith.constant
      tile.fill %0, %cst_1
      %subview = memref.subview %acc[0, 0] [128, 32]
      nv.tcgen05.store %0 to %subview
      %subview_2 = memref.subview %acc[0, 32] [128, 32]
      nv.tcgen05.store %0 to %subview_2
      nv.tcgen05.wait_store
    }
    nv.tcgen05.load %acc to %acc_0
    nv.tcgen05.wait_load
    ...
    ```

    Tests: test/Target/NVPTX/zero-accumulators.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def StageStores : TileProgramPass<"nv-stage-stores", "Ordered", "Ordered"> {
  let summary = "Store accumulators through shared memory with TMA";
  let description = [{
    A copy of an MMA accumulator to a tensor becomes a copy to a shared tile and a TMA store, if
    launches guarantee 16-byte-aligned rows and the shared tile fits beside the live ones. An
    accumulator in tensor memory that is only stored is read and stored by columns, to limit register
    use: through two shared tiles in turn, if both fit, so that TMA reads one while threads write the
    other. An arrival that frees the accumulator moves to after its last load. Consecutive stores share
    a wait.
    Runs after `nv-execute-in-order`.

    Example (`--nv-stage-stores`):

    ```mlir
    !T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    func.func @k(%C: !T) attributes {tile.kernel, nv.tile_program, nv.aligned_rows, tile.target = "sm_90a", nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %true = arith.constant true
      %A = tile.alloc "A" : !s
      %B = tile.alloc "B" : !s
      %acc = tile.alloc "acc" : !c
      nv.wgmma.mma %A, %B into %acc accumulate %true : !s, !s, !c
      tile.copy %acc to %C[%c0, %c0] : !c to !T
      return
    }
    ```

    becomes

    ```mlir
    tile.alloc "acc staged" : memref<64x64xf16, #tile.space<shared>>
    ...
    nv.wgmma.mma
    tile.copy %acc to %acc_staged
    nv.fence.proxy_async
    nv.sync
    nv.tma.store
    nv.tma.commit_group
    nv.tma.wait_group
    ...
    ```

    Tests: test/Target/NVPTX/stage-stores.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def HintCaches : TileProgramPass<"nv-hint-caches", "Ordered", "Ordered"> {
  let summary = "Mark TMA loads of tensors that are read once";
  let description = [{
    A TMA load gets the L2 priority `evict_first` if no byte of its tensor is loaded twice: it is the only
    access to the tensor, and each coordinate of the block and each loop around it selects other rows or
    columns. Examples are the KV cache of attention for one query, and Q of attention. Operands of a
    matmul are read by a row or a column of blocks, and are not marked.

    Example (`--nv-hint-caches`):

    ```mlir
    !T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<128x64xf16, #tile.space<shared>>
    func.func @k(%x: !T, %n: index) attributes {tile.kernel, nv.tile_program, tile.target = "sm_90a", nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c128 = arith.constant 128 : index
      %block = tile.grid %n : index
      %X = tile.alloc "X" : !s
      %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
      %m = arith.muli %block, %c128 : index
      nv.tma.load %x[%m, %c0] to %X, %full[%c0] : !T, !s, !nv.barriers<1>
      return
    }
    ```

    becomes

    ```mlir
    ...
    nv.tma.load %arg0[%1, %c0] to %X, %full[%c0] cache "evict_first"
    ...
    ```

    Tests: test/Target/NVPTX/hint-caches.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def ExecuteInOrder : TileProgramPass<"nv-execute-in-order", "Pipelined", "Ordered"> {
  let summary = "Let all threads of a block execute a tile program in order";
  let description = [{
    Asynchronous operations without an engine complete immediately, waits and schedules are
    removed, and named statements are inlined. Operations of a statement that a plan orders
    (`nv.planned`) get a common number (`nv.group`). Explicit kernels do not change. Runs after
    `nv-write-plans`.

    Example (`--nv-choose-threads --nv-execute-in-order`):

    ```mlir
    !T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
    !s = memref<32x32xf32, #tile.space<shared>>
    !l = memref<32xf32, #tile.space<local>>
    func.func @k(%x: !T, %n: index) attributes {tile.kernel, tile.target = "sm_100a"} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %X = tile.alloc "X" : !s
      %sum = tile.alloc "sum" : !l
      scf.for %k = %c0 to %n step %c1 {
        tile.copy %x[%c0, %k] to %X async "load" : !T to !s
        tile.wait ["load"]
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
        tile.copy %x[%c0, %k] to %X : !T to !s
        tile.reduce sum %X along 1 into %sum accumulate : !s, !l
      }
      return
    }
    ```

    Tests: test/Target/NVPTX/execute-in-order.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

#endif // PENSTOCK_TARGET_NVPTX_PIPELINEPASSES
