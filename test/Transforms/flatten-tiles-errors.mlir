// RUN: penstock-opt %s --tile-flatten-tiles --split-input-file -verify-diagnostics

!a = memref<8x16x32xf32, #tile.space<local>>
!s = memref<128x32xf32, #tile.space<local>>
!r = memref<8x32xf32, #tile.space<local>>
func.func @reduced(%zero: f32) attributes {tile.kernel} {
  %acc = tile.alloc "acc" : !a
  %sum = tile.alloc "sum" : !r
  // expected-note @+1 {{the tile is used as a matrix here}}
  %s = memref.collapse_shape %acc [[0, 1], [2]] : !a into !s
  tile.fill %s, %zero : !s, f32
  // expected-error @+2 {{`reduce` uses `acc` (8x16x32 f32, local) with its own dimensions, and its rows are those of a matrix}}
  // expected-note @+1 {{use as_matrix(acc) here, too}}
  tile.reduce sum %acc along 1 into %sum : !a, !r
  return
}

// -----

// An index is checked along its own dimension, which a matrix does not have.
!a = memref<8x16x32xf32, #tile.space<shared>>
!s = memref<128x32xf32, #tile.space<shared>>
func.func @indexed(%zero: f32, %i: index) attributes {tile.kernel} {
  %acc = tile.alloc "acc" : !a
  // expected-note @+1 {{the tile is used as a matrix here}}
  %s = memref.collapse_shape %acc [[0, 1], [2]] : !a into !s
  tile.fill %s, %zero : !s, f32
  // expected-error @+2 {{`load` uses `acc`}}
  // expected-note @+1 {{use as_matrix(acc) here, too}}
  %e = tile.load %acc[%i, %i, %i] : !a -> f32
  tile.print "{}" %e : f32
  return
}

// -----

// Rows of a vector of pixels have no counterpart.
!a = memref<8x16x32xf32, #tile.space<local>>
!s = memref<128x32xf32, #tile.space<local>>
!v = memref<8xf32, #tile.space<local>>
func.func @broadcast(%zero: f32) attributes {tile.kernel} {
  %acc = tile.alloc "acc" : !a
  %v = tile.alloc "v" : !v
  // expected-note @+1 {{the tile is used as a matrix here}}
  %s = memref.collapse_shape %acc [[0, 1], [2]] : !a into !s
  tile.fill %s, %zero : !s, f32
  // expected-error @+2 {{`set` uses `acc`}}
  // expected-note @+1 {{use as_matrix(acc) here, too}}
  tile.map %acc ins(%v) dims [[0]] {
  ^bb0(%x: f32):
    tile.yield %x : f32
  } : !a ins(!v)
  return
}

// -----

// Two views that merge different dimensions.
!r = memref<2x8x16x32xf32, #tile.space<shared>>
!x = memref<8x16x32xf32, strided<[512, 32, 1]>, #tile.space<shared>>
!m = memref<128x32xf32, strided<[32, 1]>, #tile.space<shared>>
!s = memref<256x32xf32, #tile.space<shared>>
func.func @twice(%zero: f32) attributes {tile.kernel} {
  %ring = tile.alloc "ring" : !r
  // expected-note @+1 {{the tile is used as a matrix here}}
  %s = memref.collapse_shape %ring [[0, 1, 2], [3]] : !r into !s
  tile.fill %s, %zero : !s, f32
  %slot = memref.subview %ring[0, 0, 0, 0] [1, 8, 16, 32] [1, 1, 1, 1] : !r to !x
  // expected-error @+2 {{`as_matrix` uses `ring`}}
  // expected-note @+1 {{use as_matrix(ring) here, too}}
  %m = memref.collapse_shape %slot [[0, 1], [2]] : !x into !m
  tile.fill %m, %zero : !m, f32
  return
}
