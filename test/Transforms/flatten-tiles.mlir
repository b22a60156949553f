// RUN: penstock-opt %s --tile-flatten-tiles --split-input-file | FileCheck %s

!X = memref<?x?x?x?xf16, strided<[?, ?, ?, 1]>, #tile.space<global>>
!Y = memref<?x?x?x?xf32, strided<[?, ?, ?, 1]>, #tile.space<global>>
!x = memref<8x16x64xf16, #tile.space<shared>>
!m = memref<128x64xf16, #tile.space<shared>>
!f = memref<64x32xf16, #tile.space<shared>>
!a = memref<8x16x32xf32, #tile.space<local>>
!s = memref<128x32xf32, #tile.space<local>>
!v = memref<32xf32, #tile.space<local>>

// Both tiles become matrices; copies name the extents of their rows, along the dimensions that
// were stated. In the map, the coordinates of a pixel are those of row / 16 and row mod 16, and a
// vector still runs along the columns.

// CHECK-LABEL: func.func @boxes
// CHECK: %[[XS:.*]] = tile.alloc "Xs" versions 3 : memref<128x64xf16
// CHECK: %[[ACC:.*]] = tile.alloc "acc" : memref<128x32xf32
// CHECK: tile.fill %[[ACC]]
// CHECK: tile.copy %{{.*}} to %[[XS]] dims [1, 2, 3] rows [8, 16]
// CHECK-NOT: collapse_shape
// CHECK: tile.gemm %[[XS]], %{{.*}} into %[[ACC]]
// CHECK: tile.map %[[ACC]] ins(%[[ACC]], %{{.*}}) dims {{\[\[}}0, 1], [1]]
// CHECK: %[[Y:.*]] = tile.element_index 0
// CHECK: %[[C16:.*]] = arith.constant 16 : index
// CHECK: arith.divui %[[Y]], %[[C16]]
// CHECK: %[[X:.*]] = tile.element_index 0
// CHECK: %[[C16B:.*]] = arith.constant 16 : index
// CHECK: arith.remui %[[X]], %[[C16B]]
// CHECK: tile.element_index 1
// CHECK: tile.copy %[[ACC]] to %{{.*}} rows [8, 16]
func.func @boxes(%X: !X, %Y: !Y, %i: index, %zero: f32) attributes {tile.kernel} {
  %Xs = tile.alloc "Xs" versions 3 : !x
  %Fs = tile.alloc "Fs" : !f
  %acc = tile.alloc "acc" : !a
  %bias = tile.alloc "bias" : !v
  tile.fill %acc, %zero : !a, f32
  tile.copy %X[%i, %i, %i, %i] to %Xs dims [1, 2, 3] : !X to !x
  %m = memref.collapse_shape %Xs [[0, 1], [2]] : !x into !m
  %s = memref.collapse_shape %acc [[0, 1], [2]] : !a into !s
  tile.gemm %m, %Fs into %s : !m, !f, !s
  tile.map %acc ins(%acc, %bias) dims [[0, 1, 2], [2]] {
  ^bb0(%e: f32, %b: f32):
    %y = tile.element_index 0
    %x = tile.element_index 1
    %c = tile.element_index 2
    %p = arith.addi %y, %x : index
    %q = arith.addi %p, %c : index
    %n = arith.index_cast %q : index to i32
    %g = arith.sitofp %n : i32 to f32
    %h = arith.addf %e, %g : f32
    tile.yield %h : f32
  } : !a ins(!a, !v)
  tile.copy %acc to %Y[%i, %i, %i, %i] : !a to !Y
  return
}

// -----

!X = memref<?x?x?x?xf16, strided<[?, ?, ?, 1]>, #tile.space<global>>
!r = memref<3x8x16x64xf16, #tile.space<shared>>
!x = memref<8x16x64xf16, strided<[1024, 64, 1], offset: ?>, #tile.space<shared>>
!m = memref<128x64xf16, strided<[64, 1], offset: ?>, #tile.space<shared>>
!l = memref<128x64xf16, #tile.space<local>>
!b = memref<8x16x64xf16, #tile.space<local>>

// Slots of a ring are matrices, and so is a tile that one of them is copied to.

// CHECK-LABEL: func.func @slots
// CHECK: %[[RING:.*]] = tile.alloc "ring" : memref<3x128x64xf16
// CHECK: %[[WHOLE:.*]] = tile.alloc "whole" : memref<128x64xf16, #tile.space<local>>
// CHECK: %[[SLOT:.*]] = memref.subview %[[RING]][%{{.*}}, 0, 0] [1, 128, 64] [1, 1, 1]
// CHECK: tile.copy %{{.*}} to %[[SLOT]] rows [8, 16]
// CHECK: tile.copy %[[SLOT]] to %[[WHOLE]] :
// CHECK: tile.copy %[[SLOT]] to %{{.*}} :
func.func @slots(%X: !X, %i: index) attributes {tile.kernel} {
  %ring = tile.alloc "ring" : !r
  %whole = tile.alloc "whole" : !b
  %local = tile.alloc "local" : !l
  %slot = memref.subview %ring[%i, 0, 0, 0] [1, 8, 16, 64] [1, 1, 1, 1] : !r to !x
  tile.copy %X[%i, %i, %i, %i] to %slot : !X to !x
  tile.copy %slot to %whole : !x to !b
  %m = memref.collapse_shape %slot [[0, 1], [2]] : !x into !m
  tile.copy %m to %local : !m to !l
  return
}
