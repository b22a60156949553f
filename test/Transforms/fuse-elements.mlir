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

// -----

!bytes = memref<2x8x16x2xi8, #tile.space<shared>>
!panels = memref<2x8x16x2xbf16, #tile.space<shared>>
!q = memref<?x?x?x?xi8, strided<[?, ?, ?, 1]>, #tile.space<global>>

// The last dimension has two elements. Where the tensor has no gaps within a panel, one loop runs
// over the 8 * 16 * 2 elements of each; otherwise the operations stay as they are.
// CHECK-LABEL: func.func @panels(
func.func @panels(%q: !q) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %bytes = tile.alloc "bytes" : !bytes
  %panels = tile.alloc "panels" : !panels
  // CHECK: memref.extract_strided_metadata
  // CHECK: %[[GROUP:.*]] = arith.constant 2 : index
  // CHECK-NEXT: arith.cmpi eq, %strides#2, %[[GROUP]]
  // CHECK: %[[ROW:.*]] = arith.constant 32 : index
  // CHECK-NEXT: arith.cmpi eq, %strides#1, %[[ROW]]
  // CHECK-NOT: arith.cmpi eq, %strides#0
  // CHECK: scf.if
  // CHECK: %[[FROM:.*]] = memref.reinterpret_cast %arg0 {{.*}} sizes: [2, 256]
  // CHECK: %[[TO:.*]] = memref.reinterpret_cast %panels to offset: [0], sizes: [2, 256], strides: [256, 1]
  // CHECK: scf.for
  // CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
  // CHECK: memref.load %[[FROM]][%{{.*}}, %[[I]]]
  // CHECK: arith.sitofp
  // CHECK: memref.store %{{.*}}, %[[TO]][%{{.*}}, %[[I]]]
  // CHECK: } else {
  // CHECK: tile.copy
  // CHECK: tile.map
  tile.copy %q[%c0, %c0, %c0, %c0] to %bytes : !q to !bytes
  tile.map %panels ins(%bytes) dims [[0, 1, 2, 3]] {
  ^bb0(%a: i8):
    %f = arith.sitofp %a : i8 to bf16
    tile.yield %f : bf16
  } : !panels ins(!bytes)
  %used = memref.load %panels[%c0, %c0, %c0, %c0] : !panels
  return
}

// -----

!bytes = memref<2x8x16x2xi8, #tile.space<shared>>
!wide = memref<2x8x16x2xi32, #tile.space<shared>>

// The element's index along a dimension is needed: that one and those before it keep their loops.
// CHECK-LABEL: func.func @indexed(
func.func @indexed(%x: i8) attributes {tile.kernel} {
  %bytes = tile.alloc "bytes" : !bytes
  %wide = tile.alloc "wide" : !wide
  // CHECK: sizes: [2, 8, 32], strides: [256, 32, 1]
  // CHECK-NOT: reinterpret_cast {{.*}} sizes: [2, 256]
  tile.fill %bytes, %x : !bytes, i8
  tile.map %wide ins(%bytes) dims [[0, 1, 2, 3]] {
  ^bb0(%a: i8):
    %row = tile.element_index 1
    %i = arith.index_cast %row : index to i32
    %e = arith.extsi %a : i8 to i32
    %s = arith.addi %e, %i : i32
    tile.yield %s : i32
  } : !wide ins(!bytes)
  return
}
