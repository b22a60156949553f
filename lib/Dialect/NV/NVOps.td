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
  let summary = "what some warps of the block do";
  let description = [{
    The region is executed by `count` warps from warp `first` on; the others go
    on behind it.

    ```mlir
    nv.warps 0, 1 {
      ...
    }
    ```
  }];
  let arguments = (ins I64Attr:$first, I64Attr:$count);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$first `,` $count $body attr-dict";
  let hasVerifier = 1;
}

def NV_ElectOp : NV_ScopeOp<"elect"> {
  let summary = "what one thread of the scope does";
  let description = [{
    The region is executed by one thread of the scope's first warp: the one that
    also issues the scope's copies and products.
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasVerifier = 1;
}

def NV_EndOp : NV_Op<"end", [Pure, Terminator, ReturnLike,
    ParentOneOf<["WarpsOp", "ElectOp"]>]> {
  let summary = "ends the region of a scope";
  let assemblyFormat = "attr-dict";
}

def NV_SyncOp : NV_EffectOp<"sync"> {
  let summary = "waits for all threads of the scope";
  let description = [{
    A barrier over the threads of the scope: the block's own barrier, or a named
    one inside of `nv.warps`. Where a kernel uses tensor memory, the fences that
    order its accesses with those of other threads are included.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def NV_WarpSyncOp : NV_EffectOp<"warp.sync"> {
  let summary = "waits, in each warp of the scope, for all of its threads";
  let description = [{
    What a thread of a warp wrote before is seen by the others of the warp.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def NV_NamedBarrierAllocOp : NV_Op<"named_barrier.alloc", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    MemoryEffects<[MemAlloc]>]> {
  let summary = "a named barrier between roles";
  let description = [{
    One of the 16 that a block has. It opens, each time, when so many threads
    have come: those that wait there, and those that only arrive.

    ```mlir
    %ready = nv.named_barrier.alloc "ready" : !nv.named_barrier<256>
    ```
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$label);
  let results = (outs NV_NamedBarrier:$result);
  let assemblyFormat = "($label^)? attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def NV_NamedBarrierSyncOp : NV_EffectOp<"named_barrier.sync"> {
  let summary = "every thread of the scope waits until the barrier opens";
  let arguments = (ins NV_NamedBarrier:$barrier);
  let assemblyFormat = "$barrier attr-dict `:` qualified(type($barrier))";
  let hasVerifier = 1;
}

def NV_NamedBarrierArriveOp : NV_EffectOp<"named_barrier.arrive"> {
  let summary = "every thread of the scope counts at the barrier and goes on";
  let description = [{
    What it wrote before is seen by those that wait there.
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
  let summary = "waits until every thread of the scope may have so many registers";
  let description = [{
    Executed by whole warpgroups: by all of their warps, once. The registers come
    from the block's pool, so others must have given some back.
  }];
}

def NV_RegistersReleaseOp : NV_RegistersOp<"registers.release"> {
  let summary = "gives back all but so many registers of every thread of the scope";
  let description = [{
    Executed by whole warpgroups: by all of their warps, once.
  }];
}

def NV_ClusterRankOp : NV_Op<"cluster.rank", [Pure]> {
  let summary = "which block of its cluster this is: 0 and up";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def NV_ClusterSyncOp : NV_EffectOp<"cluster.sync"> {
  let summary = "waits for all threads of all blocks of the cluster";
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def NV_ProxyFenceOp : NV_EffectOp<"fence.proxy_async"> {
  let summary = "makes a thread's writes to shared memory visible to engines";
  let description = [{
    What a thread wrote to shared memory before is seen by TMA and by the tensor
    core after the next synchronisation.
  }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

def NV_BarrierAllocOp : NV_Op<"mbarrier.alloc", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    MemoryEffects<[MemAlloc]>]> {
  let summary = "barriers in shared memory";
  let description = [{
    Each waits for the given number of arrivals per phase. They are initialised
    before anything else in the kernel runs.

    ```mlir
    %full = nv.mbarrier.alloc "full" [1, 1, 1] : !nv.barriers<3>
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
  let summary = "arrives on a barrier, and may announce bytes";
  let description = [{
    Every thread of the scope arrives once. With `expect` the phase also waits
    for so many bytes of copies. With `of` the barrier is that of another block of
    the cluster, at the same place in its shared memory. What the thread did
    before is seen by threads of the block that wait for the phase, with `of` or
    `cluster` by those of the cluster, and with `relaxed` by none.

    ```mlir
    nv.mbarrier.arrive %full[%slot] expect %bytes : !nv.barriers<3>
    nv.mbarrier.arrive %empty[%slot] of %rank : !nv.barriers<3>
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
  let summary = "waits until a phase of a barrier has completed";
  let description = [{
    Every thread of the scope waits for the phase of the given parity. A relaxed
    wait orders nothing behind it.

    ```mlir
    nv.mbarrier.wait %full[%slot], %phase : !nv.barriers<3>
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
  let summary = "asks whether a phase of a barrier has completed";
  let description = [{
    Every thread of the scope asks; the answer is theirs alone. It may be false
    though the phase is over. Where it is true, what preceded the phase is seen.
    The thread may sleep while it asks, with `for` about so many nanoseconds.

    ```mlir
    %ready = nv.mbarrier.try_wait %full[%slot], %phase for 1000 : !nv.barriers<3>
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
    Issued by one thread. The bytes of the whole tile are counted on the
    barrier; what lies outside of the tensor reads as zero. Rows of the tensor
    are multiples of 16 bytes, which the launch checks.

    Rows of the tile lie along the tensor's last but one dimension, or along the
    first of `dims`; columns along its last.

    With `multicast` the box is read once and arrives in every block of the
    cluster whose bit is set: in the same tile, and on the same barrier there.
    `cache` says what the second-level cache keeps: "evict_first",
    "evict_normal" or "evict_last".

    ```mlir
    nv.tma.load %A[%m, %k] to %As, %full[%slot] : memref<?x?xf16, ...>,
      memref<128x64xf16, ...>, !nv.barriers<3>
    nv.tma.load %A[%m, %k] to %As, %full[%slot] multicast %blocks : ...
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
    Issued by one thread, as part of its next group. What lies outside of the
    tensor is not written; the offsets are not negative. `dims` is that of
    `nv.tma.load`. With `combine` each element is combined with what the
    tensor holds, as a whole even if other blocks do the same: "add", "min" or
    "max".

    ```mlir
    nv.tma.store %Cs to %C[%m, %n] combine "add" cache "evict_first"
      : memref<64x64xf32, ...>, memref<?x?xf32, ...>
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
  let summary = "closes the group of the stores issued so far";
  let assemblyFormat = "attr-dict";
}

def NV_TmaWaitOp : NV_EffectOp<"tma.wait_group"> {
  let summary = "waits until at most so many groups of stores are under way";
  let description = [{
    With `read`, until their shared tiles have been read and may be written.
  }];
  let arguments = (ins I64Attr:$pending, UnitAttr:$read);
  let assemblyFormat = "$pending (`read` $read^)? attr-dict";
  let hasVerifier = 1;
}

def NV_AsyncCopyOp : NV_EffectOp<"cp_async"> {
  let summary = "copies a box of a tensor to a shared tile, by the scope's threads";
  let description = [{
    All threads of the scope copy 16 bytes at a time, or 8 or 4, which rows of
    tensor and tile must be multiples of. What lies outside of the tensor reads as
    zero. Complete after `nv.cp_async.wait_group` and a synchronisation, or when
    the barrier of `nv.cp_async.arrive` is. `dims` is that of `nv.tma.load`. With `l1`, and always with fewer than
    16 bytes, the first-level cache is used as well.

    ```mlir
    nv.cp_async %A[%m, %k] to %As bytes 8 : memref<?x?xf16, ...>, memref<64x12xf16, ...>
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
  let summary = "arrives on a barrier when each thread's copies so far are complete";
  let description = [{
    Every thread of the scope arrives once, which the barrier's count includes.
    Whoever waits for the phase sees the copies.

    ```mlir
    nv.cp_async.arrive %full[%slot] : !nv.barriers<3>
    ```
  }];
  let arguments = (ins NV_Barriers:$barriers, Index:$index);
  let assemblyFormat = "$barriers `[` $index `]` attr-dict `:` qualified(type($barriers))";
}

def NV_AsyncCommitOp : NV_EffectOp<"cp_async.commit_group"> {
  let summary = "closes the group of each thread's copies so far";
  let assemblyFormat = "attr-dict";
}

def NV_AsyncWaitOp : NV_EffectOp<"cp_async.wait_group"> {
  let summary = "waits until at most so many groups of a thread's copies are under way";
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Cluster launch control
//===----------------------------------------------------------------------===//

def NV_ClcRequestOp : NV_BarrierOp<"clc.request"> {
  let summary = "asks for the work of a block that has not started";
  let description = [{
    Issued by one thread. The answer, 16 bytes, arrives in the tile and on the
    barrier. After an answer without work nothing may be asked any more.

    ```mlir
    nv.clc.request %answer, %full[%slot] : memref<4xi32, ...>, !nv.barriers<1>
    ```
  }];
  let arguments = (ins AnyMemRef:$answer, NV_Barriers:$barriers, Index:$index);
  let assemblyFormat = [{
    $answer `,` $barriers `[` $index `]` attr-dict `:` type($answer) `,` qualified(type($barriers))
  }];
}

def NV_ClcAnswerOp : NV_EffectOp<"clc.answer"> {
  let summary = "the answer to a request for work";
  let description = [{
    Whether there is work, and the number of the block that it was to be done by.
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
  let summary = "a tile in tensor memory";
  let description = [{
    Allocated by the block's first warp before anything else in the kernel runs.

    ```mlir
    %acc = nv.tcgen05.alloc "acc" : memref<128x128xf32, #tile.space<tensor>>
    ```
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$label);
  let results = (outs Res<AnyMemRef, "", [MemAlloc<DefaultResource>]>:$result);
  let assemblyFormat = "($label^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NV_TensorDeallocOp : NV_EffectOp<"tcgen05.dealloc"> {
  let summary = "gives tensor memory back";
  let description = [{
    By the block's first warp; every tile is given back before the kernel ends,
    when no thread uses it any more.
  }];
  let arguments = (ins AnyMemRef:$tile);
  let assemblyFormat = "$tile attr-dict `:` type($tile)";
  let hasVerifier = 1;
}

def NV_TensorMmaOp : NV_EffectOp<"tcgen05.mma"> {
  let summary = "multiplies two tiles into a tensor tile";
  let description = [{
    Issued by one thread, for all of K. `acc = a * b`, plus its old value where
    `accumulate` holds. `a` is a shared tile or one of tensor memory, `b` a shared
    one. Completes when a commit issued later by the same scope arrives on its
    barrier.

    ```mlir
    nv.tcgen05.mma %As, %Bt into %acc accumulate %more
      : memref<128x64xf16, ...>, memref<64x128xf16, ...>, memref<128x128xf32, ...>
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
  let summary = "arrives on a barrier when the scope's products so far are complete";
  let description = [{
    With `multicast` on that barrier of every block of the cluster whose bit is
    set. A pair of blocks that multiply as one sets the bits of both by itself.

    ```mlir
    nv.tcgen05.commit %empty[%slot] multicast %blocks : !nv.barriers<3>
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
  let summary = "copies tensor memory to registers";
  let description = [{
    Executed by four warps: warp w reads lanes 32 (w mod 4) and up. The
    registers are there after `nv.tcgen05.wait_load`.
  }];
  let arguments = (ins AnyMemRef:$source, AnyMemRef:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `,` type($target)";
  let hasVerifier = 1;
}

def NV_TensorStoreOp : NV_EffectOp<"tcgen05.store"> {
  let summary = "copies registers to tensor memory";
  let description = [{
    Executed by four warps, a row by each thread. Elements of 16 bits lie in pairs,
    as the tensor core wants its left operand. Complete after
    `nv.tcgen05.wait_store`.

    ```mlir
    nv.tcgen05.store %P to %Pt : memref<128x64xf16, ...>, memref<128x64xf16, ...>
    ```
  }];
  let arguments = (ins AnyMemRef:$source, AnyMemRef:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `,` type($target)";
  let hasVerifier = 1;
}

def NV_TensorWaitStoreOp : NV_EffectOp<"tcgen05.wait_store"> {
  let summary = "waits until the thread's stores to tensor memory are complete";
  let assemblyFormat = "attr-dict";
}

def NV_TensorCopyOp : NV_EffectOp<"tcgen05.copy"> {
  let summary = "copies a shared tile to tensor memory";
  let description = [{
    Issued by one thread; a later product of the same scope sees it. Complete when
    a commit issued later by the same scope arrives on its barrier.
  }];
  let arguments = (ins AnyMemRef:$source, AnyMemRef:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `,` type($target)";
  let hasVerifier = 1;
}

def NV_TensorWaitLoadOp : NV_EffectOp<"tcgen05.wait_load"> {
  let summary = "waits until the thread's loads from tensor memory are complete";
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Hopper's tensor core
//===----------------------------------------------------------------------===//

def NV_WgmmaFenceOp : NV_EffectOp<"wgmma.fence"> {
  let summary = "orders registers and shared memory before the next products";
  let assemblyFormat = "attr-dict";
}

def NV_WgmmaOp : NV_EffectOp<"wgmma.mma"> {
  let summary = "multiplies two tiles into registers";
  let description = [{
    Executed by whole warpgroups, for all of K; 64 rows for each. `acc = a * b`,
    plus its old value where `accumulate` holds. `a` is a shared tile or, with
    elements of 16 bits, one in registers; `b` is a shared one. The accumulator
    must not be touched, nor `a` in registers written, before the group has been
    waited for.
  }];
  let arguments = (ins AnyMemRef:$a, AnyMemRef:$b, AnyMemRef:$acc, I1:$accumulate);
  let assemblyFormat = [{
    $a `,` $b `into` $acc `accumulate` $accumulate attr-dict
    `:` type($a) `,` type($b) `,` type($acc)
  }];
  let hasVerifier = 1;
}

def NV_WgmmaCommitOp : NV_EffectOp<"wgmma.commit_group"> {
  let summary = "closes the group of the products issued so far";
  let assemblyFormat = "attr-dict";
}

def NV_WgmmaWaitOp : NV_EffectOp<"wgmma.wait_group"> {
  let summary = "waits until at most so many groups of products are under way";
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}

#endif // PENSTOCK_NV_OPS
