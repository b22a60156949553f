// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s

// Barriers that release and acquire order tensor memory by themselves; after a
// relaxed wait a fence does.

// CHECK-LABEL: func.func @k
// CHECK-NOT: tcgen05.fence
// CHECK: bar.sync 0
// CHECK-NOT: tcgen05.fence
// CHECK: mbarrier.arrive.release.cta.shared::cta.b64
// CHECK-NOT: tcgen05.fence
// CHECK: mbarrier.try_wait.parity.acquire.cta
// CHECK-NOT: tcgen05.fence
// CHECK: mbarrier.try_wait.parity.relaxed.cta
// CHECK-NEXT: tcgen05.fence::after_thread_sync
// CHECK-NOT: tcgen05.fence
// CHECK: tcgen05.dealloc
func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %even = arith.constant 0 : i32
  %odd = arith.constant 1 : i32
  %acc = nv.tcgen05.alloc "acc" : memref<128x128xf32, #tile.space<tensor>>
  %bar = nv.mbarrier.alloc "bar" [128] : !nv.barriers<1>
  nv.mbarrier.arrive %bar[%c0] : !nv.barriers<1>
  nv.mbarrier.wait %bar[%c0], %even : !nv.barriers<1>
  nv.mbarrier.wait %bar[%c0], %odd relaxed : !nv.barriers<1>
  nv.sync
  nv.tcgen05.dealloc %acc : memref<128x128xf32, #tile.space<tensor>>
  return
}
