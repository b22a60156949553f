// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --tile-resolve-schedules -split-input-file -verify-diagnostics | FileCheck %s

// Accumulators of products live in tensor memory: 512 columns of 128 lanes.

!t = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!s = memref<128x64xf16, #tile.space<shared>>
!b = memref<64x256xf16, #tile.space<shared>>
!a = memref<128x256xf32, #tile.space<local>>

// CHECK-LABEL: func.func @two_versions
// CHECK: #tile.scheduled<
func.func @two_versions(%A: !t {tile.access = "in"}, %n: index, %C: !t {tile.access = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %As = tile.alloc "As" : !s
  %Bs = tile.alloc "Bs" : !b
  %acc = tile.alloc "acc" : !a
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c128 : index
    tile.copy %A[%o, %c0] to %As : !t to !s
    tile.gemm %As, %Bs into %acc overwrite : !s, !b, !a
    tile.copy %acc to %C[%o, %c0] : !a to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1, 2], order = [0, 1, 2]>}
  return
}

// -----

!t = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!s = memref<128x64xf16, #tile.space<shared>>
!b = memref<64x256xf16, #tile.space<shared>>
!a = memref<128x256xf32, #tile.space<local>>

func.func @three_versions(%A: !t {tile.access = "in"}, %n: index, %C: !t {tile.access = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %As = tile.alloc "As" : !s
  %Bs = tile.alloc "Bs" : !b
  // expected-note @+1 {{`acc` takes 3 x 256}}
  %acc = tile.alloc "acc" : !a
  // expected-error @+2 {{PS1218: the versions of this loop need 768 columns of tensor memory; there are 512 columns}}
  // expected-note @+1 {{help: at most 2 versions of each buffer fit}}
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c128 : index
    tile.copy %A[%o, %c0] to %As : !t to !s
    tile.gemm %As, %Bs into %acc overwrite : !s, !b, !a
    tile.copy %acc to %C[%o, %c0] : !a to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1, 3], order = [0, 1, 2]>}
  return
}
