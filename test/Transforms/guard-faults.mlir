// RUN: penstock-opt %s --tile-lower-launch --tile-guard-faults | FileCheck %s

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<16xi32, #tile.space<shared>>

// CHECK: module attributes {penstock.faults = {{\[\[}}1402
// CHECK-LABEL: func.func @k(
func.func @k(%A: !t, %i: index, %d: i32) attributes {tile.kernel} {
  %c3 = arith.constant 3 : index
  %s = tile.alloc "s" : !s
  // A run-time index is compared with the size; outside, the value is zero.
  // CHECK: %[[SIZE:.*]] = memref.dim
  // CHECK: %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %[[SIZE]]
  // CHECK: scf.if %[[IN]] -> (i32)
  // CHECK: memref.load
  // CHECK: } else {
  // CHECK: call @penstock_fault
  %x = tile.load %A[%i] : !t -> i32
  // A constant index inside a tile needs no check.
  // CHECK-NOT: scf.if
  // CHECK: memref.store
  tile.store %x, %s[%c3] : i32, !s
  // CHECK: arith.cmpi eq, %{{.*}} : i32
  // CHECK: call @penstock_fault
  // CHECK: %[[SAFE:.*]] = arith.select
  // CHECK: arith.divsi %{{.*}}, %[[SAFE]]
  %q = arith.divsi %x, %d : i32
  tile.store %q, %s[%c3] : i32, !s
  // Slices are moved inside.
  // CHECK: arith.maxsi
  // CHECK: arith.minsi
  // CHECK: memref.subview
  %v = memref.subview %s[%i] [4] [1] : !s to memref<4xi32, strided<[1], offset: ?>, #tile.space<shared>>
  tile.fill %v, %q : memref<4xi32, strided<[1], offset: ?>, #tile.space<shared>>, i32
  return
}
