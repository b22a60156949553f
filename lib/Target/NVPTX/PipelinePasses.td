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

include "mlir/Pass/PassBase.td"

def AssignRoles : Pass<"nv-assign-roles", "::mlir::func::FuncOp"> {
  let summary = "Divide pipelined loops among warp roles";
  let description = [{
    Writes `nv.role` on statements of pipelined loops that other warps than those that compute
    should issue: `load` on copies by TMA, `mma` on products by tcgen05. `nv-write-plans` then
    writes a loop for each role.

    A loop is divided if its schedule was inferred, it multiplies on the tensor core, and all
    that the other roles need to know (bounds, conditions, coordinates of boxes) can be
    computed by every warp. The others stay with one group of warps.

    Example (`--nv-assign-roles`):

    ```mlir
    !T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    func.func @k(%x: !T, %n: index) attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %X = tile.alloc "X" : !s
      %acc = tile.alloc "acc" : !c
      scf.for %k = %c0 to %n step %c1 {
        tile.copy %x[%c0, %k] to %X {nv.engine = "tma.load"} : !T to !s
        tile.gemm %X, %X into %acc {nv.engine = "wgmma"} : !s, !s, !c
      } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1], resolved, inferred>}
      return
    }
    ```

    becomes

    ```mlir
    ...
    tile.copy %arg0[%c0, %arg2] to %X {nv.engine = "tma.load", nv.role = "load"}
    tile.gemm %X, %X into %acc {nv.engine = "wgmma"}
    ...
    ```

    Tests: test/Target/NVPTX/assign-roles.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def TakeOverBlocks : Pass<"nv-take-over-blocks", "::mlir::func::FuncOp"> {
  let summary = "Let blocks take over others that have not started";
  let description = [{
    If `tile.grid` prefers `launch_control` and the GPU has it, what a block does becomes the body
    of a loop: round 0 is the block itself, further rounds are blocks that it takes over. The
    passes that follow see a persistent kernel, whose rings stay open between two rounds.
    `nv-request-blocks` ends the loop when no block is left.

    Example (`--nv-attach-target=architecture=sm_100a --nv-choose-threads --nv-take-over-blocks`):

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

def RequestBlocks : Pass<"nv-request-blocks", "::mlir::func::FuncOp"> {
  let summary = "Ask for blocks to take over";
  let description = [{
    Turns the loop of `nv-take-over-blocks` into one that runs as long as the hardware grants
    blocks. One warp, of its own beside other roles, requests the next block as soon as all threads
    have read the answer before. At the end of a round all threads await the answer. In a cluster the
    first block requests, and the answer arrives in all blocks.

    Example (`--nv-request-blocks`):

    ```mlir
    func.func @k(%n: index) attributes {tile.kernel, nv.threads = 128 : i64} {
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

def ShareCopies : Pass<"nv-share-copies", "::mlir::func::FuncOp"> {
  let summary = "Divide copies among the blocks of a cluster";
  let description = [{
    Forms the clusters that `tile.grid` prefers, if pipelined loops load boxes by TMA in a warp of
    its own that neighbors in the grid load, too. Such copies get `nv.shared_along`, the extents
    of the grid along which their boxes are the same. `nv-write-plans` then lets each block copy a
    part of the rows to all of them.

    The launch rounds the grid up to whole clusters. Blocks beyond its end load for the others: all
    else that acts outside of a block is put under a condition. The blocks of a cluster meet
    before they end.

    With `pair`, the right operand of the only product is divided instead: each of two blocks copies
    half of it for itself (`nv.halved`), and the kernel becomes one of pairs (`nv.pair`). Otherwise the
    reason is in `nv.no_pair`.

    All blocks of a cluster must have the same loops, with copies under the same conditions.
    Otherwise `cluster` is removed, and the reason is in `nv.no_cluster`.

    Example (`--nv-share-copies`): two blocks in a column of the grid load the same rows of `y`.

    ```mlir
    !T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    !C = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
    func.func @k(%x: !T, %y: !T, %z: !C, %m: index, %n: index) attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %bm, %bn = tile.grid %m, %n cluster [2, 1] : index, index
      %X = tile.alloc "X" : !s
      %Y = tile.alloc "Y" : !s
      %acc = tile.alloc "acc" : !c
      scf.for %k = %c0 to %n step %c1 {
        tile.copy %x[%bm, %k] to %X {nv.engine = "tma.load", nv.role = "load"} : !T to !s
        tile.copy %y[%bn, %k] to %Y {nv.engine = "tma.load", nv.role = "load"} : !T to !s
        tile.gemm %X, %Y into %acc {nv.engine = "wgmma"} : !s, !s, !c
      } {tile.schedule = #tile.schedule<stage = [0, 0, 1], order = [0, 1, 2], resolved, inferred>}
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
    tile.copy %arg0[%0#0, %arg5] to %X {nv.engine = "tma.load", nv.role = "load"}
    tile.copy %arg1[%0#1, %arg5] to %Y {nv.engine = "tma.load", nv.role = "load", nv.shared_along = array<i64: 0>}
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

def WritePlans : Pass<"nv-write-plans", "::mlir::func::FuncOp"> {
  let summary = "Write pipelined loops with their engines and all synchronization";
  let description = [{
    The plan of each pipelined loop (docs/contributing/plans.md) is derived from its schedule and its
    engines, verified, and written out: buffers get their slots, copies and products stay
    in flight across iterations, and each point of the plan becomes an `nv` operation.
    The loop becomes a prologue and a main loop, in which statements of the last stage run
    unconditionally. The text of the plan is kept on the main loop (`nv.plan`). Tiles that
    nothing accesses after a loop are deallocated there. Products
    outside of pipelined loops are written with a wait.

    Roles of a loop inside of a loop over tiles do not meet between two of its runs if that
    is verified (test/Target/NVPTX/open-rings.mlir).

    Runs after `tile-resolve-schedules`, `nv-bind-engines` and `nv-place-accumulators`.

    Example (`--nv-write-plans`): the copy of the next iteration is in flight while a tile
    is reduced. The prologue is left out here.

    ```mlir
    !T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
    !s = memref<32x32xf32, #tile.space<shared>>
    !l = memref<32xf32, #tile.space<local>>
    func.func @k(%x: !T, %n: index) attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %X = tile.alloc "X" : !s
      %sum = tile.alloc "sum" : !l
      scf.for %k = %c0 to %n step %c1 {
        tile.copy %x[%c0, %k] to %X {nv.engine = "cp.async"} : !T to !s
        tile.reduce sum %X along 1 into %sum accumulate : !s, !l
      } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1], resolved>}
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

def AddTiles : Pass<"nv-add-tiles", "::mlir::func::FuncOp"> {
  let summary = "Add tiles to tensors by TMA";
  let description = [{
    A `tile.parallel` body that adds a shared tile to a tensor, element by element, becomes
    `nv.tma.store` with `combine "add"`: one instruction for a box instead of one for each element.
    The body may only leave out elements outside of the tensor, which TMA clips by itself, and it may
    not use old values. All accesses to the tensor must be such additions, and launches must
    guarantee rows that TMA takes: threads and TMA take different paths to memory. Bodies that stay
    have the reason as an attribute, which `penstock explain` prints.

    The threads that wrote the tile execute a proxy fence and a barrier before one of them issues the
    addition. Where a loop writes and adds a tile in each iteration, that thread waits for the last
    addition to have read the tile before the next iteration overwrites it, and after the loop.
    A tile that is not written again is awaited at the end, any other at once. Barriers that a plan has at these points are used. Runs after
    `nv-execute-in-order`.

    Example (`--nv-add-tiles`):

    ```mlir
    !T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
    !s = memref<64x32xf32, #tile.space<shared>>
    func.func @k(%C: !T {tile.access = "inout"}) attributes {tile.kernel, nv.in_order, nv.aligned_rows, nv.architecture = "sm_90a", nv.threads = 128 : i64} {
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

def StageStores : Pass<"nv-stage-stores", "::mlir::func::FuncOp"> {
  let summary = "Store results of the tensor core through shared memory, by TMA";
  let description = [{
    A copy of a product's accumulator to a tensor becomes a copy to a shared tile and a store by
    TMA, where launches guarantee rows that TMA takes and the shared tile fits beside those
    that are still in use. An accumulator in tensor memory that is only stored is read and stored by columns,
    so that few registers hold it. Results that are stored one after the other are awaited once.
    Runs after `nv-execute-in-order`.

    Example (`--nv-stage-stores`):

    ```mlir
    !T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    func.func @k(%C: !T) attributes {tile.kernel, nv.in_order, nv.aligned_rows, nv.architecture = "sm_90a", nv.threads = 128 : i64} {
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

def ExecuteInOrder : Pass<"nv-execute-in-order", "::mlir::func::FuncOp"> {
  let summary = "Let all threads of a block execute a tile program in order";
  let description = [{
    Asynchronous operations that no engine executes complete at once, waits and
    schedules are dropped, and named statements are inlined; those that a plan orders
    (`nv.planned`) leave their operations a common number (`nv.group`). Kernels that state their
    threads are left alone. Runs after `nv-write-plans`.

    Example (`--nv-choose-threads --nv-execute-in-order`):

    ```mlir
    !T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
    !s = memref<32x32xf32, #tile.space<shared>>
    !l = memref<32xf32, #tile.space<local>>
    func.func @k(%x: !T, %n: index) attributes {tile.kernel} {
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
    func.func @k(%x: !T, %n: index) attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
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
