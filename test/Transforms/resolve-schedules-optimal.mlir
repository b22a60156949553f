// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --tile-resolve-schedules -split-input-file -verify-diagnostics | FileCheck %s
// REQUIRES: exact-solver

!A = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!s = memref<128x64xf16, #tile.space<shared>>
!l = memref<128x128xf32, #tile.space<local>>

// Loads run two products ahead, and a slot is refilled after its product: 3 versions. B, whose
// copy is issued before that product, has one more. The schedule keeps its origin.
// CHECK-LABEL: func.func @matmul
// CHECK: tile.alloc "As" versions 3
// CHECK: tile.alloc "Bs" versions 4
// CHECK: tile.alloc "acc" :
// CHECK: #tile.scheduled<stage = 0, order = 2>
// CHECK: #tile.scheduled<stage = 0, order = 0>
// CHECK: #tile.scheduled<stage = 2, order = 1>
func.func @matmul(%A: !A {tile.access = "in"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %As = tile.alloc "As" : !s
  %Bs = tile.alloc "Bs" : !s
  %Bt = memref.transpose %Bs (i, j) -> (j, i) : !s to memref<64x128xf16, affine_map<(d0, d1) -> (d1 * 64 + d0)>, #tile.space<shared>>
  %acc = tile.alloc "acc" : !l
  scf.for %k = %c0 to %n step %c1 {
    %0 = arith.muli %k, %c64 : index
    tile.copy %A[%c0, %0] to %As : !A to !s
    tile.copy %A[%c64, %0] to %Bs : !A to !s
    tile.gemm %As, %Bt into %acc : !s, memref<64x128xf16, affine_map<(d0, d1) -> (d1 * 64 + d0)>, #tile.space<shared>>, !l
  } {tile.schedule = #tile.schedule<solver_seconds = 10>}
  return
}

// -----

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<8xf32, #tile.space<shared>>

// Times cannot express the order that a wait fixes.
func.func @wait(%A: !t {tile.access = "in"}, %B: !t {tile.access = "out"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %A[%k] to %s async "a" : !t to !s
    // expected-error @+2 {{PS1240: `wait` is a wait statement}}
    // expected-note @+1 {{help: state stage and order, or leave waits to the compiler}}
    tile.wait ["a"]
    tile.copy %s to %B[%k] : !s to !t
  } {tile.schedule = #tile.schedule<num_stages = 2, solver_seconds = 10>}
  return
}

// -----

// A loop without statements has nothing to schedule.

// CHECK-LABEL: func.func @empty
// CHECK: scf.for
// CHECK: return
func.func @empty(%n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
  } {tile.schedule = #tile.schedule<solver_seconds = 10>}
  return
}
