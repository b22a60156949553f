// RUN: penstock-opt %s --tile-fuse-elements --split-input-file | FileCheck %s

!x = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!t = memref<4x8xf32, #tile.space<local>>
!v = memref<4xf32, #tile.space<local>>

// The squares of a row are added up as they are loaded: nothing is stored in `t`, which the second
// group sets anew. At an edge the operations are as they were.
// CHECK-LABEL: func.func @squares(
func.func @squares(%x: !x, %y: !x, %i: index) attributes {tile.kernel} {
  %t = tile.alloc "t" : !t
  %v = tile.alloc "v" : !v
  // CHECK: scf.if
  // CHECK: scf.for %[[I:.*]] =
  // CHECK: %[[START:.*]] = memref.load %v[%[[I]]]
  // CHECK-NEXT: {{.*}}arith.constant
  // CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[START]])
  // CHECK: %[[H:.*]] = memref.load %arg0
  // CHECK: %[[F:.*]] = arith.extf %[[H]]
  // CHECK: %[[S:.*]] = arith.mulf %[[F]], %[[F]]
  // CHECK: %[[N:.*]] = arith.addf %[[SUM]], %[[S]] fastmath<reassoc>
  // CHECK-NOT: memref.store
  // CHECK: scf.yield %[[N]]
  // CHECK: memref.store {{.*}}, %v[%[[I]]]
  // CHECK: } else {
  // CHECK-NEXT: tile.copy
  // CHECK-NEXT: tile.map
  // CHECK: tile.reduce
  tile.copy %x[%i, %i] to %t : !x to !t
  tile.map %t ins(%t) dims [[0, 1]] {
  ^bb0(%e: f32):
    %s = arith.mulf %e, %e : f32
    tile.yield %s : f32
  } : !t ins(!t)
  tile.reduce sum %t along 1 into %v accumulate : !t, !v
  // The row of `v` is loaded before the inner loop.
  // CHECK: scf.if
  // CHECK: memref.load %v[
  // CHECK-NEXT: scf.for
  // CHECK: memref.load %arg0
  // CHECK: arith.mulf
  // CHECK: arith.truncf
  // CHECK: memref.store {{.*}}, %arg1
  // CHECK-NOT: memref.store
  // CHECK: } else {
  tile.copy %x[%i, %i] to %t : !x to !t
  tile.map %t ins(%t, %v) dims [[0, 1], [0]] {
  ^bb0(%e: f32, %r: f32):
    %s = arith.mulf %e, %r : f32
    tile.yield %s : f32
  } : !t ins(!t, !v)
  tile.copy %t to %y[%i, %i] : !t to !x
  return
}

// -----

!t = memref<4x8xf32, #tile.space<local>>
!v = memref<4xf32, #tile.space<local>>

// A row is reduced before its result is read, so the map has loops of its own; what is used later
// is stored.
// CHECK-LABEL: func.func @reduced(
func.func @reduced(%x: f32) attributes {tile.kernel} {
  %t = tile.alloc "t" : !t
  %v = tile.alloc "v" : !v
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: memref.store %arg0, %t
  // CHECK: memref.store {{.*}}, %v
  // CHECK: tile.map
  tile.fill %t, %x : !t, f32
  tile.reduce max %t along 1 into %v : !t, !v
  tile.map %t ins(%t, %v) dims [[0, 1], [0]] {
  ^bb0(%e: f32, %r: f32):
    %s = arith.subf %e, %r : f32
    tile.yield %s : f32
  } : !t ins(!t, !v)
  return
}

// -----

!x = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!t = memref<4x8xf32, #tile.space<local>>

// The second copy writes the tensor that the first one reads, at another offset: all of the tile is
// loaded first.
// CHECK-LABEL: func.func @same(
// CHECK-NOT: scf.
func.func @same(%x: !x, %i: index, %j: index) attributes {tile.kernel} {
  %t = tile.alloc "t" : !t
  tile.copy %x[%i, %i] to %t : !x to !t
  tile.copy %t to %x[%j, %j] : !t to !x
  return
}

// -----

!w = memref<4x4xf32, #tile.space<local>>

// A transposed element may not have been set yet.
// CHECK-LABEL: func.func @turned(
// CHECK-NOT: scf.
func.func @turned(%x: f32) attributes {tile.kernel} {
  %t = tile.alloc "t" : !w
  %u = tile.alloc "u" : !w
  tile.fill %t, %x : !w, f32
  tile.map %u ins(%t) dims [[1, 0]] {
  ^bb0(%e: f32):
    tile.yield %e : f32
  } : !w ins(!w)
  return
}

// -----

!t = memref<4x8xf32, #tile.space<local>>
!v = memref<4xf32, #tile.space<local>>

// Operations on %t are between those on vectors and do not depend on the first one: they are a
// group of their own, which runs before.
// CHECK-LABEL: func.func @two_shapes(
func.func @two_shapes(%x: f32) attributes {tile.kernel} {
  %t = tile.alloc "t" : !t
  %v = tile.alloc "v" : !v
  %w = tile.alloc "w" : !v
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: arith.addf
  // CHECK: memref.store {{.*}}, %w
  // CHECK: scf.for
  // CHECK: memref.load %w
  // CHECK: arith.mulf %arg0
  // CHECK-NOT: tile.map
  tile.fill %v, %x : !v, f32
  tile.fill %t, %x : !t, f32
  tile.reduce sum %t along 1 into %w : !t, !v
  tile.map %v ins(%v, %w) dims [[0], [0]] {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %b : f32
    tile.yield %s : f32
  } : !v ins(!v, !v)
  return
}

// -----

!t = memref<4x8xf32, #tile.space<local>>
!v = memref<4xf32, #tile.space<local>>

// The operations on %t read the vector that the first one sets: it is not moved after them.
// CHECK-LABEL: func.func @dependent(
func.func @dependent(%x: f32) attributes {tile.kernel} {
  %t = tile.alloc "t" : !t
  %v = tile.alloc "v" : !v
  %w = tile.alloc "w" : !v
  // CHECK: tile.fill %v
  // CHECK: scf.for
  // CHECK: memref.load %v
  // CHECK: memref.store {{.*}}, %w
  // CHECK: tile.map %v
  tile.fill %v, %x : !v, f32
  tile.map %t ins(%v) dims [[0]] {
  ^bb0(%a: f32):
    tile.yield %a : f32
  } : !t ins(!v)
  tile.reduce sum %t along 1 into %w : !t, !v
  tile.map %v ins(%v, %w) dims [[0], [0]] {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %b : f32
    tile.yield %s : f32
  } : !v ins(!v, !v)
  return
}
