//===- NVThreadOps.td - Scopes, synchronization of threads, clusters *- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_NV_THREAD_OPS
#define PENSTOCK_NV_THREAD_OPS

include "Dialect/NV/NVOpBase.td"

def NV_WarpsOp : NV_ScopeOp<"warps"> {
  let availability = "Sm80AndLater";
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
  let availability = "Sm80AndLater";
  let summary = "runs the body on one thread of the scope";
  let description = [{
    One thread of the scope's first warp executes the region: the same thread that
    issues the scope's copies and MMAs.

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

def NV_EndOp : NV_Op<"end", "EachThread", [Pure, Terminator, ReturnLike,
    ParentOneOf<["WarpsOp", "ElectOp"]>]> {
  let availability = "Sm80AndLater";
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

def NV_SyncOp : NV_EffectOp<"sync", "Warps"> {
  let availability = "Sm80AndLater";
  let synchronization = "Sync";
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
}

def NV_WarpSyncOp : NV_EffectOp<"warp.sync", "Warps"> {
  let availability = "Sm80AndLater";
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
}

def NV_WarpDiffersOp : NV_EffectOp<"warp.differs", "Warps"> {
  let availability = "Sm80AndLater";
  let summary = "tests whether a warp holds an element that differs from a value";
  let description = [{
    Tests the elements of a register tile that the threads of the warp hold. All threads of the
    warp get the same result. NaN differs from everything.

    ```mlir
    !t = memref<128xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      %t = tile.alloc "t" : !t
      %one = arith.constant 1.0 : f32
      tile.fill %t, %one : !t, f32
      %any = nv.warp.differs %t from 1.0 : !t
      tile.print "{}" %any : i1
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$tile, F32Attr:$value);
  let results = (outs I1:$result);
  let assemblyFormat = "$tile `from` $value attr-dict `:` type($tile)";
}

class NV_RegistersOp<string mnemonic> : NV_EffectOp<mnemonic, "Warpgroups"> {
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

def NV_WarpgroupOp : NV_Op<"warpgroup", "EachThread", [Pure]> {
  let summary = "number of the thread's warpgroup among those of its scope";
  let description = [{
    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 256 : i64} {
      %part = nv.warpgroup
      tile.print "{}" %part : index
      return
    }
    ```
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def NV_ClusterRankOp : NV_Op<"cluster.rank", "EachThread", [Pure]> {
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

def NV_ClusterSyncOp : NV_EffectOp<"cluster.sync", "Block"> {
  let synchronization = "Sync";
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

def NV_ProxyFenceOp : NV_EffectOp<"fence.proxy_async", "EachThread"> {
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

#endif // PENSTOCK_NV_THREAD_OPS
