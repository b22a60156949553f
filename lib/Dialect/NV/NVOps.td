//===- NVOps.td - Operations of the nv dialect -------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_NV_OPS
#define PENSTOCK_NV_OPS

include "Dialect/NV/NVDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class NV_Op<string mnemonic, list<Trait> traits = []>
    : Op<NV_Dialect, mnemonic, traits>;
/// An operation that nothing may be moved across.
class NV_EffectOp<string mnemonic, list<Trait> traits = []>
    : NV_Op<mnemonic, !listconcat(traits, [MemoryEffects<[MemRead, MemWrite]>])>;
class NV_ScopeOp<string mnemonic, list<Trait> traits = []>
    : NV_Op<mnemonic, !listconcat(traits, [
        SingleBlock, RecursiveMemoryEffects, NoRegionArguments,
        SingleBlockImplicitTerminator<"EndOp">])>;

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

def NV_WarpsOp : NV_ScopeOp<"warps"> {
  let summary = "runs the body on some warps of the block";
  let description = [{
    Warps [`first`, `first` + `count`) execute the region; the others continue after
    it.

    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      nv.warps 0, 1 {
        nv.warp.sync
      }
      return
    }
    ```
  }];
  let arguments = (ins I64Attr:$first, I64Attr:$count);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$first `,` $count $body attr-dict";
  let hasVerifier = 1;
}

def NV_ElectOp : NV_ScopeOp<"elect"> {
  let summary = "runs the body on one thread of the scope";
  let description = [{
    One thread of the scope's first warp executes the region: the same thread that
    issues the scope's copies and products.

    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
      nv.warps 0, 1 {
        nv.elect {
          nv.mbarrier.arrive %full[%c0] : !nv.barriers<1>
        }
      }
      return
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasVerifier = 1;
}

def NV_EndOp : NV_Op<"end", [Pure, Terminator, ReturnLike,
    ParentOneOf<["WarpsOp", "ElectOp"]>]> {
  let summary = "terminates the region of a scope";
  let description = [{
    Implicit in the text form, as at the end of this region.

    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      nv.warps 0, 1 {
        nv.warp.sync
        nv.end
      }
      return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def NV_SyncOp : NV_EffectOp<"sync"> {
  let summary = "barrier over all threads of the scope";
  let description = [{
    The block's barrier 0, or a named barrier inside `nv.warps`. In kernels that use
    TMEM it includes the fences that order TMEM accesses between threads.

    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      nv.sync
      return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def NV_WarpSyncOp : NV_EffectOp<"warp.sync"> {
  let summary = "synchronizes the threads of each warp of the scope";
  let description = [{
    Orders earlier memory accesses of a warp's threads before later ones of the same
    warp.

    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      nv.warp.sync
      return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def NV_NamedBarrierAllocOp : NV_Op<"named_barrier.alloc", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    MemoryEffects<[MemAlloc]>]> {
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

def NV_NamedBarrierSyncOp : NV_EffectOp<"named_barrier.sync"> {
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

def NV_NamedBarrierArriveOp : NV_EffectOp<"named_barrier.arrive"> {
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

class NV_RegistersOp<string mnemonic> : NV_EffectOp<mnemonic> {
  let arguments = (ins I64Attr:$count);
  let assemblyFormat = "$count attr-dict";
  let hasVerifier = 1;
}

def NV_RegistersRequestOp : NV_RegistersOp<"registers.request"> {
  let summary = "raises the register count of the scope's threads";
  let description = [{
    Executed once by all warps of whole warpgroups. Waits until the block's pool has
    enough registers, which other warpgroups must have released.

    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 256 : i64} {
      nv.warps 0, 4 {
        nv.registers.release 40
      }
      nv.warps 4, 4 {
        nv.registers.request 232
      }
      return
    }
    ```
  }];
}

