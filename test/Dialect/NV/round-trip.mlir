// RUN: penstock-opt %s | penstock-opt | FileCheck %s

#s = #tile.space<shared>
#g = #tile.space<global>

// CHECK-LABEL: func.func @hopper
func.func @hopper(%A: memref<?x?xf16, strided<[?, 1]>, #g> {tile.access = "inout"})
    attributes {tile.kernel, nv.threads = 256 : i64} {
  %c0 = arith.constant 0 : index
  %phase = arith.constant 1 : i32
  %yes = arith.constant true
  %As = tile.alloc : memref<64x64xf16, #s>
  %acc = tile.alloc : memref<64x64xf32, #tile.space<local>>
  // CHECK: %full = nv.mbarrier.alloc "full" [1, 2] : !nv.barriers<2>
  %full = nv.mbarrier.alloc "full" [1, 2] : !nv.barriers<2>
  // CHECK: nv.warps 4, 4 {
  nv.warps 4, 4 {
    // CHECK: nv.mbarrier.wait %full[%{{.*}}], %{{.*}} relaxed cluster : !nv.barriers<2>
    nv.mbarrier.wait %full[%c0], %phase relaxed cluster : !nv.barriers<2>
    // CHECK: nv.wgmma.fence
    nv.wgmma.fence
    // CHECK: nv.wgmma.mma %{{.*}}, %{{.*}} into %{{.*}} accumulate %{{.*}} :
    nv.wgmma.mma %As, %As into %acc accumulate %yes : memref<64x64xf16, #s>,
      memref<64x64xf16, #s>, memref<64x64xf32, #tile.space<local>>
    // CHECK: nv.wgmma.commit_group
    nv.wgmma.commit_group
    // CHECK: nv.wgmma.wait_group 1
    nv.wgmma.wait_group 1
    // CHECK: nv.mbarrier.arrive %full[%{{.*}}] : !nv.barriers<2>
    nv.mbarrier.arrive %full[%c0] : !nv.barriers<2>
  }
  // CHECK: nv.warps 0, 1 {
  nv.warps 0, 1 {
    // CHECK: nv.elect {
    nv.elect {
      // CHECK: nv.tma.store
      nv.tma.store %As to %A[%c0, %c0]
        : memref<64x64xf16, #s>, memref<?x?xf16, strided<[?, 1]>, #g>
      // CHECK: nv.tma.commit_group
      nv.tma.commit_group
      // CHECK: nv.tma.wait_group 0 read
      nv.tma.wait_group 0 read
    }
  }
  // CHECK: nv.cp_async
  nv.cp_async %A[%c0, %c0] to %As
    : memref<?x?xf16, strided<[?, 1]>, #g>, memref<64x64xf16, #s>
  // CHECK: nv.cp_async.commit_group
  nv.cp_async.commit_group
  // CHECK: nv.cp_async.wait_group 0
  nv.cp_async.wait_group 0
  // CHECK: nv.fence.proxy_async
  nv.fence.proxy_async
  // CHECK: nv.sync
  nv.sync
  return
}

// CHECK-LABEL: func.func @cluster
func.func @cluster(%A: memref<?x?xf16, strided<[?, 1]>, #g> {tile.access = "in"})
    attributes {tile.kernel, nv.cluster = 4 : i64, nv.threads = 256 : i64} {
  %c0 = arith.constant 0 : index
  %bytes = arith.constant 1024 : index
  %phase = arith.constant 1 : i32
  %mask = arith.constant 3 : i32
  %As = tile.alloc : memref<64x64xf16, #s>
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  // CHECK: %ready = nv.named_barrier.alloc "ready" : !nv.named_barrier<256>
  %ready = nv.named_barrier.alloc "ready" : !nv.named_barrier<256>
  // CHECK: %[[RANK:.*]] = nv.cluster.rank
  %rank = nv.cluster.rank
  // CHECK: nv.mbarrier.arrive %full[%{{.*}}] of %[[RANK]] : !nv.barriers<1>
  nv.mbarrier.arrive %full[%c0] of %rank : !nv.barriers<1>
  // CHECK: nv.mbarrier.arrive %full[%{{.*}}] expect %{{.*}} of %[[RANK]] relaxed : !nv.barriers<1>
  nv.mbarrier.arrive %full[%c0] expect %bytes of %rank relaxed : !nv.barriers<1>
  // CHECK: nv.mbarrier.arrive %full[%{{.*}}] cluster : !nv.barriers<1>
  nv.mbarrier.arrive %full[%c0] cluster : !nv.barriers<1>
  // CHECK: nv.mbarrier.try_wait %full[%{{.*}}], %{{.*}} for 1000 cluster : !nv.barriers<1>
  %over = nv.mbarrier.try_wait %full[%c0], %phase for 1000 cluster : !nv.barriers<1>
  // CHECK: nv.tma.load %{{.*}}[%{{.*}}, %{{.*}}] to %{{.*}}, %full[%{{.*}}] multicast %{{.*}} :
  nv.tma.load %A[%c0, %c0] to %As, %full[%c0] multicast %mask
    : memref<?x?xf16, strided<[?, 1]>, #g>, memref<64x64xf16, #s>, !nv.barriers<1>
  // CHECK: nv.tcgen05.commit %full[%{{.*}}] multicast %{{.*}} : !nv.barriers<1>
  nv.tcgen05.commit %full[%c0] multicast %mask : !nv.barriers<1>
  nv.warps 0, 4 {
    // CHECK: nv.registers.release 40
    nv.registers.release 40
    // CHECK: nv.named_barrier.arrive %ready : !nv.named_barrier<256>
    nv.named_barrier.arrive %ready : !nv.named_barrier<256>
    // CHECK: nv.warp.sync
    nv.warp.sync
  }
  nv.warps 4, 4 {
    // CHECK: nv.registers.request 232
    nv.registers.request 232
    // CHECK: nv.named_barrier.sync %ready : !nv.named_barrier<256>
    nv.named_barrier.sync %ready : !nv.named_barrier<256>
  }
  // CHECK: nv.cluster.sync
  nv.cluster.sync
  return
}

// CHECK-LABEL: func.func @operands
func.func @operands() attributes {tile.kernel, nv.threads = 128 : i64} {
  %yes = arith.constant true
  %As = tile.alloc : memref<128x64xf16, #s>
  %Bs = tile.alloc : memref<64x64xf16, #s>
  %P = tile.alloc : memref<128x64xf16, #tile.space<local>>
  %acc = nv.tcgen05.alloc : memref<128x64xf32, #tile.space<tensor>>
  %Pt = nv.tcgen05.alloc : memref<128x64xf16, #tile.space<tensor>>
  // CHECK: nv.tcgen05.store %{{.*}} to %{{.*}} :
  nv.tcgen05.store %P to %Pt
    : memref<128x64xf16, #tile.space<local>>, memref<128x64xf16, #tile.space<tensor>>
  // CHECK: nv.tcgen05.wait_store
  nv.tcgen05.wait_store
  // CHECK: nv.tcgen05.copy %{{.*}} to %{{.*}} :
  nv.tcgen05.copy %As to %Pt : memref<128x64xf16, #s>, memref<128x64xf16, #tile.space<tensor>>
  // CHECK: nv.tcgen05.mma
  nv.tcgen05.mma %Pt, %Bs into %acc accumulate %yes
    : memref<128x64xf16, #tile.space<tensor>>, memref<64x64xf16, #s>,
      memref<128x64xf32, #tile.space<tensor>>
  return
}

// CHECK-LABEL: func.func @copies
func.func @copies(%A: memref<?x?xf16, strided<[?, 1]>, #g> {tile.access = "inout"})
    attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %As = tile.alloc : memref<64x64xf16, #s>
  %narrow = tile.alloc : memref<64x12xf16, #s>
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  // CHECK: nv.tma.load %{{.*}} to %{{.*}}, %full[%{{.*}}] cache "evict_first" :
  nv.tma.load %A[%c0, %c0] to %As, %full[%c0] cache "evict_first"
    : memref<?x?xf16, strided<[?, 1]>, #g>, memref<64x64xf16, #s>, !nv.barriers<1>
  // CHECK: nv.tma.store %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}] combine "add" cache "evict_last" :
  nv.tma.store %As to %A[%c0, %c0] combine "add" cache "evict_last"
    : memref<64x64xf16, #s>, memref<?x?xf16, strided<[?, 1]>, #g>
  // CHECK: nv.cp_async %{{.*}} to %{{.*}} bytes 8 l1 :
  nv.cp_async %A[%c0, %c0] to %narrow bytes 8 l1
    : memref<?x?xf16, strided<[?, 1]>, #g>, memref<64x12xf16, #s>
  // CHECK: nv.cp_async.arrive %full[%{{.*}}] : !nv.barriers<1>
  nv.cp_async.arrive %full[%c0] : !nv.barriers<1>
  return
}

// CHECK-LABEL: func.func @scales
func.func @scales() attributes {tile.kernel, nv.threads = 128 : i64} {
  %yes = arith.constant true
  %As = tile.alloc : memref<128x128xf8E5M2, #s>
  %At = memref.transpose %As (i, j) -> (j, i)
    : memref<128x128xf8E5M2, #s> to memref<128x128xf8E5M2, strided<[1, 128]>, #s>
  %Ss = tile.alloc : memref<1x1x32x16xf8E8M0FNU, #s>
  // CHECK: %S = nv.tcgen05.alloc "S" : memref<1x1x32x16xf8E8M0FNU, #tile.space<tensor>>
  %S = nv.tcgen05.alloc "S" : memref<1x1x32x16xf8E8M0FNU, #tile.space<tensor>>
  %acc = nv.tcgen05.alloc "acc" : memref<128x128xf32, #tile.space<tensor>>
  // CHECK: nv.tcgen05.copy %{{.*}} to %S :
  nv.tcgen05.copy %Ss to %S
    : memref<1x1x32x16xf8E8M0FNU, #s>, memref<1x1x32x16xf8E8M0FNU, #tile.space<tensor>>
  // CHECK: nv.tcgen05.mma %{{.*}}, %{{.*}} into %acc accumulate %{{.*}} scales(%S, %S) :
  nv.tcgen05.mma %As, %At into %acc accumulate %yes scales(%S, %S)
    : memref<128x128xf8E5M2, #s>, memref<128x128xf8E5M2, strided<[1, 128]>, #s>,
      memref<128x128xf32, #tile.space<tensor>>
      scales(memref<1x1x32x16xf8E8M0FNU, #tile.space<tensor>>, memref<1x1x32x16xf8E8M0FNU, #tile.space<tensor>>)
  return
}
