//===- NVTensorOps.td - Blackwell's tensor core and TMEM ---*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_NV_TENSOR_OPS
#define PENSTOCK_NV_TENSOR_OPS

include "Dialect/NV/NVOpBase.td"

let availability = "OnlySm100a" in {

def NV_TensorAllocOp : NV_Op<"tcgen05.alloc", "EachThread", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "allocates a tile in TMEM";
  let description = [{
    The block's first warp allocates it at the start of the kernel. A tile of rank 4 holds the
    scales of an operand (`nv.tcgen05.mma`): the 512 bytes of 128 rows and 4 blocks of k take 4
    columns of all 128 lanes, in the order of the blocks of k.

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

def NV_TensorDeallocOp : NV_EffectOp<"tcgen05.dealloc", "Block"> {
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

def NV_TensorMmaOp : NV_EffectOp<"tcgen05.mma", "OneThread", [AttrSizedOperandSegments]> {
  let completion = "InQueue";
  let queue = "Tensor";
  let hasAccesses = 1;
  let summary = "multiplies two tiles into a TMEM tile";
  let description = [{
    Issued by one thread, for all of K. `acc = a * b`, plus its old value if
    `accumulate` is true. `a` is a shared or a TMEM tile, `b` a shared one. Completes
    when a later commit of the same scope arrives on its barrier.

    256 rows are split into two parts of 128, with adjacent columns in TMEM. `part` selects one
    part.

    With scales, `acc = (a * scale_a) * (b * scale_b)`, as in `tile.gemm`: operands of f8, or of i8 as
    bytes of two f4e2m1 values or of a padded packing, K-major in shared memory; scales are TMEM
    tiles, which `nv.tcgen05.copy` fills.

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
  let arguments = (ins AnyMemRef:$a, AnyMemRef:$b, AnyMemRef:$acc, I1:$accumulate,
                       Optional<AnyMemRef>:$scale_a, Optional<AnyMemRef>:$scale_b,
                       OptionalAttr<I64Attr>:$part, OptionalAttr<Tile_Packing>:$packing_a,
                       OptionalAttr<Tile_Packing>:$packing_b);
  let builders = [OpBuilder<(ins "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$acc,
                                 "::mlir::Value":$accumulate), [{
    build($_builder, $_state, a, b, acc, accumulate, /*scale_a=*/::mlir::Value(),
          /*scale_b=*/::mlir::Value(), /*part=*/::mlir::IntegerAttr(),
          /*packing_a=*/::penstock::tile::PackingAttr(),
          /*packing_b=*/::penstock::tile::PackingAttr());
  }]>];
  let assemblyFormat = [{
    $a `,` $b `into` $acc `accumulate` $accumulate (`part` $part^)?
    (`scales` `(` $scale_a^ `,` $scale_b `)`)? (`packing_a` $packing_a^)?
    (`packing_b` $packing_b^)? attr-dict
    `:` type($a) `,` type($b) `,` type($acc) (`scales` `(` type($scale_a)^ `,` type($scale_b) `)`)?
  }];
  let hasVerifier = 1;
}

def NV_TensorCommitOp : NV_BarrierOp<"tcgen05.commit", "OneThread"> {
  let synchronization = "Commit";
  let queue = "Tensor";
  let multicast = "getMulticast()";
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

def NV_TensorCopyOp : NV_EffectOp<"tcgen05.copy", "OneThread"> {
  let completion = "InQueue";
  let queue = "Tensor";
  let hasAccesses = 1;
  let summary = "copies a shared tile to TMEM";
  let description = [{
    Issued by one thread; visible to later MMAs of the same scope. Completes when a later commit
    of the same scope arrives on its barrier. Scales, tiles of rank 4, are copied to all four
    quarters of the lanes.

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

def NV_TensorLoadOp : NV_EffectOp<"tcgen05.load", "Warpgroups"> {
  let hasAccesses = 1;
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

def NV_TensorWaitLoadOp : NV_EffectOp<"tcgen05.wait_load", "Warps"> {
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

def NV_TensorStoreOp : NV_EffectOp<"tcgen05.store", "Warpgroups"> {
  let hasAccesses = 1;
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

def NV_TensorWaitStoreOp : NV_EffectOp<"tcgen05.wait_store", "Warps"> {
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

def NV_TensorFenceOp : NV_EffectOp<"tcgen05.fence", "EachThread"> {
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

} // availability

#endif // PENSTOCK_NV_TENSOR_OPS