def NV_RegistersReleaseOp : NV_RegistersOp<"registers.release"> {
  let summary = "lowers the register count of the scope's threads";
  let description = [{
    Executed once by all warps of whole warpgroups. Keeps `count` registers per thread
    and returns the others to the block's pool.

    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 256 : i64} {
      nv.warps 0, 4 {
        nv.registers.release 40
      }
      return
    }
    ```
  }];
}

def NV_ClusterRankOp : NV_Op<"cluster.rank", [Pure]> {
  let summary = "rank of this block in its cluster";
  let description = [{
    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64, nv.cluster = 2 : i64} {
      %rank = nv.cluster.rank
      tile.print "{}" %rank : index
      return
    }
    ```
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def NV_ClusterSyncOp : NV_EffectOp<"cluster.sync"> {
  let summary = "barrier over all threads of all blocks of the cluster";
  let description = [{
    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64, nv.cluster = 2 : i64} {
      nv.cluster.sync
      return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def NV_ProxyFenceOp : NV_EffectOp<"fence.proxy_async"> {
  let summary = "makes writes to shared memory visible to the async proxy";
  let description = [{
    Writes of a thread to shared memory before the fence are visible to TMA and the
    tensor core after the next synchronization.

    ```mlir
    !s = memref<128x64xf16, #tile.space<shared>>
    func.func @k(%zero: f16) attributes {tile.kernel, nv.threads = 128 : i64} {
      %t = tile.alloc "t" : !s
      tile.fill %t, %zero : !s, f16
      nv.fence.proxy_async
      nv.sync
      return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

def NV_BarrierAllocOp : NV_Op<"mbarrier.alloc", [
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

class NV_BarrierOp<string mnemonic, list<Trait> traits = []> : NV_EffectOp<mnemonic, traits> {
  let hasVerifier = 1;
}

def NV_ArriveOp : NV_BarrierOp<"mbarrier.arrive", [AttrSizedOperandSegments]> {
  let summary = "arrives on an mbarrier, optionally expecting bytes";
  let description = [{
    Every thread of the scope arrives once. With `expect` the phase also waits for that
    number of bytes of copies. With `of` the barrier is in another block of the cluster,
    at the same offset in shared memory. An arrival releases: earlier accesses are
    ordered before threads of the block that wait for the phase, with `of` or `cluster`
    before those of the cluster, and with `relaxed` before none.

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
                       Optional<Index>:$cta, UnitAttr:$relaxed, UnitAttr:$cluster);
  let builders = [OpBuilder<(ins "::mlir::Value":$barriers, "::mlir::Value":$index,
                                 "::mlir::Value":$bytes), [{
    build($_builder, $_state, barriers, index, bytes, /*cta=*/::mlir::Value());
  }]>];
  let assemblyFormat = [{
    $barriers `[` $index `]` (`expect` $bytes^)? (`of` $cta^)? (`relaxed` $relaxed^)?
    (`cluster` $cluster^)? attr-dict `:` qualified(type($barriers))
  }];
}

def NV_WaitOp : NV_BarrierOp<"mbarrier.wait"> {
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

def NV_TryWaitOp : NV_BarrierOp<"mbarrier.try_wait"> {
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

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

def NV_TmaLoadOp : NV_BarrierOp<"tma.load", [AttrSizedOperandSegments]> {
  let summary = "copies a box of a tensor to a shared tile, by TMA";
  let description = [{
    Issued by one thread. The bytes of the whole tile are counted on the barrier;
    elements outside the tensor read as zero. Rows of the tensor are multiples of 16
    bytes, which the launch checks.

    Rows of the tile are along the tensor's second to last dimension, or along the
    first of `dims`; columns along its last.

    With `multicast` the box is read once and arrives in every block of the cluster
    whose bit is set: in the same tile, and on the same barrier there. `cache` is the L2
    eviction priority: "evict_first", "evict_normal" or "evict_last".

    ```mlir
    !A = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<128x64xf16, #tile.space<shared>>
    func.func @k(%A: !A, %m: index, %k: index, %slot: index) attributes {tile.kernel, nv.threads = 128 : i64} {
      %As = tile.alloc "As" : !s
      %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
      nv.tma.load %A[%m, %k] to %As, %full[%slot] cache "evict_last" : !A, !s, !nv.barriers<1>
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$offsets, AnyMemRef:$target,
                       NV_Barriers:$barriers, Index:$index, Optional<I32>:$multicast,
                       OptionalAttr<DenseI64ArrayAttr>:$dims, OptionalAttr<StrAttr>:$cache);
  let builders = [OpBuilder<(ins "::mlir::Value":$source, "::mlir::ValueRange":$offsets,
                                 "::mlir::Value":$target, "::mlir::Value":$barriers,
                                 "::mlir::Value":$index, "::mlir::DenseI64ArrayAttr":$dims), [{
    build($_builder, $_state, source, offsets, target, barriers, index,
          /*multicast=*/::mlir::Value(), dims, /*cache=*/::mlir::StringAttr());
  }]>];
  let assemblyFormat = [{
    $source `[` $offsets `]` `to` $target `,` $barriers `[` $index `]`
    (`dims` $dims^)? (`multicast` $multicast^)? (`cache` $cache^)? attr-dict
    `:` type($source) `,` type($target) `,` qualified(type($barriers))
  }];
}

def NV_TmaStoreOp : NV_EffectOp<"tma.store"> {
  let summary = "copies a shared tile to a box of a tensor, by TMA";
  let description = [{
    Issued by one thread, as part of its next group. Elements outside the tensor are
    not written; the offsets are non-negative. `dims` is that of `nv.tma.load`.
    `combine` is the reduction applied to the destination, atomic per element: "add",
    "min" or "max"; none for a plain store.

    ```mlir
    !C = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
    !c = memref<64x32xf32, #tile.space<shared>>
    func.func @k(%C: !C, %m: index, %n: index) attributes {tile.kernel, nv.threads = 128 : i64} {
      %Cs = tile.alloc "Cs" : !c
      nv.tma.store %Cs to %C[%m, %n] combine "add" cache "evict_first" : !c, !C
      nv.tma.commit_group
      nv.tma.wait_group 0
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$source, AnyMemRef:$target, Variadic<Index>:$offsets,
                       OptionalAttr<DenseI64ArrayAttr>:$dims, OptionalAttr<StrAttr>:$combine,
                       OptionalAttr<StrAttr>:$cache);
  let builders = [OpBuilder<(ins "::mlir::Value":$source, "::mlir::Value":$target,
                                 "::mlir::ValueRange":$offsets,
                                 "::mlir::DenseI64ArrayAttr":$dims), [{
    build($_builder, $_state, source, target, offsets, dims, /*combine=*/::mlir::StringAttr(),
          /*cache=*/::mlir::StringAttr());
  }]>];
  let assemblyFormat = [{
    $source `to` $target `[` $offsets `]` (`dims` $dims^)? (`combine` $combine^)? (`cache` $cache^)?
    attr-dict `:` type($source) `,` type($target)
  }];
  let hasVerifier = 1;
}

def NV_TmaCommitOp : NV_EffectOp<"tma.commit_group"> {
  let summary = "commits the stores issued so far as a group";
  let description = [{
    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      nv.tma.commit_group
      nv.tma.wait_group 0
      return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def NV_TmaWaitOp : NV_EffectOp<"tma.wait_group"> {
  let summary = "waits until at most `pending` groups of stores are in flight";
  let description = [{
    With `read`, until their shared tiles have been read and may be overwritten.

    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      nv.tma.commit_group
      nv.tma.wait_group 0 read
      return
    }
    ```
  }];
  let arguments = (ins I64Attr:$pending, UnitAttr:$read);
  let assemblyFormat = "$pending (`read` $read^)? attr-dict";
  let hasVerifier = 1;
}

def NV_AsyncCopyOp : NV_EffectOp<"cp_async"> {
  let summary = "copies a box of a tensor to a shared tile, by the scope's threads";
  let description = [{
    All threads of the scope copy 16 bytes at a time, or 8 or 4; rows of tensor and tile,
    and the offset along rows, must be multiples of it. The tile has one or two
    dimensions. Elements outside the tensor read as zero. Completes at
    `nv.cp_async.wait_group` and a synchronization, or with the barrier of
    `nv.cp_async.arrive`. `dims` is that of `nv.tma.load`. With `l1`, and always with
    fewer than 16 bytes, the copy also uses the L1 cache.

    ```mlir
    !A = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<128x64xf16, #tile.space<shared>>
    func.func @k(%A: !A, %m: index, %k: index) attributes {tile.kernel, nv.threads = 128 : i64} {
      %As = tile.alloc "As" : !s
      nv.cp_async %A[%m, %k] to %As : !A, !s
      nv.cp_async.commit_group
      nv.cp_async.wait_group 0
      nv.sync
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$offsets, AnyMemRef:$target,
                       OptionalAttr<DenseI64ArrayAttr>:$dims,
                       DefaultValuedAttr<I64Attr, "16">:$bytes, UnitAttr:$l1);
  let assemblyFormat = [{
    $source `[` $offsets `]` `to` $target (`dims` $dims^)? (`bytes` $bytes^)? (`l1` $l1^)? attr-dict
    `:` type($source) `,` type($target)
  }];
  let hasVerifier = 1;
}

def NV_AsyncArriveOp : NV_BarrierOp<"cp_async.arrive"> {
  let summary = "arrives on an mbarrier when the thread's previous cp_async copies have completed";
  let description = [{
    Every thread of the scope arrives once, which the barrier's count includes. A wait
    for the phase makes the copies visible.

    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %full = nv.mbarrier.alloc "full" [128] : !nv.barriers<1>
      nv.cp_async.arrive %full[%c0] : !nv.barriers<1>
      return
    }
    ```
  }];
  let arguments = (ins NV_Barriers:$barriers, Index:$index);
  let assemblyFormat = "$barriers `[` $index `]` attr-dict `:` qualified(type($barriers))";
}

def NV_AsyncCommitOp : NV_EffectOp<"cp_async.commit_group"> {
  let summary = "commits the thread's cp_async copies so far as a group";
  let description = [{
    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      nv.cp_async.commit_group
      nv.cp_async.wait_group 0
      return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def NV_AsyncWaitOp : NV_EffectOp<"cp_async.wait_group"> {
  let summary = "waits until at most `pending` groups of the thread's cp_async copies are in flight";
  let description = [{
    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      nv.cp_async.commit_group
      nv.cp_async.wait_group 0
      return
    }
    ```
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Cluster launch control
//===----------------------------------------------------------------------===//

def NV_ClcRequestOp : NV_BarrierOp<"clc.request"> {
  let summary = "requests the work of a block that has not started";
  let description = [{
    Issued by one thread. The answer, 16 bytes, arrives in the tile and on the barrier.
    After an answer without work, further requests are not allowed.

    ```mlir
    !a = memref<4xi32, #tile.space<shared>>
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %answer = tile.alloc "answer" : !a
      %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
      nv.clc.request %answer, %full[%c0] : !a, !nv.barriers<1>
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$answer, NV_Barriers:$barriers, Index:$index);
  let assemblyFormat = [{
    $answer `,` $barriers `[` $index `]` attr-dict `:` type($answer) `,` qualified(type($barriers))
  }];
}

def NV_ClcAnswerOp : NV_EffectOp<"clc.answer"> {
  let summary = "decodes the answer to a request for work";
  let description = [{
    Returns whether there is work, and the number of the block that is taken over.

    ```mlir
    !a = memref<4xi32, #tile.space<shared>>
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      %answer = tile.alloc "answer" : !a
      %granted, %block = nv.clc.answer %answer : !a
      tile.print "{} {}" %granted, %block : i1, index
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$answer);
  let results = (outs I1:$granted, Index:$block);
  let assemblyFormat = "$answer attr-dict `:` type($answer)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Blackwell's tensor core and tensor memory
//===----------------------------------------------------------------------===//

def NV_TensorAllocOp : NV_Op<"tcgen05.alloc", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "allocates a tile in TMEM";
  let description = [{
    The block's first warp allocates it at the start of the kernel.

    ```mlir
    !d = memref<128x64xf32, #tile.space<tensor>>
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      %acc = nv.tcgen05.alloc "acc" : !d
      nv.tcgen05.dealloc %acc : !d
      return
    }
    ```
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$label);
  let results = (outs Res<AnyMemRef, "", [MemAlloc<DefaultResource>]>:$result);
  let assemblyFormat = "($label^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NV_TensorDeallocOp : NV_EffectOp<"tcgen05.dealloc"> {
  let summary = "deallocates a tile in TMEM";
  let description = [{
    By the block's first warp. Every tile is deallocated before the kernel ends, after
    its last use by any thread.

    ```mlir
    !d = memref<128x64xf32, #tile.space<tensor>>
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      %acc = nv.tcgen05.alloc "acc" : !d
      nv.tcgen05.dealloc %acc : !d
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$tile);
  let assemblyFormat = "$tile attr-dict `:` type($tile)";
  let hasVerifier = 1;
}

def NV_TensorMmaOp : NV_EffectOp<"tcgen05.mma"> {
  let summary = "multiplies two tiles into a TMEM tile";
  let description = [{
    Issued by one thread, for all of K. `acc = a * b`, plus its old value if
    `accumulate` is true. `a` is a shared or a TMEM tile, `b` a shared one. Completes
    when a later commit of the same scope arrives on its barrier.

    ```mlir
    !s = memref<128x64xf16, #tile.space<shared>>
    !b = memref<64x64xf16, #tile.space<shared>>
    !d = memref<128x64xf32, #tile.space<tensor>>
    func.func @k(%more: i1) attributes {tile.kernel, nv.threads = 128 : i64} {
      %As = tile.alloc "As" : !s
      %Bs = tile.alloc "Bs" : !b
      %acc = nv.tcgen05.alloc "acc" : !d
      nv.warps 0, 1 {
        nv.tcgen05.mma %As, %Bs into %acc accumulate %more : !s, !b, !d
      }
      nv.tcgen05.dealloc %acc : !d
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$a, AnyMemRef:$b, AnyMemRef:$acc, I1:$accumulate);
  let assemblyFormat = [{
    $a `,` $b `into` $acc `accumulate` $accumulate attr-dict
    `:` type($a) `,` type($b) `,` type($acc)
  }];
  let hasVerifier = 1;
}

def NV_TensorCommitOp : NV_BarrierOp<"tcgen05.commit"> {
  let summary = "arrives on an mbarrier when the scope's MMAs so far have completed";
  let description = [{
    With `multicast` on that barrier of every block of the cluster whose bit is set. A
    pair of blocks sets the bits of both implicitly.

    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %empty = nv.mbarrier.alloc "empty" [1] : !nv.barriers<1>
      nv.tcgen05.commit %empty[%c0] : !nv.barriers<1>
      return
    }
    ```
  }];
  let arguments = (ins NV_Barriers:$barriers, Index:$index, Optional<I32>:$multicast);
  let builders = [OpBuilder<(ins "::mlir::Value":$barriers, "::mlir::Value":$index), [{
    build($_builder, $_state, barriers, index, /*multicast=*/::mlir::Value());
  }]>];
  let assemblyFormat = [{
    $barriers `[` $index `]` (`multicast` $multicast^)? attr-dict
    `:` qualified(type($barriers))
  }];
}

def NV_TensorLoadOp : NV_EffectOp<"tcgen05.load"> {
  let summary = "copies TMEM to registers";
  let description = [{
    Executed by four warps: warp w reads lanes from 32 (w mod 4). Of eight or sixteen
    warps, each four read a part of the columns. The registers are valid after
    `nv.tcgen05.wait_load`.

    ```mlir
    !d = memref<128x64xf32, #tile.space<tensor>>
    !r = memref<128x64xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      %acc = nv.tcgen05.alloc "acc" : !d
      %r = tile.alloc "r" : !r
      nv.tcgen05.load %acc to %r : !d, !r
      nv.tcgen05.wait_load
      nv.tcgen05.dealloc %acc : !d
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$source, AnyMemRef:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `,` type($target)";
  let hasVerifier = 1;
}

def NV_TensorStoreOp : NV_EffectOp<"tcgen05.store"> {
  let summary = "copies registers to TMEM";
  let description = [{
    Executed by four warps, one row per thread, or by eight or sixteen, which share the
    columns. 16-bit elements are packed in pairs, as the tensor core requires for its
    left operand. Completes at `nv.tcgen05.wait_store`.

    ```mlir
    !d = memref<128x64xf32, #tile.space<tensor>>
    !r = memref<128x64xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      %acc = nv.tcgen05.alloc "acc" : !d
      %r = tile.alloc "r" : !r
      nv.tcgen05.store %r to %acc : !r, !d
      nv.tcgen05.wait_store
      nv.tcgen05.dealloc %acc : !d
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$source, AnyMemRef:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `,` type($target)";
  let hasVerifier = 1;
}

def NV_TensorWaitStoreOp : NV_EffectOp<"tcgen05.wait_store"> {
  let summary = "waits for the thread's stores to TMEM";
  let description = [{
    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      nv.tcgen05.wait_store
      return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def NV_TensorFenceOp : NV_EffectOp<"tcgen05.fence"> {
  let summary = "orders accesses to TMEM with a synchronization of threads";
  let description = [{
    Without `after`, the thread's earlier accesses to TMEM are ordered before the next
    synchronization; with it, its later accesses are ordered after the last one.

    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      nv.tcgen05.fence
      nv.sync
      nv.tcgen05.fence after
      return
    }
    ```
  }];
  let arguments = (ins UnitAttr:$after);
  let assemblyFormat = "(`after` $after^)? attr-dict";
}

def NV_TensorCopyOp : NV_EffectOp<"tcgen05.copy"> {
  let summary = "copies a shared tile to TMEM";
  let description = [{
    Issued by one thread; visible to later products of the same scope. Completes when a
    later commit of the same scope arrives on its barrier.

    ```mlir
    !c = memref<128x64xf32, #tile.space<shared>>
    !d = memref<128x64xf32, #tile.space<tensor>>
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      %acc = nv.tcgen05.alloc "acc" : !d
      %Cs = tile.alloc "Cs" : !c
      nv.warps 0, 1 {
        nv.tcgen05.copy %Cs to %acc : !c, !d
      }
      nv.tcgen05.dealloc %acc : !d
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$source, AnyMemRef:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `,` type($target)";
  let hasVerifier = 1;
}

def NV_TensorWaitLoadOp : NV_EffectOp<"tcgen05.wait_load"> {
  let summary = "waits for the thread's loads from TMEM";
  let description = [{
    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      nv.tcgen05.wait_load
      return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Hopper's tensor core
//===----------------------------------------------------------------------===//

def NV_WgmmaFenceOp : NV_EffectOp<"wgmma.fence"> {
  let summary = "orders register and shared memory accesses before the next wgmma";
  let description = [{
    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      nv.wgmma.fence
      return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def NV_WgmmaOp : NV_EffectOp<"wgmma.mma"> {
  let summary = "multiplies two tiles into registers";
  let description = [{
    Executed by whole warpgroups, for all of K; 64 rows each. `acc = a * b`, plus its
    old value if `accumulate` is true. `a` is a shared tile or, with 16-bit elements, a
    tile in registers; `b` is a shared one. The accumulator must not be accessed, nor
    `a` in registers written, before the group has been awaited.

    ```mlir
    !s = memref<128x64xf16, #tile.space<shared>>
    !b = memref<64x64xf16, #tile.space<shared>>
    !r = memref<128x64xf32, #tile.space<local>>
    func.func @k(%more: i1) attributes {tile.kernel, nv.threads = 256 : i64} {
      %As = tile.alloc "As" : !s
      %Bs = tile.alloc "Bs" : !b
      %acc = tile.alloc "acc" : !r
      nv.wgmma.fence
      nv.wgmma.mma %As, %Bs into %acc accumulate %more : !s, !b, !r
      nv.wgmma.commit_group
      nv.wgmma.wait_group 0
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$a, AnyMemRef:$b, AnyMemRef:$acc, I1:$accumulate);
  let assemblyFormat = [{
    $a `,` $b `into` $acc `accumulate` $accumulate attr-dict
    `:` type($a) `,` type($b) `,` type($acc)
  }];
  let hasVerifier = 1;
}

def NV_WgmmaCommitOp : NV_EffectOp<"wgmma.commit_group"> {
  let summary = "commits the wgmma products issued so far as a group";
  let description = [{
    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      nv.wgmma.commit_group
      nv.wgmma.wait_group 0
      return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def NV_WgmmaWaitOp : NV_EffectOp<"wgmma.wait_group"> {
  let summary = "waits until at most `pending` groups of wgmma products are in flight";
  let description = [{
    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      nv.wgmma.commit_group
      nv.wgmma.wait_group 0
      return
    }
    ```
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}

#endif // PENSTOCK_NV_OPS
