// RUN: penstock-opt %s --nv-overlap-products --split-input-file | FileCheck %s
// RUN: penstock-opt %s --nv-overlap-products --nv-place-accumulators --nv-assign-roles --nv-write-plans --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=WRITTEN

// Of two products, the one that needs nothing but a copy runs one stage before all others, with
// its copy. The group that computes with it is divided.

!T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!s = memref<128x64xf16, #tile.space<shared>>
!t = memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
!c = memref<128x128xf32, #tile.space<local>>
!v = memref<128xf32, #tile.space<local>>

// CHECK-LABEL: func.func @two
// CHECK: tile.copy {{.*}}tile.scheduled = #tile.scheduled<stage = 0, order = 0>
// CHECK: tile.gemm {{.*}} overwrite {{.*}}tile.scheduled = #tile.scheduled<stage = 1, order = 1>
// CHECK-NOT: tile.statement
// CHECK: tile.reduce max {{.*}}tile.scheduled = #tile.scheduled<stage = 2, order = 2>
// CHECK-NEXT: tile.reduce sum {{.*}}tile.scheduled = #tile.scheduled<stage = 2, order = 3>
// CHECK: tile.copy {{.*}}tile.scheduled = #tile.scheduled<stage = 1, order = 4>
// CHECK: tile.gemm {{.*}}tile.scheduled = #tile.scheduled<stage = 2, order = 5>
// CHECK: tile.schedule = #tile.schedule<num_stages = 2>
func.func @two(%x: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64,
                                              tile.target = "sm_100a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : !s
  %Y = tile.alloc "Y" : !s
  %S = tile.alloc "S" : !c
  %O = tile.alloc "O" : !c
  %top = tile.alloc "top" : !v
  %sum = tile.alloc "sum" : !v
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%k, %c0] to %X {nv.engine = #nv.engine<tma.load>, tile.scheduled = #tile.scheduled<stage = 0, order = 0>} : !T to !s
    %Xt = memref.transpose %X (i, j) -> (j, i) : !s to !t
    tile.gemm %X, %Xt into %S overwrite {nv.engine = #nv.engine<tcgen05.mma>, tile.scheduled = #tile.scheduled<stage = 1, order = 1>} : !s, !t, !c
    tile.statement "softmax" {
      tile.reduce max %S along 1 into %top accumulate : !c, !v
      tile.reduce sum %S along 1 into %sum accumulate : !c, !v
    } {tile.scheduled = #tile.scheduled<stage = 1, order = 2>}
    tile.copy %x[%k, %c0] to %Y {nv.engine = #nv.engine<tma.load>, tile.scheduled = #tile.scheduled<stage = 0, order = 3>} : !T to !s
    %Yt = memref.transpose %Y (i, j) -> (j, i) : !s to !t
    tile.gemm %Y, %Yt into %O {nv.engine = #nv.engine<tcgen05.mma>, tile.scheduled = #tile.scheduled<stage = 1, order = 4>} : !s, !t, !c
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// -----

// A schedule that the user stated stays.

!T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!s = memref<128x64xf16, #tile.space<shared>>
!t = memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
!c = memref<128x128xf32, #tile.space<local>>
!v = memref<128xf32, #tile.space<local>>

// CHECK-LABEL: func.func @stated
// CHECK: tile.scheduled = #tile.scheduled<stage = 0, order = 0>
// CHECK: tile.scheduled = #tile.scheduled<stage = 1, order = 1>
// CHECK: tile.scheduled = #tile.scheduled<stage = 1, order = 2>
// CHECK: tile.scheduled = #tile.scheduled<stage = 0, order = 3>
// CHECK: tile.scheduled = #tile.scheduled<stage = 1, order = 4>
func.func @stated(%x: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64,
                                                 tile.target = "sm_100a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : !s
  %Y = tile.alloc "Y" : !s
  %S = tile.alloc "S" : !c
  %O = tile.alloc "O" : !c
  %sum = tile.alloc "sum" : !v
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%k, %c0] to %X {nv.engine = #nv.engine<tma.load>, tile.scheduled = #tile.scheduled<stage = 0, order = 0>} : !T to !s
    %Xt = memref.transpose %X (i, j) -> (j, i) : !s to !t
    tile.gemm %X, %Xt into %S overwrite {nv.engine = #nv.engine<tcgen05.mma>, tile.scheduled = #tile.scheduled<stage = 1, order = 1>} : !s, !t, !c
    tile.reduce sum %S along 1 into %sum accumulate {tile.scheduled = #tile.scheduled<stage = 1, order = 2>} : !c, !v
    tile.copy %x[%k, %c0] to %Y {nv.engine = #nv.engine<tma.load>, tile.scheduled = #tile.scheduled<stage = 0, order = 3>} : !T to !s
    %Yt = memref.transpose %Y (i, j) -> (j, i) : !s to !t
    tile.gemm %Y, %Yt into %O {nv.engine = #nv.engine<tcgen05.mma>, tile.scheduled = #tile.scheduled<stage = 1, order = 4>} : !s, !t, !c
  } {tile.schedule = #tile.schedule<stage = [0, 1, 1, 0, 1], order = [0, 1, 2, 3, 4]>}
  return
}

// -----

// By wgmma the second product trails by an iteration, with its copy, and stands directly behind
// the first one. Threads compute its left operand in a tile of its own, which they copy last.

!T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!s = memref<64x64xf16, #tile.space<shared>>
!t = memref<64x64xf16, strided<[1, 64]>, #tile.space<shared>>
!c = memref<64x64xf32, #tile.space<local>>
!p = memref<64x64xf16, #tile.space<local>>

// CHECK-LABEL: func.func @trailing
// CHECK: %[[NEXT:.*]] = tile.alloc "P"
// CHECK: %[[P:.*]] = tile.alloc "P"
// CHECK: tile.copy {{.*}}tile.scheduled = #tile.scheduled<stage = 0, order = 0>
// CHECK: tile.gemm {{.*}}tile.scheduled = #tile.scheduled<stage = 1, order = 1>
// CHECK: tile.map %[[NEXT]]
// CHECK: tile.scheduled = #tile.scheduled<stage = 1, order = 4>
// CHECK: tile.copy {{.*}}tile.scheduled = #tile.scheduled<stage = 1, order = 3>
// CHECK: tile.copy %[[NEXT]] to %[[P]] {{.*}}tile.scheduled = #tile.scheduled<stage = 1, order = 5>
// CHECK-NEXT: tile.gemm %[[P]], {{.*}}tile.scheduled = #tile.scheduled<stage = 2, order = 2>

// No branch lies around products: the first step and the last one are written apart. A group
// that would be empty there is neither closed nor counted, and scores are released as soon as
// threads know that their product has ended.
//
// WRITTEN-LABEL: func.func @trailing
// WRITTEN: nv.warps 0, 4 {
// WRITTEN:   scf.if
// WRITTEN:     nv.wgmma.mma {{.*}} into %S
// WRITTEN-NEXT:   nv.wgmma.commit_group
// WRITTEN-NEXT:   nv.wgmma.wait_group 0
// WRITTEN-NEXT:   nv.mbarrier.arrive
// WRITTEN:     scf.for
// WRITTEN-NOT:   scf.if
// WRITTEN:       nv.wgmma.mma {{.*}} into %S
// WRITTEN-NEXT:  nv.wgmma.commit_group
// WRITTEN:       nv.wgmma.mma {{.*}} into %O
// WRITTEN-NEXT:  nv.wgmma.commit_group
// WRITTEN-NEXT:  nv.wgmma.wait_group 0
// WRITTEN-NEXT:  nv.mbarrier.arrive %after_gemm_P
// WRITTEN-NEXT:  nv.mbarrier.arrive %after_gemm_X
// WRITTEN:       tile.copy
// WRITTEN:     } {nv.plan
// WRITTEN:     nv.wgmma.mma {{.*}} into %O
// WRITTEN-NEXT: nv.wgmma.commit_group
// WRITTEN-NEXT: nv.wgmma.wait_group 0
func.func @trailing(%x: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64,
                                                   tile.target = "sm_90a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : !s
  %Y = tile.alloc "Y" : !s
  %S = tile.alloc "S" : !c
  %P = tile.alloc "P" : !p
  %O = tile.alloc "O" : !c
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%k, %c0] to %X {nv.engine = #nv.engine<tma.load>, tile.scheduled = #tile.scheduled<stage = 0, order = 0>} : !T to !s
    %Xt = memref.transpose %X (i, j) -> (j, i) : !s to !t
    tile.gemm %X, %Xt into %S overwrite {nv.engine = #nv.engine<wgmma>, tile.scheduled = #tile.scheduled<stage = 1, order = 1>} : !s, !t, !c
    tile.map %P ins(%S) dims [[0, 1]] {
    ^bb0(%value: f32):
      %half = arith.truncf %value : f32 to f16
      tile.yield %half : f16
    } {tile.scheduled = #tile.scheduled<stage = 1, order = 2>} : !p ins(!c)
    tile.copy %x[%k, %c0] to %Y {nv.engine = #nv.engine<tma.load>, tile.scheduled = #tile.scheduled<stage = 0, order = 3>} : !T to !s
    %Yt = memref.transpose %Y (i, j) -> (j, i) : !s to !t
    tile.gemm %P, %Yt into %O {nv.engine = #nv.engine<wgmma>, tile.scheduled = #tile.scheduled<stage = 1, order = 4>} : !p, !t, !c
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}
