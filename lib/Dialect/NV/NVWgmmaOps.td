//===- NVWgmmaOps.td - Hopper's tensor core ----------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_NV_WGMMA_OPS
#define PENSTOCK_NV_WGMMA_OPS

include "Dialect/NV/NVOpBase.td"

let availability = "OnlySm90a" in {

def NV_WgmmaFenceOp : NV_EffectOp<"wgmma.fence", "Warps"> {
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

def NV_WgmmaOp : NV_EffectOp<"wgmma.mma", "Warpgroups"> {
  let completion = "InQueue";
  let queue = "Wgmma";
  let hasAccesses = 1;
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

def NV_WgmmaCommitOp : NV_CloseGroupOp<"wgmma.commit_group", "Warps"> {
  let queue = "Wgmma";
  let summary = "commits the wgmma MMAs issued so far as a group";
  let description = [{
    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      nv.wgmma.commit_group
      nv.wgmma.wait_group 0
      return
    }
    ```
  }];
}

def NV_WgmmaWaitOp : NV_AwaitGroupsOp<"wgmma.wait_group", "Warps"> {
  let queue = "Wgmma";
  let summary = "waits until at most `pending` groups of wgmma MMAs are in flight";
  let description = [{
    ```mlir
    func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
      nv.wgmma.commit_group
      nv.wgmma.wait_group 0
      return
    }
    ```
  }];
}

} // availability

#endif // PENSTOCK_NV_WGMMA_OPS
