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

// A divisor with a reciprocal: blocks multiply, and the guard selects the result for zero.
// CHECK-LABEL: func.func @reciprocal(
// CHECK: %[[ZERO:.*]] = arith.cmpi eq, %[[D:.*]], %c0_i32
// CHECK: %[[M:.*]] = memref.load %{{.*}}[%c3
// CHECK: %[[S:.*]] = memref.load %{{.*}}[%c4
// CHECK: %[[NEXT:.*]] = arith.addi %[[N:.*]], %
// CHECK: arith.mului_extended %[[NEXT]], %
// CHECK: %[[Q:.*]] = arith.shrui
// CHECK: %[[WHOLE:.*]] = arith.muli %[[Q]], %[[D]]
// CHECK: %[[REST:.*]] = arith.subi %[[N]], %[[WHOLE]]
// CHECK: arith.select %[[ZERO]], %{{.*}}, %[[REST]]
// CHECK-NOT: arith.remui
func.func @reciprocal(%n: i32, %d: i32, %block: index, %launch: memref<?xi64>, %scratch: memref<?xi8>, %runtime: !llvm.ptr) -> i32 attributes {tile.kernel} {
  %r = arith.remui %n, %d {penstock.reciprocal = 3 : i64} : i32
  return %r : i32
}
