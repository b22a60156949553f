//===- NVBarrierOps.td - Named barriers and mbarriers ------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_NV_BARRIER_OPS
#define PENSTOCK_NV_BARRIER_OPS

include "Dialect/NV/NVOpBase.td"

def NV_NamedBarrierAllocOp : NV_Op<"named_barrier.alloc", "EachThread", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    MemoryEffects<[MemAlloc]>]> {
  let availability = "Sm80AndLater";
  let summary = "allocates a named barrier";
  let description = [{
    One of the 16 barriers of a block. It completes each time when the number of
    threads of its type has arrived, by `sync` or `arrive`.

    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      %ready = nv.named_barrier.alloc "ready" : !nv.named_barrier<128>
      nv.warps 0, 2 {
        nv.named_barrier.arrive %ready : !nv.named_barrier<128>
      }
      nv.warps 2, 2 {
        nv.named_barrier.sync %ready : !nv.named_barrier<128>
      }
      return
    }
    ```
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$label);
  let results = (outs NV_NamedBarrier:$result);
  let assemblyFormat = "($label^)? attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def NV_NamedBarrierSyncOp : NV_EffectOp<"named_barrier.sync", "Warps"> {
  let availability = "Sm80AndLater";
  let synchronization = "Wait";
  let summary = "arrives on a named barrier and waits for its completion";
  let description = [{
    Executed by every thread of the scope.

    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      %ready = nv.named_barrier.alloc "ready" : !nv.named_barrier<128>
      nv.named_barrier.sync %ready : !nv.named_barrier<128>
      return
    }
    ```
  }];
  let arguments = (ins NV_NamedBarrier:$barrier);
  let assemblyFormat = "$barrier attr-dict `:` qualified(type($barrier))";
  let hasVerifier = 1;
}

def NV_NamedBarrierArriveOp : NV_EffectOp<"named_barrier.arrive", "Warps"> {
  let availability = "Sm80AndLater";
  let synchronization = "Arrive";
  let summary = "arrives on a named barrier without waiting";
  let description = [{
    Executed by every thread of the scope. Its earlier writes are visible to the
    threads that wait.

    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      %ready = nv.named_barrier.alloc "ready" : !nv.named_barrier<128>
      nv.warps 0, 2 {
        nv.named_barrier.arrive %ready : !nv.named_barrier<128>
      }
      nv.warps 2, 2 {
        nv.named_barrier.sync %ready : !nv.named_barrier<128>
      }
      return
    }
    ```
  }];
  let arguments = (ins NV_NamedBarrier:$barrier);
  let assemblyFormat = "$barrier attr-dict `:` qualified(type($barrier))";
  let hasVerifier = 1;
}

def NV_BarrierAllocOp : NV_Op<"mbarrier.alloc", "EachThread", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    MemoryEffects<[MemAlloc]>]> {
  let summary = "allocates mbarriers in shared memory";
  let description = [{
    Each completes a phase after the given number of arrivals. They are initialized at
    the start of the kernel.

    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      %full = nv.mbarrier.alloc "full" [1, 1, 1] : !nv.barriers<3>
      return
    }
    ```
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$label, DenseI64ArrayAttr:$counts);
  let results = (outs NV_Barriers:$result);
  let assemblyFormat = "($label^)? $counts attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def NV_ArriveOp : NV_BarrierOp<"mbarrier.arrive", "EachThread", [AttrSizedOperandSegments]> {
  let synchronization = "Arrive";
  let summary = "arrives on an mbarrier, optionally expecting bytes";
  let description = [{
    Every thread of the scope arrives once. With `expect` the phase also waits for that
    number of bytes of copies. With `of` the barrier is in another block of the cluster,
    at the same offset in shared memory. An arrival is a release: it
    orders earlier accesses before threads of the block that wait for the phase, and with `of`
    or `cluster` before threads of the cluster. A `relaxed` arrival orders no accesses of
    threads. It only signals that the `tcgen05` operations that the thread has awaited, and with
    `of` also its awaited `wgmma` reads, have completed. That is enough to free a slot, and
    cheaper: a release at cluster scope waits for all earlier writes. With `each_warp` one thread
    of each warp arrives, on behalf of the threads that synchronized with it at an
    `nv.warp.sync`.

    ```mlir
    func.func @k(%slot: index, %bytes: index) attributes {tile.kernel, nv.threads = 128 : i64} {
      %full = nv.mbarrier.alloc "full" [1, 1, 1] : !nv.barriers<3>
      nv.warps 0, 1 {
        nv.elect {
          nv.mbarrier.arrive %full[%slot] expect %bytes : !nv.barriers<3>
        }
      }
      return
    }
    ```
  }];
  let arguments = (ins NV_Barriers:$barriers, Index:$index, Optional<Index>:$bytes,
                       Optional<Index>:$cta, UnitAttr:$relaxed, UnitAttr:$cluster,
                       UnitAttr:$eachWarp);
  let builders = [OpBuilder<(ins "::mlir::Value":$barriers, "::mlir::Value":$index,
                                 "::mlir::Value":$bytes), [{
    build($_builder, $_state, barriers, index, bytes, /*cta=*/::mlir::Value());
  }]>];
  let assemblyFormat = [{
    $barriers `[` $index `]` (`expect` $bytes^)? (`of` $cta^)? (`relaxed` $relaxed^)?
    (`cluster` $cluster^)? (`each_warp` $eachWarp^)? attr-dict `:` qualified(type($barriers))
  }];
}

