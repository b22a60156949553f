// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s
// RUN: penstock-opt %s --tile-attach-target=target=sm_120a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s --check-prefix=ALONE

// Copies with hints for the cache, stores that add, and smaller pieces by threads.

#s = #tile.space<shared>
#g = #tile.space<global>

// CHECK-LABEL: func.func @k(
// The address of the tensor map, once for both copies.
// CHECK: shfl.sync.idx.b32 low, low, 0, 31, 0xffffffff; shfl.sync.idx.b32 high, high, 0, 31, 0xffffffff;
// CHECK-NOT: shfl.sync
// CHECK: createpolicy.fractional.L2::evict_first.b64 $0, 1.0;
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [$0], [$1, {$2, $3}], [$4], $5;
// CHECK: createpolicy.fractional.L2::evict_last.b64 $0, 1.0;
// CHECK: cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group.L2::cache_hint [$0, {$1, $2}], [$3], $4;
// CHECK: cp.async.ca.shared.global [$0], [$1], 8, $2;
// CHECK: cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];
// sm_120a has no clusters: ptxas would call a function for each load to a block of one.
// ALONE: cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [$0], [$1, {$2, $3}], [$4], $5;
// ALONE-NOT: shared::cluster
func.func @k(%A: memref<?x?xf16, strided<[?, 1]>, #g> {tile.name = "A", tile.access = "inout"})
    attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %As = tile.alloc "As" : memref<64x64xf16, #s>
  %narrow = tile.alloc "narrow" : memref<64x12xf16, #s>
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  nv.tma.load %A[%c0, %c0] to %As, %full[%c0] cache "evict_first"
    : memref<?x?xf16, strided<[?, 1]>, #g>, memref<64x64xf16, #s>, !nv.barriers<1>
  nv.tma.store %As to %A[%c0, %c0] combine "add" cache "evict_last"
    : memref<64x64xf16, #s>, memref<?x?xf16, strided<[?, 1]>, #g>
  nv.cp_async %A[%c0, %c0] to %narrow bytes 8
    : memref<?x?xf16, strided<[?, 1]>, #g>, memref<64x12xf16, #s>
  nv.cp_async.arrive %full[%c0] : !nv.barriers<1>
  return
}
