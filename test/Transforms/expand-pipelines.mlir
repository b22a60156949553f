// RUN: penstock-opt %s --tile-resolve-schedules --tile-expand-pipelines --canonicalize | FileCheck %s

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<8xf32, #tile.space<shared>>
!a = memref<8xf32, #tile.space<local>>

// CHECK-LABEL: func.func @k
// CHECK: %[[RING:.*]] = tile.alloc "s" : memref<3x8xf32, #tile.space<shared>>
// CHECK: %[[N:.*]] = arith.maxsi
// Two peeled copies, each if its iteration exists.
// CHECK: scf.if
// CHECK: tile.copy %{{.*}}[%c0]
// CHECK: scf.if
// CHECK: tile.copy %{{.*}}[%c8]
// The steady loop has no conditions; slots are counted modulo three.
// CHECK: scf.for %[[T:.*]] = %c2 to %[[N]]
// CHECK-NEXT: %[[SLOT:.*]] = arith.remsi %[[T]], %c3
// CHECK-NEXT: memref.subview %[[RING]][%[[SLOT]], 0]
// CHECK-NEXT: arith.muli %[[T]], %c8
// CHECK-NEXT: tile.copy
// CHECK-NEXT: %[[K:.*]] = arith.subi %[[T]], %c2
// CHECK-NEXT: arith.remsi %[[K]], %c3
// CHECK-NEXT: memref.subview %[[RING]]
// CHECK-NEXT: tile.map
// The tail runs what has begun.
// CHECK: scf.for
// CHECK: scf.if
// CHECK: scf.if
// CHECK: tile.map
func.func @k(%A: !t {tile.access = "in"}, %n: index, %C: !t {tile.access = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = tile.alloc "s" : !s
  %acc = tile.alloc "acc" : !a
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    tile.copy %A[%o] to %s : !t to !s
    tile.map %acc ins(%acc, %s) dims [[0], [0]] {
    ^bb0(%x: f32, %y: f32):
      %r = arith.addf %x, %y : f32
      tile.yield %r : f32
    } : !a ins(!a, !s)
  } {tile.schedule = #tile.schedule<num_stages = 3>}
  tile.copy %acc to %C[%c0] : !a to !t
  return
}
