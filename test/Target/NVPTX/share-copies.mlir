// RUN: penstock-opt %s --nv-share-copies --split-input-file | FileCheck %s
// RUN: penstock-opt %s --nv-share-copies --nv-write-plans --split-input-file | FileCheck %s --check-prefix=PLAN

// Two blocks in a column of the grid have the same columns of the product. Each copies half of the
// rows of Y to both, and releases slots of both. What acts outside of a block is guarded.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
!T = memref<?x?xf16, strided<[?, 1]>, #g>
!C = memref<?x?xf32, strided<[?, 1]>, #g>
!s = memref<64x64xf16, #s>
!c = memref<64x64xf32, #l>

// CHECK-LABEL: func.func @pair
// CHECK-SAME: nv.cluster = 2
// CHECK: %[[AT:.*]]:2 = tile.grid %[[M:.*]], %{{.*}} cluster [2, 1]
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[AT]]#0, %[[M]]
// CHECK: tile.copy %{{.*}}[%[[AT]]#0, {{.*}} to %X {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled
// CHECK: tile.copy %{{.*}}[%[[AT]]#1, {{.*}}nv.shared_along = array<i64: 0>
// CHECK: scf.if %[[IN]]
// CHECK-NEXT: tile.copy %acc
// CHECK: nv.cluster.sync
// CHECK-NEXT: return

