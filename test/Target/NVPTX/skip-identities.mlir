// A warp leaves out the scaling of its sum where all factors are 1, with load and store. The wait
// for the store stays: other stores may need it.
// RUN: penstock-opt --tile-attach-target=target=sm_100a --nv-skip-identities %s | FileCheck %s

!d = memref<128x32xf32, #tile.space<tensor>>
!r = memref<128x32xf32, #tile.space<local>>
!dd = memref<128x64xf32, #tile.space<tensor>>
!rr = memref<128x64xf32, #tile.space<local>>
!v = memref<128xf32, #tile.space<local>>

// CHECK-LABEL: @scaled
// CHECK: scf.for
// CHECK: %[[ANY:.*]] = nv.warp.differs %[[F:.*]] from 1.0
// CHECK-NEXT: scf.if %[[ANY]] {
// CHECK-NEXT: nv.tcgen05.load
// CHECK-NEXT: nv.tcgen05.wait_load
// CHECK-NEXT: tile.map
// CHECK: nv.tcgen05.store
// CHECK-NEXT: }
// CHECK-NEXT: nv.tcgen05.wait_store
func.func @scaled(%n: index) attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %acc = nv.tcgen05.alloc "acc" : !d
  %sum = tile.alloc "sum" {nv.layout = #nv.layout<"128x32 threads [128:0*1] registers [32:1*1]">} : !r
  %f = tile.alloc "f" {nv.layout = #nv.layout<"128 threads [128:0*1] registers []">} : !v
  scf.for %k = %c0 to %n step %c1 {
    nv.tcgen05.load %acc to %sum : !d, !r
    nv.tcgen05.wait_load
    tile.map %sum ins(%sum, %f) dims [[0, 1], [0]] {
    ^bb0(%x: f32, %y: f32):
      %0 = arith.mulf %x, %y : f32
      tile.yield %0 : f32
    } : !r ins(!r, !v)
    nv.tcgen05.store %sum to %acc : !r, !d
    nv.tcgen05.wait_store
  }
  nv.tcgen05.dealloc %acc : !d
  return
}

// Each piece is loaded while the one before is scaled, and scaled after it has arrived.
// CHECK-LABEL: @pieces
// CHECK: scf.if
// CHECK-NEXT: %[[FIRST:.*]] = memref.subview %[[ACC:.*]][0, 0] [128, 32]
// CHECK-NEXT: nv.tcgen05.load %[[FIRST]] to %[[A:.*]] :
// CHECK-NEXT: nv.tcgen05.wait_load
// CHECK-NEXT: %[[SECOND:.*]] = memref.subview %[[ACC]][0, 32] [128, 32]
// CHECK-NEXT: nv.tcgen05.load %[[SECOND]] to %[[B:.*]] :
// CHECK-NEXT: tile.map %[[A]] ins(%[[A]]
// CHECK: %[[SAME:.*]] = memref.subview %[[ACC]][0, 0] [128, 32]
// CHECK-NEXT: nv.tcgen05.store %[[A]] to %[[SAME]]
// CHECK-NEXT: nv.tcgen05.wait_load
// CHECK-NEXT: tile.map %[[B]] ins(%[[B]]
// CHECK: nv.tcgen05.store %[[B]]
// CHECK-NEXT: }
func.func @pieces(%n: index) attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %acc = nv.tcgen05.alloc "acc" : !dd
  %sum = tile.alloc "sum" {nv.layout = #nv.layout<"128x64 threads [128:0*1] registers [64:1*1]">} : !rr
  %f = tile.alloc "f" {nv.layout = #nv.layout<"128 threads [128:0*1] registers []">} : !v
  scf.for %k = %c0 to %n step %c1 {
    nv.tcgen05.load %acc to %sum : !dd, !rr
    nv.tcgen05.wait_load
    tile.map %sum ins(%sum, %f) dims [[0, 1], [0]] {
    ^bb0(%x: f32, %y: f32):
      %0 = arith.mulf %x, %y : f32
      tile.yield %0 : f32
    } : !rr ins(!rr, !v)
    nv.tcgen05.store %sum to %acc : !rr, !dd
    nv.tcgen05.wait_store
  }
  nv.tcgen05.dealloc %acc : !dd
  return
}

// Factors that other threads hold say nothing about the rows of a warp.
// CHECK-LABEL: @elsewhere
// CHECK-NOT: nv.warp.differs
// CHECK: return
func.func @elsewhere(%n: index) attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %acc = nv.tcgen05.alloc "acc" : !d
  %sum = tile.alloc "sum" {nv.layout = #nv.layout<"128x32 threads [128:0*1] registers [32:1*1]">} : !r
  %f = tile.alloc "f" {nv.layout = #nv.layout<"128 threads [32:0*4 4:copies] registers [4:0*1]">} : !v
  scf.for %k = %c0 to %n step %c1 {
    nv.tcgen05.load %acc to %sum : !d, !r
    nv.tcgen05.wait_load
    tile.map %sum ins(%sum, %f) dims [[0, 1], [0]] {
    ^bb0(%x: f32, %y: f32):
      %0 = arith.mulf %x, %y : f32
      tile.yield %0 : f32
    } : !r ins(!r, !v)
    nv.tcgen05.store %sum to %acc : !r, !d
    nv.tcgen05.wait_store
  }
  nv.tcgen05.dealloc %acc : !d
  return
}

// What was not loaded again must not be read as if it had been scaled.
// CHECK-LABEL: @used
// CHECK-NOT: nv.warp.differs
// CHECK: return
func.func @used(%n: index, %y: memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>) attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %acc = nv.tcgen05.alloc "acc" : !d
  %sum = tile.alloc "sum" {nv.layout = #nv.layout<"128x32 threads [128:0*1] registers [32:1*1]">} : !r
  %f = tile.alloc "f" {nv.layout = #nv.layout<"128 threads [128:0*1] registers []">} : !v
  scf.for %k = %c0 to %n step %c1 {
    nv.tcgen05.load %acc to %sum : !d, !r
    nv.tcgen05.wait_load
    tile.map %sum ins(%sum, %f) dims [[0, 1], [0]] {
    ^bb0(%x: f32, %z: f32):
      %0 = arith.mulf %x, %z : f32
      tile.yield %0 : f32
    } : !r ins(!r, !v)
    nv.tcgen05.store %sum to %acc : !r, !d
    nv.tcgen05.wait_store
    tile.copy %sum to %y[%c0, %c0] : !r to memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
  }
  nv.tcgen05.dealloc %acc : !d
  return
}
