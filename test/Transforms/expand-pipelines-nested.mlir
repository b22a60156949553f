// RUN: penstock-opt %s --tile-resolve-schedules --tile-expand-pipelines | FileCheck %s

// Views inside of a nested loop are views of a ring's slot, and have its strides.

!t = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!s = memref<5x2xf32, #tile.space<local>>

// CHECK-LABEL: func.func @views
// CHECK: tile.alloc "s" : memref<2x5x2xf32, #tile.space<local>>
// CHECK: scf.for
// CHECK: memref.subview {{.*}} : memref<2x5x2xf32, #tile.space<local>> to memref<5x2xf32, strided<[2, 1], offset: ?>
// CHECK: memref.subview {{.*}} to memref<2x2xf32, strided<[2, 1], offset: ?>
// CHECK: memref.transpose {{.*}} to memref<2x2xf32, strided<[1, 2], offset: ?>
func.func @views(%A: !t {tile.access = "in"}, %n: index, %C: !t {tile.access = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %A[%k, %c0] to %s : !t to !s
    scf.for %j = %c0 to %c1 step %c1 {
      %part = memref.subview %s[1, 0] [2, 2] [1, 1] : !s to memref<2x2xf32, strided<[2, 1], offset: 2>, #tile.space<local>>
      %turned = memref.transpose %part (i, j) -> (j, i) : memref<2x2xf32, strided<[2, 1], offset: 2>, #tile.space<local>> to memref<2x2xf32, strided<[1, 2], offset: 2>, #tile.space<local>>
      tile.copy %turned to %C[%k, %j] : memref<2x2xf32, strided<[1, 2], offset: 2>, #tile.space<local>> to !t
    }
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// What can fault is computed in every iteration, whether or not it is used.

// CHECK-LABEL: func.func @checks
// CHECK: scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step
// CHECK: arith.divsi %{{.*}}, %{{.*}} : index
// CHECK: tile.fill
func.func @checks(%A: !t {tile.access = "in"}, %n: index, %C: !t {tile.access = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %s = tile.alloc "s" : !s
  %d = tile.alloc "d" : !s
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %A[%k, %c0] to %s : !t to !s
    %unused = arith.divsi %n, %k : index
    tile.fill %d, %zero : !s, f32
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  tile.copy %d to %C[%c0, %c0] : !s to !t
  return
}
