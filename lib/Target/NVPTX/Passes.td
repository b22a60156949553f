//===- Passes.td - From tile programs to NVPTX -------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PASSES
#define PENSTOCK_TARGET_NVPTX_PASSES

include "mlir/Pass/PassBase.td"

def AttachTarget : Pass<"nv-attach-target", "::mlir::func::FuncOp"> {
  let summary = "Name the GPU that kernels are compiled for";
  let description = [{
    Writes the architecture on each kernel, where lowering looks up which instructions
    it has, and what its launch guarantees about rows of tensors. Comes first for every
    GPU.

    Example (`--nv-attach-target=architecture=sm_89`):

    ```mlir
    func.func @k() attributes {tile.kernel} {
      return
    }
    ```

    becomes

    ```mlir
    func.func @k() attributes {nv.architecture = "sm_89", tile.kernel} {
      return
    }
    ```

    Tests: test/Target/NVPTX/gpu-pipeline.mlir
  }];
  let options = [
    Option<"architecture", "architecture", "std::string", "\"sm_100a\"",
           "sm_80 to sm_120a">,
    Option<"alignedRows", "aligned-rows", "bool", "false",
           "launches with other rows take another kernel">
  ];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def ChooseThreads : Pass<"nv-choose-threads", "::mlir::func::FuncOp"> {
  let summary = "Choose how many threads execute a tile program";
  let description = [{
    A kernel without threads gets the fewest warps whose registers hold its local tiles
    (`nv.threads`): 4, 8 or 16, on sm_90a also 12 or 20 if warpgroups can share the rows
    of all products then. One group of warps executes all of it (`nv.in_order`). Kernels
    that already have threads are left alone.

    Example (`--nv-choose-threads`):

    ```mlir
    func.func @k() attributes {tile.kernel} {
      %a = tile.alloc : memref<128x128xf32, #tile.space<local>>
      %b = tile.alloc : memref<128x128xf32, #tile.space<local>>
      return
    }
    ```

    becomes

    ```mlir
    func.func @k() attributes {tile.kernel, nv.in_order, nv.threads = 256 : i64} {
      %a = tile.alloc : memref<128x128xf32, #tile.space<local>>
      %b = tile.alloc : memref<128x128xf32, #tile.space<local>>
      return
    }
    ```

    Tests: test/Target/NVPTX/execute-in-order.mlir
  }];
  let options = [
    Option<"architecture", "architecture", "std::string", "\"sm_100a\"",
           "sm_90a or sm_100a">
  ];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def AssignSpaces : Pass<"nv-assign-spaces", "::mlir::func::FuncOp"> {
  let summary = "Move tiles that registers cannot hold to shared memory";
  let description = [{
    Registers cannot be indexed at run time, and tensor cores do not read operands from
    local tiles, but for the left operand of wgmma, which stays where threads have computed
    it. Another local tile that is sliced, transposed, indexed or multiplied becomes a
    shared one. Of an accumulator whose elements are read one by one, a copy is read.

    Example (`--nv-assign-spaces`):

    ```mlir
    !l = memref<64x64xf16, #tile.space<local>>
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
      %P = tile.alloc "P" : !l
      %V = tile.alloc "V" : !s
      %out = tile.alloc "out" : !c
      tile.gemm %P, %V into %out : !l, !s, !c
      return
    }
    ```

    becomes

    ```mlir
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
      %P = tile.alloc "P" : !s
      %V = tile.alloc "V" : !s
      %out = tile.alloc "out" : !c
      tile.gemm %P, %V into %out : !s, !s, !c
      return
    }
    ```

    Tests: test/Target/NVPTX/assign-spaces.mlir
  }];
}

def BindEngines : Pass<"nv-bind-engines", "::mlir::func::FuncOp"> {
  let summary = "Choose the engine of each product and each pipelined copy";
  let description = [{
    Writes `nv.engine` on each product, and on each copy that is a statement of a
    pipelined loop: the first that is legal of TMA and cp.async for copies from tensors
    to shared tiles, and of tcgen05, wgmma and mma.sync for products; otherwise threads. The
    verifiers of the `nv` operations decide what is legal. With `plain`, threads copy, for
    tensors whose rows are not multiples of 16 bytes.

    Example (`--nv-bind-engines=architecture=sm_90a`):

    ```mlir
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
      %A = tile.alloc "A" : !s
      %B = tile.alloc "B" : !s
      %acc = tile.alloc "acc" : !c
      tile.gemm %A, %B into %acc : !s, !s, !c
      return
    }
    ```

    becomes

    ```mlir
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
      %A = tile.alloc "A" : !s
      %B = tile.alloc "B" : !s
      %acc = tile.alloc "acc" : !c
      tile.gemm %A, %B into %acc {nv.engine = "wgmma"} : !s, !s, !c
      return
    }
    ```

    Tests: test/Target/NVPTX/write-plans.mlir
  }];
  let options = [
    Option<"architecture", "architecture", "std::string", "\"sm_100a\"",
           "sm_90a or sm_100a">,
    Option<"plain", "plain", "bool", "false", "threads copy">
  ];
  let dependentDialects = ["::penstock::nv::NVDialect", "::mlir::arith::ArithDialect"];
}

def OverlapProducts : Pass<"nv-overlap-products", "::mlir::func::FuncOp"> {
  let summary = "Run products ahead of what threads compute from them";
  let description = [{
    In a pipelined loop with several products by tcgen05, a product that needs nothing but
    copies runs one iteration ahead of everything else, like the scores of attention: the
    tensor core then multiplies while threads compute. Its accumulator gets a second version.
    Statements that were grouped become statements of their own, so that each waits for what
    it needs.

    Only schedules that the compiler inferred change, and only if tensor memory and shared
    memory have room.

    Example (`--nv-overlap-products`): the first product moves from the stage of the reduction to
    the one before. The second product is by tcgen05, too.

    ```mlir
    !T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<128x64xf16, #tile.space<shared>>
    !c = memref<128x128xf32, #tile.space<local>>
    !v = memref<128xf32, #tile.space<local>>
    func.func @k(%x: !T, %n: index) attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64,
                                                nv.architecture = "sm_100a"} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %X = tile.alloc "X" : !s
      %Y = tile.alloc "Y" : !s
      %S = tile.alloc "S" : !c
      %O = tile.alloc "O" : !c
      %sum = tile.alloc "sum" : !v
      scf.for %k = %c0 to %n step %c1 {
        tile.copy %x[%k, %c0] to %X {nv.engine = "tma.load"} : !T to !s
        %Xt = memref.transpose %X (i, j) -> (j, i) : !s to memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
        tile.gemm %X, %Xt into %S overwrite {nv.engine = "tcgen05.mma"} : !s, memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>, !c
        tile.reduce sum %S along 1 into %sum accumulate : !c, !v
        tile.copy %x[%k, %c0] to %Y {nv.engine = "tma.load"} : !T to !s
        %Yt = memref.transpose %Y (i, j) -> (j, i) : !s to memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
        tile.gemm %Y, %Yt into %O {nv.engine = "tcgen05.mma"} : !s, memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>, !c
      } {tile.schedule = #tile.schedule<stage = [0, 1, 1, 0, 1], order = [0, 1, 2, 3, 4], resolved, inferred>}
      return
    }
    ```

    becomes

    ```mlir
    ...
    tile.schedule = #tile.schedule<stage = [0, 1, 2, 1, 2], order = [0, 1, 2, 3, 4], resolved, inferred>
    ...
    ```

    Tests: test/Target/NVPTX/overlap-products.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def PlaceAccumulators : Pass<"nv-place-accumulators", "::mlir::func::FuncOp"> {
  let summary = "Give the accumulators of tcgen05 tiles in tensor memory";
  let description = [{
    Products by tcgen05 accumulate in a tensor tile. Copies to and from the accumulator's
    registers are inserted around the largest loop in which only products use it. In a loop
    that computes with the accumulator before it adds a product, they are inserted around what
    computes, else around each product. Schedules of pipelined loops get entries for them.

    Example (`--nv-place-accumulators`):

    ```mlir
    !s = memref<128x64xf16, #tile.space<shared>>
    !b = memref<64x64xf16, #tile.space<shared>>
    !c = memref<128x64xf32, #tile.space<local>>
    func.func @k(%n: index) attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %A = tile.alloc "A" : !s
      %B = tile.alloc "B" : !b
      %acc = tile.alloc "acc" : !c
      scf.for %k = %c0 to %n step %c1 {
        tile.gemm %A, %B into %acc {nv.engine = "tcgen05.mma"} : !s, !b, !c
      }
      return
    }
    ```

    becomes

    ```mlir
    !s = memref<128x64xf16, #tile.space<shared>>
    !b = memref<64x64xf16, #tile.space<shared>>
    !c = memref<128x64xf32, #tile.space<local>>
    !t = memref<128x64xf32, #tile.space<tensor>>
    func.func @k(%n: index) attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %A = tile.alloc "A" : !s
      %B = tile.alloc "B" : !b
      %acc_0 = nv.tcgen05.alloc "acc" : !t
      %acc = tile.alloc "acc" : !c
      tile.copy %acc to %acc_0 {nv.engine = "tcgen05.st"} : !c to !t
      scf.for %k = %c0 to %n step %c1 {
        tile.gemm %A, %B into %acc_0 {nv.engine = "tcgen05.mma"} : !s, !b, !t
      }
      tile.copy %acc_0 to %acc {nv.engine = "tcgen05.ld"} : !t to !c
      return
    }
    ```

    Tests: test/Target/NVPTX/place-accumulators.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def PlaceOperands : Pass<"nv-place-operands", "::mlir::func::FuncOp"> {
  let summary = "Give left operands that threads compute tiles in tensor memory";
  let description = [{
    A shared tile of 128 rows and 16-bit elements that threads write, and that tcgen05 reads as
    the left operand of products only, moves to registers and tensor memory: a copy to a tensor
    tile follows the last statement that writes it before each product, if there are columns
    for it. Schedules of pipelined loops get entries for the copies.

    Example (`--nv-place-operands`):

    ```mlir
    !s = memref<128x64xf16, #tile.space<shared>>
    !b = memref<64x64xf16, #tile.space<shared>>
    !t = memref<128x64xf32, #tile.space<tensor>>
    func.func @k(%one: f16) attributes {tile.kernel, nv.architecture = "sm_100a", nv.in_order, nv.threads = 128 : i64} {
      %P = tile.alloc "P" : !s
      %B = tile.alloc "B" : !b
      %acc = nv.tcgen05.alloc "acc" : !t
      tile.fill %P, %one : !s, f16
      tile.gemm %P, %B into %acc {nv.engine = "tcgen05.mma"} : !s, !b, !t
      return
    }
    ```

    becomes

    ```mlir
    !p = memref<128x64xf16, #tile.space<tensor>>
    !l = memref<128x64xf16, #tile.space<local>>
    !b = memref<64x64xf16, #tile.space<shared>>
    !t = memref<128x64xf32, #tile.space<tensor>>
    func.func @k(%one: f16) attributes {tile.kernel, nv.architecture = "sm_100a", nv.in_order, nv.threads = 128 : i64} {
      %P_0 = nv.tcgen05.alloc "P" : !p
      %P = tile.alloc "P" : !l
      %B = tile.alloc "B" : !b
      %acc = nv.tcgen05.alloc "acc" : !t
      tile.fill %P, %one : !l, f16
      tile.copy %P to %P_0 {nv.engine = "tcgen05.st"} : !l to !p
      tile.gemm %P_0, %B into %acc {nv.engine = "tcgen05.mma"} : !p, !b, !t
      return
    }
    ```

    Tests: test/Target/NVPTX/place-operands.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

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

def WritePlans : Pass<"nv-write-plans", "::mlir::func::FuncOp"> {
  let summary = "Write pipelined loops with their engines and all synchronization";
  let description = [{
    The plan of each pipelined loop (docs/plans.md) is derived from its schedule and its
    engines, verified, and written out: buffers get their slots, copies and products stay
    in flight across iterations, and each point of the plan becomes an `nv` operation.
    The loop becomes a prologue and a main loop, in which statements of the last stage run
    unconditionally. The text of the plan is kept on the main loop (`nv.plan`). Products
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

def StageStores : Pass<"nv-stage-stores", "::mlir::func::FuncOp"> {
  let summary = "Store results of the tensor core through shared memory, by TMA";
  let description = [{
    A copy of a product's accumulator to a tensor becomes a copy to a shared tile and a store by
    TMA, where launches guarantee rows that TMA takes and the shared tile fits beside all
    others. An accumulator in tensor memory that is only stored is read and stored by columns,
    so that few registers hold it. Runs after `nv-execute-in-order`.

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
    schedules are dropped, and named statements are inlined. Kernels that state their
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

def AssignLayouts : Pass<"nv-assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "Choose which thread holds which element of each local tile";
  let description = [{
    Instructions dictate the layouts of accumulators and of tensor memory; tiles
    that are used together follow them, the uses in the innermost loops first, and
    the rest is distributed so that memory accesses coalesce. A vector lies as a
    slice of the tiles that it is broadcast to or reduced from. Each layout is
    written to its `tile.alloc` as `nv.layout`. Where an operation needs another
    layout, a `tile.copy` into a tile that has it is inserted. Tiles whose elements
    are addressed at run time, transposed or sliced move to shared memory.

    Refuses tiles that take more registers than a thread has (PS1603).

    Example (`--nv-assign-layouts`): eight threads reduce a row, so that each sum has
    eight copies.

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

    becomes

    ```mlir
    !T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
    !s = memref<32x32xf32, #tile.space<shared>>
    !l = memref<32xf32, #tile.space<local>>
    func.func @k(%x: !T, %n: index) attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %X = tile.alloc "X" : !s
      %sum = tile.alloc "sum" {nv.layout = "32 threads [8:copies 16:0*1] registers [2:0*16]"} : !l
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

def InsertSyncs : Pass<"nv-insert-syncs", "::mlir::func::FuncOp"> {
  let summary = "Insert barriers between conflicting accesses of a block's threads";
  let description = [{
    In a kernel that all threads execute in order (`nv.in_order`), an `nv.sync` is
    inserted in front of each operation that reads memory written since the last
    barrier, or writes memory read or written since then. What the end of a loop's
    body leaves behind meets the beginning of the next iteration.

    Example (`--nv-insert-syncs`):

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

    A kernel whose use of barriers depends on data, or that has too many steps, is
    left to the emulator, with a warning (PS1617). The IR is not changed.

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

def AdvanceSlots : Pass<"nv-advance-slots", "::mlir::func::FuncOp"> {
  let summary = "Advance ring slots without a division";
  let description = [{
    `slot = (slot + 1) % stages` advances a slot; the division is expensive in short
    loops. If every value of the variable is in 0 to `stages` - 1, it is replaced by a
    comparison and a select.

    Example (`--nv-advance-slots`):

    ```mlir
    !v = memref<i32, #tile.space<local>>
    func.func @k(%n: index) attributes {tile.kernel, nv.threads = 32 : i64} {
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
    func.func @k(%n: index) attributes {tile.kernel, nv.threads = 32 : i64} {
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

def NarrowMasks : Pass<"nv-narrow-masks", "::mlir::func::FuncOp"> {
  let summary = "Compare coordinates of elements in 32 bits";
  let description = [{
    Indices have 64 bits, which GPUs compare with two instructions for each element. A
    comparison in a `tile.map` is rewritten so that one side has coordinates of the element
    only, which are small, and the other side is computed once in front of the map and
    limited to one step beyond the tile. A move hides the limits from LLVM, which would compare
    64 bits again. Applies if bounds of all terms exclude that sums wrap around.

    Example (`--nv-narrow-masks --canonicalize`): columns from `%n` on.

    ```mlir
    !t = memref<64xi1, #tile.space<local>>
    func.func @k(%x: memref<?xf32>, %t: !t) attributes {tile.kernel} {
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
      %0 = arith.maxsi %dim, %c-1 : index
      %1 = arith.minsi %0, %c64 : index
      %2 = arith.index_cast %1 : index to i32
      %3 = llvm.inline_asm "mov.b32 $0, $1;", "=r,r" %2 : (i32) -> i32
      tile.map %arg1 dims [] {
        %4 = tile.element_index 0
        %5 = arith.index_cast %4 : index to i32
        %6 = arith.cmpi slt, %5, %3 : i32
        tile.yield %6 : i1
      } : memref<64xi1, #tile.space<local>>
    ```

    Tests: test/Target/NVPTX/narrow-masks.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def LowerThreads : Pass<"nv-lower-threads", "::mlir::ModuleOp"> {
  let summary = "Lower explicit kernels to the code of one thread";
  let description = [{
    Allocates tiles and barriers in shared memory, TMEM and registers, and replaces
    the operations of `nv` and `tile` by PTX instructions and scalar code. The kernel
    is left with one parameter that holds all of its arguments and tensor maps; its
    layout, the sizes of block and shared memory and the grid become the attribute
    `nv.launch` of the module. Runs after `tile-lower-launch`.

    Errors are: tiles that do not fit in the target's memories (PS1603), tiles in
    registers whose uses need different layouts (PS1606) and operations that explicit
    kernels do not support (PS1601).

    Example (`--tile-lower-launch --nv-lower-threads`): a sync of one warp is a named
    barrier, a sync of the block is barrier 0.

    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 64 : i64} {
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
  let options = [
    Option<"architecture", "architecture", "std::string", "\"sm_100a\"",
           "sm_90a or sm_100a">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect"];
}

def LowerThreadsToLLVM : Pass<"nv-lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Convert the code of one thread to the LLVM dialect for NVPTX";
  let description = [{
    Upstream's patterns, with indices of 64 bits as on all targets.

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
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"];
}

#endif // PENSTOCK_TARGET_NVPTX_PASSES
