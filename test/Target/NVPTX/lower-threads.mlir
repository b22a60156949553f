// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s
// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads --canonicalize --nv-lower-to-llvm | FileCheck %s --check-prefix=LLVM

// One warp loads a tile by TMA and multiplies it with itself; all threads take
// the result to registers.

#s = #tile.space<shared>
#g = #tile.space<global>

// CHECK: llvm.mlir.global external @penstock_shared() {addr_space = 3 : i32, alignment = 1024 : i64}
// CHECK-LABEL: func.func @k(%{{.*}}: !llvm.ptr)
// One barrier is initialized and tensor memory allocated before anything else.
// The map of the only copy.
// CHECK: prefetch.tensormap
// CHECK-NOT: prefetch.tensormap
// CHECK: mbarrier.init.shared::cta.b64
// CHECK: fence.mbarrier_init.release.cluster
// CHECK: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32
// CHECK: tcgen05.relinquish_alloc_permit
// CHECK: bar.sync 0
// The first warp, and in it one thread.
// CHECK: scf.if
// CHECK: elect.sync
// CHECK: mbarrier.arrive.expect_tx
// 64 columns of f16 are one span of 128 bytes: one box.
// CHECK-COUNT-1: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// CHECK-NOT: cp.async.bulk.tensor
// CHECK: mbarrier.try_wait.parity.acquire.cta
// 64 are four steps of 16.
// CHECK-COUNT-4: tcgen05.mma.cta_group::1.kind::f16
// CHECK-NOT: tcgen05.mma
// CHECK: tcgen05.commit
// CHECK-COUNT-4: tcgen05.ld.sync.aligned.32x32b.x32
// CHECK: tcgen05.wait::ld.sync.aligned
// CHECK: tcgen05.dealloc

// LLVM-LABEL: llvm.func @k(%{{.*}}: !llvm.ptr)
// LLVM-NOT: scf.
// LLVM-NOT: tile.alloc
func.func @k(%A: memref<?x?xf16, strided<[?, 1]>, #g> {tile.name = "A", tile.access = "in"},
             %C: memref<?x?xf32, strided<[?, 1]>, #g> {tile.name = "C", tile.access = "out"})
    attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %bytes = arith.constant 16384 : index
  %phase = arith.constant 0 : i32
  %no = arith.constant false
  %As = tile.alloc "As" : memref<128x64xf16, #s>
  %r = tile.alloc "r" : memref<128x128xf32, #tile.space<local>>
  %acc = nv.tcgen05.alloc "acc" : memref<128x128xf32, #tile.space<tensor>>
  %bar = nv.mbarrier.alloc "bar" [1, 1] : !nv.barriers<2>
  %c1 = arith.constant 1 : index
  nv.warps 0, 1 {
    nv.elect {
      nv.mbarrier.arrive %bar[%c0] expect %bytes : !nv.barriers<2>
    }
    nv.tma.load %A[%c0, %c0] to %As, %bar[%c0]
      : memref<?x?xf16, strided<[?, 1]>, #g>, memref<128x64xf16, #s>, !nv.barriers<2>
    nv.mbarrier.wait %bar[%c0], %phase : !nv.barriers<2>
    %At = memref.transpose %As (i, j) -> (j, i)
      : memref<128x64xf16, #s> to memref<64x128xf16, strided<[1, 64]>, #s>
    nv.tcgen05.mma %As, %At into %acc accumulate %no : memref<128x64xf16, #s>,
      memref<64x128xf16, strided<[1, 64]>, #s>, memref<128x128xf32, #tile.space<tensor>>
    nv.tcgen05.commit %bar[%c1] : !nv.barriers<2>
    nv.mbarrier.wait %bar[%c1], %phase : !nv.barriers<2>
  }
  nv.sync
  nv.tcgen05.load %acc to %r
    : memref<128x128xf32, #tile.space<tensor>>, memref<128x128xf32, #tile.space<local>>
  nv.tcgen05.wait_load
  tile.copy %r to %C[%c0, %c0]
    : memref<128x128xf32, #tile.space<local>> to memref<?x?xf32, strided<[?, 1]>, #g>
  nv.sync
  nv.tcgen05.dealloc %acc : memref<128x128xf32, #tile.space<tensor>>
  return
}
