//===- EnginePasses.td - Memory and engines ----------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first phase: the passes decide which memory holds a tile and which engine
// executes a copy or a product. The program stays sequential.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_ENGINEPASSES
#define PENSTOCK_TARGET_NVPTX_ENGINEPASSES

include "Target/NVPTX/KernelPass.td"

def StartKernel : Pass<"nv-start-kernel", "::mlir::func::FuncOp"> {
  let summary = "Start the compilation of kernels for a GPU";
  let description = [{
    Writes the first phase of a kernel (`nv.phase`) and whether its launch guarantees aligned
    rows of tensors (`nv.aligned_rows`). `nv-bind-engines` chooses TMA and cp.async only for
    kernels with aligned rows. Rejects operands of `tile.gemm` that only CPUs have (PS1761). Runs
    first on every GPU, after `tile-attach-target`.

    Example (`--nv-start-kernel=aligned-rows=true`):

    ```mlir
    func.func @k() attributes {tile.kernel} {
      return
    }
    ```

    becomes

    ```mlir
    func.func @k() attributes {nv.aligned_rows, nv.phase = #nv.phase<tile>, tile.kernel} {
      return
    }
    ```

    Tests: test/Target/NVPTX/gpu-pipeline.mlir
  }];
  let options = [
    Option<"alignedRows", "aligned-rows", "bool", "false",
           "launches with other rows take another kernel">,
    Option<"isExplicit", "explicit", "bool", "false",
           "the kernel states what its threads do">
  ];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def VerifyPhase : Pass<"nv-verify-phase", "::mlir::func::FuncOp"> {
  let summary = "Check that kernels are in a phase";
  let description = [{
    Checks the invariants of a phase: operations and attributes that must or must not exist
    (docs/contributing/gpu-phases.md). The pipeline runs it at the end of each phase, in builds with
    assertions and in `penstock-opt`.

    Example (`--nv-verify-phase=phase=bound`): an MMA without an engine.

    ```mlir
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel, tile.target = "sm_90a", nv.phase = #nv.phase<bound>,
                               nv.threads = 128 : i64, nv.tile_program} {
      %A = tile.alloc "A" : !s
      %acc = tile.alloc "acc" : !c
      tile.gemm %A, %A into %acc : !s, !s, !c
      return
    }
    ```

    reports

    ```text
    error: after `?` the kernel is not in phase `bound`: `tile.gemm` has no `nv.engine`
      tile.gemm %A, %A into %acc : !s, !s, !c
    ```

    Tests: test/Target/NVPTX/verify-phase.mlir
  }];
  let options = [
    Option<"phase", "phase", "std::string", "\"tile\"",
           "tile, bound, pipelined, ordered or placed">,
    Option<"after", "after", "std::string", "\"?\"", "the pass before, for messages">
  ];
}

def ChooseThreads : KernelPass<"nv-choose-threads", "Tile", "Tile"> {
  let summary = "Choose the number of threads of a tile program";
  let description = [{
    A kernel without threads gets the fewest warps whose registers hold its local tiles
    (`nv.threads`): 4, 8 or 16, on sm_90a also 12 or 20 if warpgroups can then share the rows
    of all MMAs. All warps execute the whole program (`nv.tile_program`). Kernels that already
    have `nv.threads` do not change.

    Example (`--nv-choose-threads`):

    ```mlir
    func.func @k() attributes {tile.kernel, tile.target = "sm_100a"} {
      %a = tile.alloc : memref<128x128xf32, #tile.space<local>>
      %b = tile.alloc : memref<128x128xf32, #tile.space<local>>
      return
    }
    ```

    becomes

    ```mlir
    func.func @k() attributes {tile.kernel, tile.target = "sm_100a", nv.tile_program, nv.threads = 256 : i64} {
      %a = tile.alloc : memref<128x128xf32, #tile.space<local>>
      %b = tile.alloc : memref<128x128xf32, #tile.space<local>>
      return
    }
    ```

    Tests: test/Target/NVPTX/execute-in-order.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def AssignSpaces : TileProgramPass<"nv-assign-spaces", "Tile", "Tile"> {
  let summary = "Move tiles that registers cannot hold to shared memory";
  let description = [{
    Registers cannot be indexed at run time, and tensor cores do not read operands from
    local tiles, except for the left operand of wgmma, which stays in registers, and that of
    mma.sync if threads compute it from registers, such as P of attention. Every other
    local tile that is sliced, transposed, indexed or an MMA operand becomes a shared tile.
    Reads of single elements of an accumulator use a shared copy.

    Example (`--nv-assign-spaces`):

    ```mlir
    !l = memref<64x64xf16, #tile.space<local>>
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel, tile.target = "sm_100a", nv.tile_program, nv.threads = 128 : i64} {
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
    func.func @k() attributes {tile.kernel, tile.target = "sm_100a", nv.tile_program, nv.threads = 128 : i64} {
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

def PadOperands : KernelPass<"nv-pad-operands", "Tile", "Tile"> {
  let summary = "Pad 6-bit and mixed 4-bit operands of block-scaled MMAs";
  let description = [{
    tcgen05, and ldmatrix for block-scaled mma.sync, read 6-bit values, and 4-bit values if the other
    operand is wider, from padded groups: 16 values are in the first bytes of 16. TMA pads densely
    packed values when it copies them. The operand's tile gets a byte for each value, its copies get
    `padding` and an offset that counts values, and the MMA gets the padded packing. All copies of the
    operand must write whole tiles, in pipelined loops, from tensors that the kernel does not write, at
    multiples of 128 values.
    Otherwise `tile-expand-scaled-products` lowers the MMAs of the kernel; `nv.engine_reason` names the
    reason.

    Example (`--nv-pad-operands`):

    ```mlir
    !A = memref<?x?xi8, strided<[?, 1]>, #tile.space<global>>
    !S = memref<?x?x?x?xf8E8M0FNU, strided<[?, ?, ?, 1]>, #tile.space<global>>
    !a = memref<128x96xi8, #tile.space<shared>>
    !b = memref<128x128xf8E4M3FN, #tile.space<shared>>
    !t = memref<128x128xf8E4M3FN, strided<[1, 128]>, #tile.space<shared>>
    !s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
    !d = memref<128x128xf32, #tile.space<local>>
    func.func @k(%A: !A, %n: index) attributes {tile.kernel, tile.target = "sm_100a"} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c96 = arith.constant 96 : index
      %As = tile.alloc "As" : !a
      %Bs = tile.alloc "Bs" : !b
      %SA = tile.alloc "SA" : !s
      %acc = tile.alloc "acc" : !d
      %Bt = memref.transpose %Bs (i, j) -> (j, i) : !b to !t
      scf.for %k = %c0 to %n step %c1 {
        %at = arith.muli %k, %c96 : index
        tile.copy %A[%c0, %at] to %As : !A to !a
        tile.gemm %As, %Bt into %acc scales(%SA, %SA) packing_a f6e2m3 : !a, !t, !d scales(!s, !s)
      } {tile.schedule = #tile.schedule<num_stages = 2>}
      return
    }
    ```

    becomes

    ```mlir
    !A = memref<?x?xi8, strided<[?, 1]>, #tile.space<global>>
    !S = memref<?x?x?x?xf8E8M0FNU, strided<[?, ?, ?, 1]>, #tile.space<global>>
    !a = memref<128x128xi8, #tile.space<shared>>
    !b = memref<128x128xf8E4M3FN, #tile.space<shared>>
    !t = memref<128x128xf8E4M3FN, strided<[1, 128]>, #tile.space<shared>>
    !s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
    !d = memref<128x128xf32, #tile.space<local>>
    func.func @k(%A: !A, %n: index) attributes {tile.kernel, tile.target = "sm_100a"} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c96 = arith.constant 96 : index
      %As = tile.alloc "As" : !a
      %Bs = tile.alloc "Bs" : !b
      %SA = tile.alloc "SA" : !s
      %acc = tile.alloc "acc" : !d
      %Bt = memref.transpose %Bs (i, j) -> (j, i) : !b to !t
      scf.for %k = %c0 to %n step %c1 {
        %at = arith.muli %k, %c96 : index
        %c128 = arith.constant 128 : index
        %0 = arith.muli %k, %c128 : index
        tile.copy %A[%c0, %0] to %As padding padded_f6e2m3 : !A to !a
        tile.gemm %As, %Bt into %acc scales(%SA, %SA) packing_a padded_f6e2m3 : !a, !t, !d scales(!s, !s)
      } {tile.schedule = #tile.schedule<num_stages = 2>}
      return
    }
    ```

    Tests: test/Target/NVPTX/pad-operands.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect", "::mlir::arith::ArithDialect"];
}

def BindEngines : TileProgramPass<"nv-bind-engines", "Tile", "Bound"> {
  let summary = "Choose the engine of each matmul and each pipelined copy";
  let description = [{
    Writes `nv.engine` on each `tile.gemm`, and on each copy that is a statement of a
    pipelined loop. Copies from tensors to shared tiles use the first legal one of TMA and
    cp.async, matmuls the first of tcgen05, wgmma and mma.sync; otherwise threads. The
    verifiers of the `nv` operations define legality. Without `nv.aligned_rows`, threads
    copy, because rows of tensors may not be multiples of 16 bytes.

    Example (`--nv-bind-engines`):

    ```mlir
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel, tile.target = "sm_90a", nv.tile_program, nv.threads = 128 : i64} {
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
    func.func @k() attributes {tile.kernel, tile.target = "sm_90a", nv.tile_program, nv.threads = 128 : i64} {
      %A = tile.alloc "A" : !s
      %B = tile.alloc "B" : !s
      %acc = tile.alloc "acc" : !c
      tile.gemm %A, %B into %acc {nv.engine = #nv.engine<wgmma>} : !s, !s, !c
      return
    }
    ```

    Tests: test/Target/NVPTX/write-plans.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect", "::mlir::arith::ArithDialect"];
}

def OverlapProducts : TileProgramPass<"nv-overlap-products", "Bound", "Bound"> {
  let summary = "Overlap MMAs with the thread code between them";
  let description = [{
    In a pipelined loop with several tcgen05 MMAs, an MMA whose operands are only loaded (Q K^T in
    attention) moves one iteration ahead, so that the tensor core works while threads compute. Its
    accumulator is double-buffered; if tensor memory is full, the MMA waits until threads have loaded
    the single buffer. Groups are split into separate statements, so that each only waits for its
    own operands.

    With wgmma, a second accumulator does not fit in registers. There the last MMA (P V), whose left
    operand threads compute, moves one iteration behind: it runs while threads compute its next left
    operand into a separate tile.

    Only schedules that the compiler inferred change, and only if registers, tensor memory and
    shared memory have room.

    Example (`--nv-overlap-products`): the first MMA moves from the stage of the reduction to the previous one. The second MMA uses tcgen05, too.

    ```mlir
    !T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<128x64xf16, #tile.space<shared>>
    !c = memref<128x128xf32, #tile.space<local>>
    !v = memref<128xf32, #tile.space<local>>
    func.func @k(%x: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64,
                                                tile.target = "sm_100a"} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %X = tile.alloc "X" : !s
      %Y = tile.alloc "Y" : !s
      %S = tile.alloc "S" : !c
      %O = tile.alloc "O" : !c
      %sum = tile.alloc "sum" : !v
      scf.for %k = %c0 to %n step %c1 {
        tile.copy %x[%k, %c0] to %X {nv.engine = #nv.engine<tma.load>, tile.scheduled = #tile.scheduled<stage = 0, order = 0>} : !T to !s
        %Xt = memref.transpose %X (i, j) -> (j, i) : !s to memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
        tile.gemm %X, %Xt into %S overwrite {nv.engine = #nv.engine<tcgen05.mma>, tile.scheduled = #tile.scheduled<stage = 1, order = 1>} : !s, memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>, !c
        tile.reduce sum %S along 1 into %sum accumulate {tile.scheduled = #tile.scheduled<stage = 1, order = 2>} : !c, !v
        tile.copy %x[%k, %c0] to %Y {nv.engine = #nv.engine<tma.load>, tile.scheduled = #tile.scheduled<stage = 0, order = 3>} : !T to !s
        %Yt = memref.transpose %Y (i, j) -> (j, i) : !s to memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
        tile.gemm %Y, %Yt into %O {nv.engine = #nv.engine<tcgen05.mma>, tile.scheduled = #tile.scheduled<stage = 1, order = 4>} : !s, memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>, !c
      } {tile.schedule = #tile.schedule<num_stages = 2>}
      return
    }
    ```

    becomes

    ```mlir
    ...
    {nv.engine = #nv.engine<tma.load>, tile.scheduled = #tile.scheduled<stage = 0, order = 0>}
    ...
    {nv.engine = #nv.engine<tcgen05.mma>, tile.scheduled = #tile.scheduled<stage = 1, order = 1>}
    ...
    {tile.scheduled = #tile.scheduled<stage = 2, order = 2>}
    ...
    {nv.engine = #nv.engine<tma.load>, tile.scheduled = #tile.scheduled<stage = 1, order = 3>}
    ...
    {nv.engine = #nv.engine<tcgen05.mma>, tile.scheduled = #tile.scheduled<stage = 2, order = 4>}
    ...
    ```

    Tests: test/Target/NVPTX/overlap-products.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def PlaceAccumulators : TileProgramPass<"nv-place-accumulators", "Bound", "Bound"> {
  let summary = "Move tcgen05 accumulators to tensor memory";
  let description = [{
    tcgen05 MMAs accumulate in a tensor tile. The pass inserts copies to and from the accumulator's
    registers around the largest loop in which only MMAs use it. If a loop rescales the accumulator
    before the MMA, the copies surround the rescaling; otherwise they surround each MMA. Schedules
    of pipelined loops get entries for the copies.

    Example (`--nv-place-accumulators`):

    ```mlir
    !s = memref<128x64xf16, #tile.space<shared>>
    !b = memref<64x64xf16, #tile.space<shared>>
    !c = memref<128x64xf32, #tile.space<local>>
    func.func @k(%n: index) attributes {tile.kernel, tile.target = "sm_100a", nv.tile_program, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %A = tile.alloc "A" : !s
      %B = tile.alloc "B" : !b
      %acc = tile.alloc "acc" : !c
      scf.for %k = %c0 to %n step %c1 {
        tile.gemm %A, %B into %acc {nv.engine = #nv.engine<tcgen05.mma>} : !s, !b, !c
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
    func.func @k(%n: index) attributes {tile.kernel, tile.target = "sm_100a", nv.tile_program, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %A = tile.alloc "A" : !s
      %B = tile.alloc "B" : !b
      %acc_0 = nv.tcgen05.alloc "acc" : !t
      %acc = tile.alloc "acc" : !c
      tile.copy %acc to %acc_0 {nv.engine = #nv.engine<tcgen05.st>} : !c to !t
      scf.for %k = %c0 to %n step %c1 {
        tile.gemm %A, %B into %acc_0 {nv.engine = #nv.engine<tcgen05.mma>} : !s, !b, !t
      }
      tile.copy %acc_0 to %acc {nv.engine = #nv.engine<tcgen05.ld>} : !t to !c
      return
    }
    ```

    Tests: test/Target/NVPTX/place-accumulators.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def PlaceOperands : TileProgramPass<"nv-place-operands", "Bound", "Bound"> {
  let summary = "Move register-computed left operands to tensor memory";
  let description = [{
    A shared tile of 128 rows and 16-bit elements, which threads write and tcgen05 only reads as the
    left operand of MMAs, moves to registers and tensor memory, if there are enough columns. Before
    each MMA, a copy to a tensor tile follows the last statement that writes the operand. Schedules
    of pipelined loops get entries for the copies.

    Example (`--nv-place-operands`):

    ```mlir
    !s = memref<128x64xf16, #tile.space<shared>>
    !b = memref<64x64xf16, #tile.space<shared>>
    !t = memref<128x64xf32, #tile.space<tensor>>
    func.func @k(%one: f16) attributes {tile.kernel, tile.target = "sm_100a", nv.tile_program, nv.threads = 128 : i64} {
      %P = tile.alloc "P" : !s
      %B = tile.alloc "B" : !b
      %acc = nv.tcgen05.alloc "acc" : !t
      tile.fill %P, %one : !s, f16
      tile.gemm %P, %B into %acc {nv.engine = #nv.engine<tcgen05.mma>} : !s, !b, !t
      return
    }
    ```

    becomes

    ```mlir
    !p = memref<128x64xf16, #tile.space<tensor>>
    !l = memref<128x64xf16, #tile.space<local>>
    !b = memref<64x64xf16, #tile.space<shared>>
    !t = memref<128x64xf32, #tile.space<tensor>>
    func.func @k(%one: f16) attributes {tile.kernel, tile.target = "sm_100a", nv.tile_program, nv.threads = 128 : i64} {
      %P_0 = nv.tcgen05.alloc "P" : !p
      %P = tile.alloc "P" : !l
      %B = tile.alloc "B" : !b
      %acc = nv.tcgen05.alloc "acc" : !t
      tile.fill %P, %one : !l, f16
      tile.copy %P to %P_0 {nv.engine = #nv.engine<tcgen05.st>} : !l to !p
      tile.gemm %P_0, %B into %acc {nv.engine = #nv.engine<tcgen05.mma>} : !p, !b, !t
      return
    }
    ```

    Tests: test/Target/NVPTX/place-operands.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

#endif // PENSTOCK_TARGET_NVPTX_ENGINEPASSES
