// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-start-kernel=aligned-rows=true --tile-resolve-schedules --nv-choose-threads --nv-assign-spaces --nv-bind-engines --nv-place-accumulators --nv-assign-roles --nv-write-plans --nv-execute-in-order --nv-stage-stores | FileCheck %s --check-prefixes=CHECK,BLACKWELL
// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --nv-start-kernel=aligned-rows=true --tile-resolve-schedules --nv-choose-threads --nv-assign-spaces --nv-bind-engines --nv-place-accumulators --nv-assign-roles --nv-write-plans --nv-execute-in-order --nv-stage-stores | FileCheck %s --check-prefixes=CHECK,HOPPER

// A matmul with three stages, by all passes that make a warp-specialized kernel of it.

#s = #tile.space<shared>
#g = #tile.space<global>

// CHECK-LABEL: func.func @matmul
// BLACKWELL-SAME: nv.threads = 128
// HOPPER-SAME: nv.threads = 288
// Three versions of each tile; one arrival and the bytes of both fill a slot. A product that
// has ended releases it: by its commit, or by all threads that issued it.
// BLACKWELL-DAG: %[[EMPTY:.*]] = nv.mbarrier.alloc "done {{.*}}" [1, 1, 1] : !nv.barriers<3>
// HOPPER-DAG: %[[EMPTY:.*]] = nv.mbarrier.alloc "after {{.*}}" [8, 8, 8] : !nv.barriers<3>
// CHECK-DAG: %[[FULL:.*]] = nv.mbarrier.alloc "full {{.*}}" [1, 1, 1] : !nv.barriers<3>
// CHECK-DAG: tile.alloc "As" : memref<3x128x64xf16, #tile.space<shared>>
// CHECK-DAG: tile.alloc "Bs" : memref<3x128x64xf16, #tile.space<shared>>
// BLACKWELL: nv.warps 0, 1 {
// HOPPER: nv.warps 8, 1 {
// CHECK: scf.for
// CHECK: nv.mbarrier.wait %[[EMPTY]]
// CHECK: nv.elect {
// CHECK: nv.mbarrier.arrive %[[FULL]][{{.*}}] expect %{{.*}}32768
// CHECK-COUNT-2: nv.tma.load
// The first product overwrites the accumulator.
// BLACKWELL: nv.warps 1, 1 {
// BLACKWELL: nv.mbarrier.wait %[[FULL]]
// BLACKWELL: nv.tcgen05.mma {{.*}} accumulate
// BLACKWELL: nv.tcgen05.commit %[[EMPTY]]
// BLACKWELL: nv.sync
// BLACKWELL: nv.tcgen05.load
// BLACKWELL: nv.tma.store
// BLACKWELL: nv.tcgen05.dealloc
// One product stays in flight, and the slot before it is released.
// HOPPER: nv.warps 0, 8 {
// HOPPER: tile.fill
// HOPPER: nv.mbarrier.wait %[[FULL]]
// HOPPER: nv.wgmma.mma
// HOPPER: nv.wgmma.wait_group 1
// HOPPER: nv.mbarrier.arrive %[[EMPTY]]
// HOPPER: nv.wgmma.wait_group 0
// HOPPER: nv.tma.store
func.func @matmul(%A: memref<?x?xf16, strided<[?, 1]>, #g> {tile.access = "in"},
                  %B: memref<?x?xf16, strided<[?, 1]>, #g> {tile.access = "in"},
                  %C: memref<?x?xf16, strided<[?, 1]>, #g> {tile.access = "out"})
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %K = memref.dim %A, %c1 : memref<?x?xf16, strided<[?, 1]>, #g>
  %n = arith.ceildivsi %K, %c64 : index
  %As = tile.alloc "As" : memref<128x64xf16, #s>
  %Bs = tile.alloc "Bs" : memref<128x64xf16, #s>
  %acc = tile.alloc "acc" : memref<128x128xf32, #tile.space<local>>
  tile.fill %acc, %zero : memref<128x128xf32, #tile.space<local>>, f32
  scf.for %k = %c0 to %n step %c1 {
    %at = arith.muli %k, %c64 : index
    tile.copy %A[%c0, %at] to %As : memref<?x?xf16, strided<[?, 1]>, #g> to memref<128x64xf16, #s>
    tile.copy %B[%c0, %at] to %Bs : memref<?x?xf16, strided<[?, 1]>, #g> to memref<128x64xf16, #s>
    %Bt = memref.transpose %Bs (i, j) -> (j, i)
      : memref<128x64xf16, #s> to memref<64x128xf16, strided<[1, 64]>, #s>
    tile.gemm %As, %Bt into %acc : memref<128x64xf16, #s>,
      memref<64x128xf16, strided<[1, 64]>, #s>, memref<128x128xf32, #tile.space<local>>
  } {tile.schedule = #tile.schedule<num_stages = 3>}
  tile.copy %acc to %C[%c0, %c0]
    : memref<128x128xf32, #tile.space<local>> to memref<?x?xf16, strided<[?, 1]>, #g>
  return
}
