// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --tile-resolve-schedules -split-input-file -verify-diagnostics | FileCheck %s

!t = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!s = memref<128x64xf16, #tile.space<shared>>
!a = memref<128x128xf32, #tile.space<local>>

// 7 x 2 x 16384 bytes are 229376 of 232448.
// CHECK-LABEL: func.func @seven
// CHECK: #tile.scheduled<stage = 0, order = 0>
// CHECK: #tile.scheduled<stage = 0, order = 1>
// CHECK: #tile.scheduled<stage = 6, order = 2>
func.func @seven(%A: !t {tile.access = "in"}, %B: !t {tile.access = "in"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %As = tile.alloc "As" : !s
  %Bs = tile.alloc "Bs" : !s
  %acc = tile.alloc "acc" : !a
  %Bt = memref.transpose %Bs (i, j) -> (j, i) : !s to memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c64 : index
    tile.copy %A[%c0, %o] to %As : !t to !s
    tile.copy %B[%c0, %o] to %Bs : !t to !s
    tile.gemm %As, %Bt into %acc : !s, memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>, !a
  } {tile.schedule = #tile.schedule<num_stages = 7>}
  return
}

// -----

!t = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!s = memref<128x64xf16, #tile.space<shared>>
!a = memref<128x128xf32, #tile.space<local>>

func.func @twenty(%A: !t {tile.access = "in"}, %B: !t {tile.access = "in"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  // expected-note @+1 {{`As` takes 20 x 16384}}
  %As = tile.alloc "As" : !s
  // expected-note @+1 {{`Bs` takes 20 x 16384}}
  %Bs = tile.alloc "Bs" : !s
  %acc = tile.alloc "acc" : !a
  %Bt = memref.transpose %Bs (i, j) -> (j, i) : !s to memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
  // expected-error @+2 {{PS1218: the versions of this loop need 640 KiB of shared memory; there are 227 KiB}}
  // expected-note @+1 {{help: num_stages = 7 is the largest that fits}}
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c64 : index
    tile.copy %A[%c0, %o] to %As : !t to !s
    tile.copy %B[%c0, %o] to %Bs : !t to !s
    tile.gemm %As, %Bt into %acc : !s, memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>, !a
  } {tile.schedule = #tile.schedule<num_stages = 20>}
  return
}

// -----

!t = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!s = memref<128x64xf16, #tile.space<shared>>
!a = memref<128x128xf32, #tile.space<local>>

// A tile that the loop does not touch takes its part.
func.func @beside(%A: !t {tile.access = "in"}, %B: !t {tile.access = "in"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %other = tile.alloc "other" : !s
  // expected-note @+1 {{`As` takes 7 x 16384}}
  %As = tile.alloc "As" : !s
  // expected-note @+1 {{`Bs` takes 7 x 16384}}
  %Bs = tile.alloc "Bs" : !s
  %acc = tile.alloc "acc" : !a
  %Bt = memref.transpose %Bs (i, j) -> (j, i) : !s to memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
  // expected-error @+2 {{PS1218: the versions of this loop need 224 KiB of shared memory; there are 211 KiB}}
  // expected-note @+1 {{help: num_stages = 6 is the largest that fits}}
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c64 : index
    tile.copy %A[%c0, %o] to %As : !t to !s
    tile.copy %B[%c0, %o] to %Bs : !t to !s
    tile.gemm %As, %Bt into %acc : !s, memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>, !a
  } {tile.schedule = #tile.schedule<num_stages = 7>}
  return
}

// -----

!s = memref<512x128xf32, #tile.space<shared>>

func.func @one_tile(%n: index) attributes {tile.kernel} {
  // expected-error @+3 {{PS1119: the tiles of `one_tile` need 256 KiB of shared memory; sm_90a has 227 KiB}}
  // expected-note @+2 {{label: `t` (512x128 f32, shared) is the largest, with 256 KiB}}
  // expected-note @+1 {{help: let each block work on smaller tiles}}
  %t = tile.alloc "t" : !s
  return
}
