// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s

// What blocks of a cluster and roles of a block tell each other.

#s = #tile.space<shared>
#g = #tile.space<global>

// CHECK-LABEL: func.func @k(%{{.*}}: !llvm.ptr)
// Barriers are initialized in all blocks before one arrives in another.
// CHECK: mbarrier.init
// CHECK: barrier.cluster.arrive.release.aligned
// CHECK-NEXT: barrier.cluster.wait.acquire.aligned
// CHECK: %cluster_ctarank
// The barrier of the other block is found by its rank.
// CHECK: mapa.shared::cluster.u32
// CHECK: mbarrier.arrive.release.cluster.shared::cluster.b64
// What only frees a slot orders nothing in the block that waits.
// CHECK: mbarrier.arrive.release.cta.shared::cluster.b64
// CHECK: mbarrier.arrive.release.cta.shared::cta.b64
// CHECK: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [$1], $2, 1000;
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [$0], [$1, {$2, $3}], [$4], $5;
// CHECK: setmaxnreg.dec.sync.aligned.u32 40;
// CHECK: bar.arrive 1, 256;
// CHECK: bar.warp.sync 0xffffffff;
// CHECK: setmaxnreg.inc.sync.aligned.u32 232;
// CHECK: bar.sync 1, 256;
func.func @k(%A: memref<?x?xf16, strided<[?, 1]>, #g> {tile.name = "A", tile.access = "in"})
    attributes {tile.kernel, nv.cluster = 2 : i64, nv.threads = 256 : i64} {
  %c0 = arith.constant 0 : index
  %phase = arith.constant 1 : i32
  %mask = arith.constant 3 : i32
  %As = tile.alloc "As" : memref<64x64xf16, #s>
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  %ready = nv.named_barrier.alloc "ready" : !nv.named_barrier<256>
  %rank = nv.cluster.rank
  nv.mbarrier.arrive %full[%c0] of %rank : !nv.barriers<1>
  nv.mbarrier.arrive %full[%c0] of %rank relaxed : !nv.barriers<1>
  nv.mbarrier.arrive %full[%c0] : !nv.barriers<1>
  %over = nv.mbarrier.try_wait %full[%c0], %phase for 1000 cluster : !nv.barriers<1>
  nv.tma.load %A[%c0, %c0] to %As, %full[%c0] multicast %mask
    : memref<?x?xf16, strided<[?, 1]>, #g>, memref<64x64xf16, #s>, !nv.barriers<1>
  nv.warps 0, 4 {
    nv.registers.release 40
    nv.named_barrier.arrive %ready : !nv.named_barrier<256>
    nv.warp.sync
  }
  nv.warps 4, 4 {
    nv.registers.request 232
    nv.named_barrier.sync %ready : !nv.named_barrier<256>
  }
  nv.cluster.sync
  return
}
