//===- NVCopyOps.td - Copies by TMA and cp.async, launch control *- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_NV_COPY_OPS
#define PENSTOCK_NV_COPY_OPS

include "Dialect/NV/NVOpBase.td"

def NV_TmaLoadOp : NV_BarrierOp<"tma.load", "OneThread", [AttrSizedOperandSegments]> {
  let completion = "OnBarrier";
  let hasAccesses = 1;
  let multicast = "getMulticast()";
  let firstOfPair = 1;
  let summary = "copies a box of a tensor to a shared tile, by TMA";
  let description = [{
    Issued by one thread. The bytes of the whole tile are counted on the barrier;
    elements outside the tensor read as zero. Rows of the tensor are multiples of 16
    bytes, which the launch checks.

    Rows of the tile are along the tensor's second to last dimension, or along the
    first of `dims`; columns along its last. With `rows`, the rows of the tile are those of a box
    with these extents along all of `dims` but the last, in row-major order.

    With `padding`, the tensor's bytes are densely packed values and the tile's have that padded
    packing: 16 values take 16 bytes. The last offset counts values, and the rows of the tensor and
    of the tile hold multiples of 128. The barrier counts the bytes without padding.

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
                       OptionalAttr<DenseI64ArrayAttr>:$dims, OptionalAttr<StrAttr>:$cache,
                       OptionalAttr<DenseI64ArrayAttr>:$rows, OptionalAttr<Tile_Packing>:$padding);
  let builders = [OpBuilder<(ins "::mlir::Value":$source, "::mlir::ValueRange":$offsets,
                                 "::mlir::Value":$target, "::mlir::Value":$barriers,
                                 "::mlir::Value":$index, "::mlir::DenseI64ArrayAttr":$dims,
                                 "::mlir::DenseI64ArrayAttr":$rows), [{
    build($_builder, $_state, source, offsets, target, barriers, index,
          /*multicast=*/::mlir::Value(), dims, /*cache=*/::mlir::StringAttr(), rows,
          /*padding=*/::penstock::tile::PackingAttr());
  }]>];
  let assemblyFormat = [{
    $source `[` $offsets `]` `to` $target `,` $barriers `[` $index `]`
    (`dims` $dims^)? (`rows` $rows^)? (`padding` $padding^)? (`multicast` $multicast^)? (`cache` $cache^)? attr-dict
    `:` type($source) `,` type($target) `,` qualified(type($barriers))
  }];
}

def NV_TmaStoreOp : NV_EffectOp<"tma.store", "OneThread"> {
  let completion = "InQueue";
  let queue = "BulkStore";
  let hasAccesses = 1;
  let summary = "copies a shared tile to a box of a tensor, by TMA";
  let description = [{
    Issued by one thread, as part of its next group. Elements outside the tensor are
    not written; the offsets are non-negative. `dims` and `rows` are those of
    `nv.tma.load`. `combine` is the reduction applied to the destination, atomic per element: "add",
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
                       OptionalAttr<StrAttr>:$cache, OptionalAttr<DenseI64ArrayAttr>:$rows);
  let builders = [OpBuilder<(ins "::mlir::Value":$source, "::mlir::Value":$target,
                                 "::mlir::ValueRange":$offsets,
                                 "::mlir::DenseI64ArrayAttr":$dims,
                                 "::mlir::DenseI64ArrayAttr":$rows), [{
    build($_builder, $_state, source, target, offsets, dims, /*combine=*/::mlir::StringAttr(),
          /*cache=*/::mlir::StringAttr(), rows);
  }]>];
  let assemblyFormat = [{
    $source `to` $target `[` $offsets `]` (`dims` $dims^)? (`rows` $rows^)? (`combine` $combine^)? (`cache` $cache^)?
    attr-dict `:` type($source) `,` type($target)
  }];
  let hasVerifier = 1;
}

def NV_TmaCommitOp : NV_CloseGroupOp<"tma.commit_group", "OneThread"> {
  let queue = "BulkStore";
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
}

def NV_TmaWaitOp : NV_AwaitGroupsOp<"tma.wait_group", "OneThread"> {
  let queue = "BulkStore";
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
}

def NV_AsyncCopyOp : NV_EffectOp<"cp_async", "Warps"> {
  let availability = "Sm80AndLater";
  let completion = "InQueue";
  let queue = "AsyncCopy";
  let hasAccesses = 1;
  let summary = "copies a box of a tensor to a shared tile, by the scope's threads";
  let description = [{
    All threads of the scope copy 16 bytes at a time, or 8 or 4; rows of tensor and tile,
    and the offset along rows, must be multiples of it. The tile has one or two
    dimensions. Elements outside the tensor read as zero. Completes at
    `nv.cp_async.wait_group` and a synchronization, or with the barrier of
    `nv.cp_async.arrive`. `dims` and `rows` are as in `nv.tma.load`. With `l1`, and always with
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
                       DefaultValuedAttr<I64Attr, "16">:$bytes, UnitAttr:$l1,
                       OptionalAttr<DenseI64ArrayAttr>:$rows);
  let assemblyFormat = [{
    $source `[` $offsets `]` `to` $target (`dims` $dims^)? (`rows` $rows^)? (`bytes` $bytes^)? (`l1` $l1^)? attr-dict
    `:` type($source) `,` type($target)
  }];
  let hasVerifier = 1;
}

def NV_AsyncArriveOp : NV_BarrierOp<"cp_async.arrive", "EachThread"> {
  let synchronization = "Commit";
  let queue = "AsyncCopy";
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

def NV_AsyncCommitOp : NV_CloseGroupOp<"cp_async.commit_group", "EachThread"> {
  let availability = "Sm80AndLater";
  let queue = "AsyncCopy";
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
}

def NV_AsyncWaitOp : NV_AwaitGroupsOp<"cp_async.wait_group", "EachThread"> {
  let availability = "Sm80AndLater";
  let queue = "AsyncCopy";
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
}

def NV_ClcRequestOp : NV_BarrierOp<"clc.request", "OneThread"> {
  let multicast = "getMulticast()";
  let availability = "OnlySm100a";
  let completion = "OnBarrier";
  let hasAccesses = 1;
  let summary = "requests a pending block (cluster launch control)";
  let description = [{
    Issued by one thread. The 16-byte answer arrives in the tile and on the barrier; the mask
    `multicast` sends it to every block of the cluster. A cluster claims a whole cluster. After an
    answer without a block, further requests are not allowed.

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
  let arguments = (ins AnyMemRef:$answer, NV_Barriers:$barriers, Index:$index,
                       Optional<I32>:$multicast);
  let builders = [OpBuilder<(ins "::mlir::Value":$answer, "::mlir::Value":$barriers,
                                 "::mlir::Value":$index), [{
    build($_builder, $_state, answer, barriers, index, /*multicast=*/::mlir::Value());
  }]>];
  let assemblyFormat = [{
    $answer `,` $barriers `[` $index `]` (`multicast` $multicast^)? attr-dict `:` type($answer) `,` qualified(type($barriers))
  }];
}

def NV_ClcAnswerOp : NV_EffectOp<"clc.answer", "EachThread"> {
  let availability = "OnlySm100a";
  let hasAccesses = 1;
  let summary = "decodes the answer to a request for work";
  let description = [{
    Returns whether there is work, and the number of the block that is taken over: of a cluster,
    the first.

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

def NV_ClcWorkOp : NV_Op<"clc.work", "EachThread", [Pure]> {
  let availability = "OnlySm100a";
  let summary = "coordinates of the block of an iteration over claimed blocks";
  let description = [{
    In a loop with `nv.takes_over`: iteration 0 is the block itself, the others are claimed blocks,
    as long as requests are granted. nv-request-blocks replaces it.

    ```mlir
    func.func @k(%n: index) attributes {tile.kernel, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %block = tile.grid %n : index
      scf.for %round = %c0 to %n step %c1 {
        %granted, %own = nv.clc.work %round, %block : i1, index
        scf.if %granted {
          tile.print "{}" %own : index
        }
      } {nv.takes_over}
      return
    }
    ```
  }];
  let arguments = (ins Index:$round, Variadic<Index>:$first);
  let results = (outs I1:$granted, Variadic<Index>:$coordinates);
  let assemblyFormat = "$round `,` $first attr-dict `:` type(results)";
  let hasVerifier = 1;
}

#endif // PENSTOCK_NV_COPY_OPS
