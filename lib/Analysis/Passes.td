//===- Passes.td - Passes that print analyses --------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_PASSES
#define PENSTOCK_ANALYSIS_PASSES

include "mlir/Pass/PassBase.td"

def PrintValues : Pass<"tile-print-values", "::mlir::func::FuncOp"> {
  let summary = "Print value ranges and affine forms of scalars";
  let description = [{
    For each scalar of index type, a remark says whether it is non-negative in every
    launch, whether it counts modulo a number of at most `limit` (so that it stays below
    it), and, inside a loop, its affine form: a factor of the iteration `k`, an offset,
    and the number of values that do not change in the loop. For each arithmetic
    operation on narrow integers, a remark says whether its result is exact.

    Example (`--tile-print-values`): offsets of a pipelined loop.

    ```mlir
    func.func @k(%n: index, %m: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      scf.for %i = %c0 to %n step %c1 {
        %0 = arith.muli %i, %c64 : index
        %offset = arith.addi %0, %m : index
      }
      return
    }
    ```

    reports

    ```text
    remark: non-negative; 64 * k
    %0 = arith.muli
    remark: 64 * k + 1 invariant
    %offset = arith.addi
    ```

    Tests: test/Analysis/print-values.mlir
  }];
  let options = [
    Option<"limit", "limit", "int64_t", "16", "bound that counters are compared with">
  ];
}

def PrintLoops : Pass<"tile-print-loops", "::mlir::func::FuncOp"> {
  let summary = "Print pipelined loops as scheduling problems";
  let description = [{
    Each loop with a schedule is printed to standard error in the text form of
    `docs/contributing/scheduling-instances.md`: statements, buffers and the regions that each
    iteration reads and writes. With `arch`, also engines and cycles of statements, the
    memory of buffers and its capacity.

    Example (`--tile-print-loops`): one copy per iteration.

    ```mlir
    !A = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
    !s = memref<8x16xf32, #tile.space<shared>>
    func.func @k(%A: !A, %n: index) attributes {tile.kernel} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %As = tile.alloc "As" : !s
      scf.for %i = %c0 to %n step %c1 {
        %k = arith.muli %i, %c16 : index
        tile.copy %A[%c0, %k] to %As : !A to !s
      } {tile.schedule = #tile.schedule<num_stages = 2>}
      return
    }
    ```

    reports

    ```text
    buffer As shared [8, 16] bytes 512
    reads "a tensor"[0:8, 16*k:16] writes As
    ```

    Tests: test/Analysis/print-loops.mlir
  }];
  let options = [
    Option<"arch", "arch", "std::string", "\"\"", "architecture that gives costs and capacities">
  ];
}

def PrintExecution : Pass<"nv-print-execution", "::mlir::func::FuncOp"> {
  let summary = "Print issuers, accesses and completion of nv operations";
  let description = [{
    A remark at each operation of `nv` shows the properties from `HardwareOpInterface`:
    issuing threads, completion, synchronization, accesses and architectures.

    Example (`--nv-print-execution`): a store of TMA.

    ```mlir
    !C = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
    !c = memref<64x32xf32, #tile.space<shared>>
    func.func @k(%C: !C, %m: index, %n: index) attributes {tile.kernel, nv.threads = 128 : i64} {
      %Cs = tile.alloc "Cs" : !c
      nv.tma.store %Cs to %C[%m, %n] : !c, !C
      nv.tma.commit_group
      nv.tma.wait_group 0
      return
    }
    ```

    reports

    ```text
    remark: by one thread; completes in queue `bulk store`; reads `Cs` in the layout of engines, writes a tensor
    nv.tma.store
    remark: by one thread; closes a group of queue `bulk store`
    nv.tma.commit_group
    remark: by one thread; awaits groups of queue `bulk store`
    nv.tma.wait_group
    ```

    Tests: test/Analysis/print-execution.mlir
  }];
}

def PrintProtocol : Pass<"nv-print-protocol", "::mlir::func::FuncOp"> {
  let summary = "Print the steps of warp roles on barriers and tiles";
  let description = [{
    Prints to standard error the sizes for which `nv-check-barriers` simulates an
    explicit kernel, and for those with `iterations` iterations the steps of each role:
    waits, arrivals, copies, and the boxes of tiles that each accesses.

    Example (`--nv-print-protocol`): one warp loads a tile.

    ```mlir
    !A = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<64x64xf16, #tile.space<shared>>
    func.func @k(%A: !A) attributes {tile.kernel, nv.threads = 32 : i64} {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0 : i32
      %bytes = arith.constant 8192 : index
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
    warp 0:
      mbarrier.arrive: arrive full, 1 arrivals, 8192 bytes
      tma.load: copy full, 8192 bytes, writes As[0:64, 0:64]
      mbarrier.wait: wait full, parity 0
    ```

    Tests: test/Analysis/print-protocol.mlir
  }];
  let options = [
    Option<"iterations", "iterations", "int64_t", "0",
           "iterations of the loops whose steps are printed">
  ];
}

def PrintWork : Pass<"nv-print-work", "::mlir::func::FuncOp"> {
  let summary = "Print the costs of operations of explicit kernels";
  let description = [{
    A remark at each operation of an explicit kernel shows the bytes, MMAs and
    cycles from which `explain --shape` predicts its time, on the chip `chip`.

    Example (`--nv-print-work=chip=H100`): 64 rows of 128 bytes.

    ```mlir
    !A = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<64x64xf16, #tile.space<shared>>
    func.func @k(%A: !A) attributes {tile.kernel, nv.threads = 32 : i64} {
      %c0 = arith.constant 0 : index
      %As = tile.alloc "As" : !s
      %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
      nv.tma.load %A[%c0, %c0] to %As, %full[%c0] : !A, !s, !nv.barriers<1>
      return
    }
    ```

    reports

    ```text
    remark: TMA: 8192 bytes in 64 rows, 1 copies
    nv.tma.load
    ```

    Tests: test/Analysis/print-work.mlir
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"H100\"", "chip whose constants are used">
  ];
}

#endif // PENSTOCK_ANALYSIS_PASSES
