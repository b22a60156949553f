// RUN: penstock-opt %s --tile-resolve-schedules -split-input-file -verify-diagnostics | FileCheck %s

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<8xf32, #tile.space<shared>>
!a = memref<8xf32, #tile.space<local>>

// Two copies and a consumer, three stages: the copies run two iterations ahead.
// CHECK-LABEL: func.func @infer
// CHECK: #tile.scheduled<stage = 0, order = 0>
// CHECK: #tile.scheduled<stage = 0, order = 1>
// CHECK: #tile.scheduled<stage = 2, order = 2>
func.func @infer(%A: !t {tile.access = "in"}, %B: !t {tile.access = "in"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = tile.alloc "s" : !s
  %r = tile.alloc "r" : !s
  %acc = tile.alloc "acc" : !a
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    tile.copy %A[%o] to %s : !t to !s
    tile.copy %B[%o] to %r : !t to !s
    tile.map %acc ins(%acc, %s, %r) dims [[0], [0], [0]] {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %p = arith.mulf %y, %z : f32
      %q = arith.addf %x, %p : f32
      tile.yield %q : f32
    } : !a ins(!a, !s, !s)
  } {tile.schedule = #tile.schedule<num_stages = 3>}
  return
}

// -----

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<8xf32, #tile.space<shared>>
!a = memref<8xf32, #tile.space<local>>

// The consumer would run before the copy of its own iteration.
func.func @wrong(%A: !t {tile.access = "in"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tile.alloc "s" : !s
  %acc = tile.alloc "acc" : !a
  scf.for %k = %c0 to %n step %c1 {
    // expected-note @+2 {{still writing s for iteration k}}
    // expected-note @+1 {{label: at stage 1, order 0}}
    tile.copy %A[%k] to %s : !t to !s
    // expected-error @+3 {{PS1201: this schedule lets `set acc` read `s` before `copy a tile -> s` has written it}}
    // expected-note @+2 {{label: reads s for iteration k at stage 0, order 1}}
    // expected-note @+1 {{help: give `set acc` stage 1 or later}}
    tile.map %acc ins(%acc, %s) dims [[0], [0]] {
    ^bb0(%x: f32, %y: f32):
      %q = arith.addf %x, %y : f32
      tile.yield %q : f32
    } : !a ins(!a, !s)
  } {tile.schedule = #tile.schedule<stage = [1, 0], order = [0, 1]>}
  return
}
