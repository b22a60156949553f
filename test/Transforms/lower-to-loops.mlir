// RUN: penstock-opt %s --tile-lower-launch --tile-lower-to-loops | FileCheck %s

!t = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!s = memref<4x8xf32, #tile.space<shared>>
!v = memref<4xf32, #tile.space<local>>

// CHECK-LABEL: func.func @k(
// CHECK-NOT: tile.copy
// CHECK-NOT: tile.reduce
func.func @k(%A: !t, %i: index) attributes {tile.kernel} {
  %s = tile.alloc "s" : !s
  %v = tile.alloc "v" : !v
  // Inside the tensor: constant bounds. At an edge: fill, then what exists.
  // CHECK: scf.if
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %c4
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %c8
  // CHECK: arith.extf {{.*}} : f16 to f32
  // CHECK: } else {
  // CHECK: memref.store %cst
  // CHECK: arith.extf
  tile.copy %A[%i, %i] to %s : !t to !s
  // CHECK: arith.addf {{.*}} fastmath<reassoc>
  tile.reduce sum %s along 1 into %v : !s, !v
  return
}

// A vector that is broadcast along rows is loaded once for each row, so that the
// inner loop vectorizes.
// CHECK-LABEL: func.func @broadcast(
func.func @broadcast() attributes {tile.kernel} {
  %s = tile.alloc "s" : !s
  %v = tile.alloc "v" : !v
  // CHECK: scf.for %[[I:.*]] =
  // CHECK: %[[ROW:.*]] = memref.load %{{.*}}[%[[I]]] : memref<4xf32
  // CHECK-NEXT: scf.for
  // CHECK: arith.subf %{{.*}}, %[[ROW]]
  tile.map %s ins(%s, %v) dims [[0, 1], [0]] {
  ^bb0(%x: f32, %y: f32):
    %d = arith.subf %x, %y : f32
    tile.yield %d : f32
  } : !s ins(!s, !v)
  return
}

!m = memref<4x64xf32, #tile.space<local>>
!n = memref<4xf32, #tile.space<local>>

// The largest number is found without regard for NaN and the sign of zeros, and again with it if
// there may be one.
// CHECK-LABEL: func.func @largest
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.maxnumf {{.*}} fastmath<nnan,nsz> : f32
// CHECK: arith.maxui
// CHECK: arith.select
// CHECK: scf.if
// CHECK: arith.maximumf {{.*}} : f32
func.func @largest() attributes {tile.kernel} {
  %m = tile.alloc "m" : !m
  %n = tile.alloc "n" : !n
  tile.reduce max %m along 1 into %n : !m, !n
  return
}