def NV_WaitOp : NV_BarrierOp<"mbarrier.wait", "EachThread"> {
  let synchronization = "Wait";
  let summary = "waits for the completion of a phase of an mbarrier";
  let description = [{
    Every thread of the scope waits for the phase of the given parity and acquires. A
    relaxed wait does not order later accesses.

    ```mlir
    func.func @k(%slot: index, %phase: i32) attributes {tile.kernel, nv.threads = 128 : i64} {
      %full = nv.mbarrier.alloc "full" [1, 1, 1] : !nv.barriers<3>
      nv.mbarrier.wait %full[%slot], %phase : !nv.barriers<3>
      return
    }
    ```
  }];
  let arguments = (ins NV_Barriers:$barriers, Index:$index, I32:$phase,
                       UnitAttr:$relaxed, UnitAttr:$cluster);
  let assemblyFormat = [{
    $barriers `[` $index `]` `,` $phase (`relaxed` $relaxed^)? (`cluster` $cluster^)?
    attr-dict `:` qualified(type($barriers))
  }];
}

def NV_TryWaitOp : NV_BarrierOp<"mbarrier.try_wait", "EachThread"> {
  let synchronization = "Wait";
  let summary = "tests for the completion of a phase of an mbarrier";
  let description = [{
    Non-blocking; may spuriously return false. Every thread of the scope tests
    individually. If the result is true, the thread has acquired. With `for`, the thread
    may suspend for about that number of nanoseconds.

    ```mlir
    func.func @k(%slot: index, %phase: i32) attributes {tile.kernel, nv.threads = 128 : i64} {
      %full = nv.mbarrier.alloc "full" [1, 1, 1] : !nv.barriers<3>
      %done = nv.mbarrier.try_wait %full[%slot], %phase for 1000 : !nv.barriers<3>
      tile.print "{}" %done : i1
      return
    }
    ```
  }];
  let arguments = (ins NV_Barriers:$barriers, Index:$index, I32:$phase,
                       OptionalAttr<I64Attr>:$nanoseconds, UnitAttr:$cluster);
  let results = (outs I1:$complete);
  let assemblyFormat = [{
    $barriers `[` $index `]` `,` $phase (`for` $nanoseconds^)? (`cluster` $cluster^)?
    attr-dict `:` qualified(type($barriers))
  }];
}

#endif // PENSTOCK_NV_BARRIER_OPS