// PLAN-LABEL: func.func @pair
// One arrival of each warp of both blocks.
// PLAN: nv.mbarrier.alloc "after gemm {{.*}}" [8, 8]
// PLAN: %[[RANK:.*]] = nv.cluster.rank
// PLAN: nv.warps 4, 1
// PLAN: nv.tma.load %{{.*}} to %{{.*}}, %[[FULL:.*]][%{{.*}}] :
// PLAN: %[[HALF:.*]] = memref.subview %{{.*}}[%{{.*}}, 0] [32, 64]
// PLAN: nv.tma.load %{{.*}} to %[[HALF]], %[[FULL]][%{{.*}}] multicast %c3{{.*}} :
// PLAN: nv.warps 0, 4
// Only wgmma has read the slot, and that is over: no release, which waits for all earlier writes.
// PLAN-NOT: nv.warp.sync
// PLAN: nv.mbarrier.arrive %{{.*}} of %{{[^ ]*}} relaxed each_warp
// PLAN-NEXT: nv.mbarrier.arrive %{{.*}} of %{{[^ ]*}} relaxed each_warp
func.func @pair(%x: !T, %y: !T, %z: !C, %m: index, %n: index)
    attributes {tile.kernel, tile.target = "sm_90a", nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bm, %bn = tile.grid %m, %n cluster [2, 1] : index, index
  %X = tile.alloc "X" : !s
  %Y = tile.alloc "Y" : !s
  %acc = tile.alloc "acc" : !c
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%bm, %k] to %X {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled = #tile.scheduled<stage = 0, order = 0>} : !T to !s
    tile.copy %y[%bn, %k] to %Y {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled = #tile.scheduled<stage = 0, order = 1>} : !T to !s
    tile.gemm %X, %Y into %acc {nv.engine = #nv.engine<wgmma>, tile.scheduled = #tile.scheduled<stage = 1, order = 2>} : !s, !s, !c
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  tile.copy %acc to %z[%bm, %bn] : !c to !C
  return
}

// -----

// Threads read slots, too: they synchronize within their warp, and its arrival releases.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
!T = memref<?x?xf16, strided<[?, 1]>, #g>
!s = memref<64x64xf16, #s>
!c = memref<64x64xf32, #l>

// PLAN-LABEL: func.func @read_by_threads
// PLAN: nv.warps 0, 4
// PLAN: nv.warp.sync
// PLAN: nv.mbarrier.arrive %{{.*}} of %{{[^ ]*}} each_warp
// PLAN: nv.mbarrier.arrive %{{.*}} of %{{[^ ]*}} each_warp
func.func @read_by_threads(%x: !T, %y: !T, %z: !T, %m: index, %n: index)
    attributes {tile.kernel, tile.target = "sm_90a", nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bm, %bn = tile.grid %m, %n cluster [2, 1] : index, index
  %X = tile.alloc "X" : !s
  %Y = tile.alloc "Y" : !s
  %Z = tile.alloc "Z" : !s
  %acc = tile.alloc "acc" : !c
  %sum = tile.alloc "sum" : memref<64xf32, #l>
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%bm, %k] to %X {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled = #tile.scheduled<stage = 0, order = 0>} : !T to !s
    tile.copy %y[%bn, %k] to %Y {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled = #tile.scheduled<stage = 0, order = 1>} : !T to !s
    tile.gemm %X, %Y into %acc {nv.engine = #nv.engine<wgmma>, tile.scheduled = #tile.scheduled<stage = 1, order = 2>} : !s, !s, !c
    tile.copy %z[%bn, %k] to %Z {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled = #tile.scheduled<stage = 0, order = 3>} : !T to !s
    tile.reduce sum %Z along 1 into %sum accumulate {tile.scheduled = #tile.scheduled<stage = 1, order = 4>} : !s, memref<64xf32, #l>
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// -----

// The number of iterations differs from block to block.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
!T = memref<?x?xf16, strided<[?, 1]>, #g>
!s = memref<64x64xf16, #s>
!c = memref<64x64xf32, #l>

// CHECK-LABEL: func.func @causal
// CHECK-SAME: nv.no_cluster = "a loop, or a condition around it, differs between the blocks of a cluster"
// CHECK: tile.grid %{{[a-z0-9]*}} : index
// CHECK-NOT: nv.shared_along
func.func @causal(%x: !T, %n: index)
    attributes {tile.kernel, tile.target = "sm_90a", nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tile.grid %n cluster [2] : index
  %X = tile.alloc "X" : !s
  %acc = tile.alloc "acc" : !c
  scf.for %k = %c0 to %b step %c1 {
    tile.copy %x[%c0, %k] to %X {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled = #tile.scheduled<stage = 0, order = 0>} : !T to !s
    tile.gemm %X, %X into %acc {nv.engine = #nv.engine<wgmma>, tile.scheduled = #tile.scheduled<stage = 1, order = 1>} : !s, !s, !c
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// -----

// A block beyond the end of the grid would read an element outside of the tensor, which is a fault.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
!T = memref<?x?xf16, strided<[?, 1]>, #g>
!I = memref<?xi64, strided<[1]>, #g>
!s = memref<64x64xf16, #s>
!c = memref<64x64xf32, #l>

// CHECK-LABEL: func.func @gather
// CHECK-SAME: nv.no_cluster = "blocks beyond the end of the grid, which load for others, would have effects of their own"
func.func @gather(%x: !T, %rows: !I, %n: index)
    attributes {tile.kernel, tile.target = "sm_90a", nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tile.grid %n cluster [2] : index
  %number = tile.load %rows[%b] : !I -> i64
  %row = arith.index_cast %number : i64 to index
  %X = tile.alloc "X" : !s
  %Y = tile.alloc "Y" : !s
  %acc = tile.alloc "acc" : !c
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%row, %k] to %X {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled = #tile.scheduled<stage = 0, order = 0>} : !T to !s
    tile.copy %x[%c0, %k] to %Y {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled = #tile.scheduled<stage = 0, order = 1>} : !T to !s
    tile.gemm %X, %Y into %acc {nv.engine = #nv.engine<wgmma>, tile.scheduled = #tile.scheduled<stage = 1, order = 2>} : !s, !s, !c
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// -----

// Two blocks multiply as one: each copies half of the right operand for itself.

#g = #tile.space<global>
#s = #tile.space<shared>
!T = memref<?x?xf16, strided<[?, 1]>, #g>
!a = memref<128x64xf16, #s>
!b = memref<64x64xf16, #s>
!t = memref<64x64xf16, strided<[1, 64]>, #s>
!c = memref<128x64xf32, #tile.space<tensor>>

// CHECK-LABEL: func.func @pair
// CHECK-SAME: nv.cluster = 2
// CHECK-SAME: nv.pair
// CHECK: tile.grid {{.*}} cluster [2, 1] pair
// CHECK: tile.copy {{.*}}{nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled
// CHECK: tile.copy {{.*}} halved {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled
// CHECK-NOT: nv.shared_along
// CHECK: nv.cluster.sync
func.func @pair(%x: !T, %y: !T, %m: index, %n: index)
    attributes {tile.kernel, nv.tile_program, tile.target = "sm_100a", nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bm, %bn = tile.grid %m, %n cluster [2, 1] pair : index, index
  %X = tile.alloc "X" : !a
  %Y = tile.alloc "Y" : !b
  %acc = nv.tcgen05.alloc "acc" : !c
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%bm, %k] to %X {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled = #tile.scheduled<stage = 0, order = 0>} : !T to !a
    tile.copy %y[%bn, %k] to %Y {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled = #tile.scheduled<stage = 0, order = 1>} : !T to !b
    %Yt = memref.transpose %Y (i, j) -> (j, i) : !b to !t
    tile.gemm %X, %Yt into %acc {nv.engine = #nv.engine<tcgen05.mma>, nv.role = #nv.role<mma>, tile.scheduled = #tile.scheduled<stage = 1, order = 2>} : !a, !t, !c
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// -----

// One stage leaves one slot, which two blocks cannot take turns in.

#g = #tile.space<global>
#s = #tile.space<shared>
!T = memref<?x?xf16, strided<[?, 1]>, #g>
!a = memref<128x64xf16, #s>
!b = memref<64x64xf16, #s>
!t = memref<64x64xf16, strided<[1, 64]>, #s>
!c = memref<128x64xf32, #tile.space<tensor>>

// CHECK-LABEL: func.func @one_stage
// CHECK-SAME: nv.cluster = 2
// CHECK-SAME: nv.no_pair = "the loop has one stage"
// CHECK: nv.shared_along
func.func @one_stage(%x: !T, %y: !T, %m: index, %n: index)
    attributes {tile.kernel, nv.tile_program, tile.target = "sm_100a", nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bm, %bn = tile.grid %m, %n cluster [2, 1] pair : index, index
  %X = tile.alloc "X" : !a
  %Y = tile.alloc "Y" : !b
  %acc = nv.tcgen05.alloc "acc" : !c
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%bm, %k] to %X {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled = #tile.scheduled<stage = 0, order = 0>} : !T to !a
    tile.copy %y[%bn, %k] to %Y {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>, tile.scheduled = #tile.scheduled<stage = 0, order = 1>} : !T to !b
    %Yt = memref.transpose %Y (i, j) -> (j, i) : !b to !t
    tile.gemm %X, %Yt into %acc {nv.engine = #nv.engine<tcgen05.mma>, nv.role = #nv.role<mma>, tile.scheduled = #tile.scheduled<stage = 0, order = 2>} : !a, !t, !c
  } {tile.schedule = #tile.schedule<num_stages = 1>}
  return
}
