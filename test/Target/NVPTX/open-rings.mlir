// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-start-kernel=aligned-rows=true --tile-resolve-schedules --nv-choose-threads --nv-assign-spaces --nv-bind-engines --nv-place-accumulators --nv-assign-roles --nv-write-plans | FileCheck %s --check-prefixes=CHECK,BLACKWELL
// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --nv-start-kernel=aligned-rows=true --tile-resolve-schedules --nv-choose-threads --nv-assign-spaces --nv-bind-engines --nv-place-accumulators --nv-assign-roles --nv-write-plans | FileCheck %s --check-prefixes=CHECK,HOPPER

// A block computes several tiles. Roles do not meet between two of them.

#s = #tile.space<shared>
#g = #tile.space<global>
!T = memref<?x?xf16, strided<[?, 1]>, #g>

// CHECK-LABEL: func.func @persistent
// Two accumulators side by side, the second one from column 64 on.
// BLACKWELL-DAG: %[[ALL:.*]] = nv.tcgen05.alloc "acc" : memref<128x128xf32, #tile.space<tensor>>
// BLACKWELL-DAG: %[[READ:.*]] = nv.mbarrier.alloc "after epilogue of acc" [4, 4]
// BLACKWELL-DAG: %[[FILLED:.*]] = nv.mbarrier.alloc "done products into acc" [1, 1]
// BLACKWELL-DAG: %[[EMPTY:.*]] = nv.mbarrier.alloc "done gemm {{.*}}" [1, 1, 1]
// HOPPER-DAG: %[[EMPTY:.*]] = nv.mbarrier.alloc "after gemm {{.*}}" [8, 8, 8]
// CHECK: scf.for
// CHECK-NOT: nv.sync
// BLACKWELL: %[[ACC:.*]] = memref.subview %[[ALL]][0, %{{.*}}] [128, 64] [1, 1]
// Slots and phases go on: they begin with what the run before has left.
// CHECK: nv.warps {{4|8}}, 1
// CHECK: scf.for {{.*}} iter_args
// CHECK: nv.mbarrier.wait %[[EMPTY]]
// CHECK: nv.tma.load
// BLACKWELL: nv.warps 5, 1
// BLACKWELL: nv.mbarrier.wait %[[READ]]
// BLACKWELL: scf.for
// BLACKWELL: nv.tcgen05.mma {{.*}} into %[[ACC]]
// BLACKWELL: nv.tcgen05.commit %[[FILLED]]
// BLACKWELL: nv.mbarrier.wait %[[FILLED]]
// BLACKWELL: nv.tcgen05.load %[[ACC]]
// BLACKWELL: tile.copy
// BLACKWELL: nv.mbarrier.arrive %[[READ]]
// HOPPER: nv.wgmma.mma
// CHECK-NOT: nv.sync
// CHECK: {{^}}    }
func.func @persistent(%A: !T {tile.access = "in"}, %B: !T {tile.access = "in"},
                      %C: !T {tile.access = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %M = memref.dim %A, %c0 : !T
  %K = memref.dim %A, %c1 : !T
  %tiles = arith.ceildivsi %M, %c128 : index
  %n = arith.ceildivsi %K, %c64 : index
  %block = tile.grid %c2 : index
  %As = tile.alloc "As" : memref<128x64xf16, #s>
  %Bs = tile.alloc "Bs" : memref<64x64xf16, #s>
  %acc = tile.alloc "acc" : memref<128x64xf32, #tile.space<local>>
  scf.for %t = %block to %tiles step %c2 {
    %m = arith.muli %t, %c128 : index
    tile.fill %acc, %zero : memref<128x64xf32, #tile.space<local>>, f32
    scf.for %k = %c0 to %n step %c1 {
      %at = arith.muli %k, %c64 : index
      tile.copy %A[%m, %at] to %As : !T to memref<128x64xf16, #s>
      tile.copy %B[%c0, %at] to %Bs : !T to memref<64x64xf16, #s>
      %Bt = memref.transpose %Bs (i, j) -> (j, i)
        : memref<64x64xf16, #s> to memref<64x64xf16, strided<[1, 64]>, #s>
      tile.gemm %As, %Bt into %acc : memref<128x64xf16, #s>,
        memref<64x64xf16, strided<[1, 64]>, #s>, memref<128x64xf32, #tile.space<local>>
    } {tile.schedule = #tile.schedule<num_stages = 3>}
    tile.copy %acc to %C[%m, %c0] : memref<128x64xf32, #tile.space<local>> to !T
  }
  return
}
