// RUN: penstock-opt %s --tile-resolve-schedules -split-input-file -verify-diagnostics | FileCheck %s

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<8xf32, #tile.space<shared>>

// All copies of a stage: each gets a mark.
// CHECK-LABEL: func.func @stages
// CHECK: #tile.scheduled<stage = 0, order = 1, async = true>
// CHECK: #tile.scheduled<stage = 1, order = 0>
func.func @stages(%A: !t {tile.access = "in", tile.name = "A"}, %n: index, %C: !t {tile.access = "out", tile.name = "C"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    %base = tile.bind "base" %o : index
    tile.copy %A[%base] to %s : !t to !s
    tile.copy %s to %C[%base] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [1, 0], async_stages = [0]>}
  return
}

// CHECK-LABEL: func.func @producers
// CHECK: #tile.scheduled<stage = 0, order = 0, async = true, group = 4>
// CHECK: #tile.scheduled<stage = 1, order = 1>
func.func @producers(%A: !t {tile.access = "in", tile.name = "A"}, %n: index, %C: !t {tile.access = "out", tile.name = "C"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    %base = tile.bind "base" %o : index
    tile.copy %A[%base] to %s : !t to !s
    tile.copy %s to %C[%base] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1], async_producers = [1, 0], async_producer_groups = [4, -1]>}
  return
}

// Positions stay as they are, and are checked again.
// CHECK-LABEL: func.func @again
// CHECK: #tile.scheduled<stage = 0, order = 0, async = true>
// CHECK: #tile.scheduled<stage = 1, order = 1>
func.func @again(%A: !t {tile.access = "in", tile.name = "A"}, %n: index, %C: !t {tile.access = "out", tile.name = "C"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    %base = tile.bind "base" %o : index
    tile.copy %A[%base] to %s {tile.scheduled = #tile.scheduled<stage = 0, order = 0, async = true>} : !t to !s
    tile.copy %s to %C[%base] {tile.scheduled = #tile.scheduled<stage = 1, order = 1>} : !s to !t
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// -----

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<8xf32, #tile.space<shared>>

// The older form: the first entry is the scalar's, and is ignored.
// CHECK-LABEL: func.func @older
// CHECK: #tile.scheduled<stage = 0, order = 2>
// CHECK: #tile.scheduled<stage = 1, order = 0>
func.func @older(%A: !t {tile.access = "in", tile.name = "A"}, %n: index, %C: !t {tile.access = "out", tile.name = "C"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    // expected-warning @+2 {{PS1228: the entry for `base` is ignored: it is used from several stages and computed anew at each use}}
    // expected-note @+1 {{help: leave scalars that can be recomputed out of stage and order}}
    %base = tile.bind "base" %o : index
    tile.copy %A[%base] to %s : !t to !s
    tile.copy %s to %C[%base] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [3, 0, 1], order = [1, 2, 0]>}
  return
}

// -----

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<8xf32, #tile.space<shared>>

func.func @no_copy(%A: !t {tile.access = "in", tile.name = "A"}, %n: index, %C: !t {tile.access = "out", tile.name = "C"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = tile.alloc "s" : !s
  // expected-error @+1 {{PS1229: stage 1 is to be asynchronous and has no copy}}
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    %base = tile.bind "base" %o : index
    tile.copy %A[%base] to %s : !t to !s
    tile.copy %s to %C[%base] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1], async_stages = [1]>}
  return
}

// -----

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<8xf32, #tile.space<shared>>

func.func @length(%A: !t {tile.access = "in", tile.name = "A"}, %n: index, %C: !t {tile.access = "out", tile.name = "C"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = tile.alloc "s" : !s
  // expected-error @+2 {{PS1200: async_producers has 1 entries; the loop has 2 scheduled statements and 1 named scalars}}
  // expected-note @+1 {{help: give one entry per scheduled statement, in source order; scalars that can be recomputed take none}}
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    %base = tile.bind "base" %o : index
    // expected-note @+1 {{statement 1: }}
    tile.copy %A[%base] to %s : !t to !s
    // expected-note @+1 {{statement 2: }}
    tile.copy %s to %C[%base] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1], async_producers = [1]>}
  return
}

// -----

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<8xf32, #tile.space<shared>>

func.func @claims(%A: !t {tile.access = "in", tile.name = "A"}, %n: index, %C: !t {tile.access = "out", tile.name = "C"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = tile.alloc "s" : !s
  // A statement without a position.
  // expected-error @+2 {{PS1200: stage has 1 entries; the loop has 2 scheduled statements}}
  // expected-note @+1 {{help: give one entry per scheduled statement, in source order; scalars that can be recomputed take none}}
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    %base = arith.addi %o, %o : index
    // expected-note @+1 {{statement 1: }}
    tile.copy %A[%base] to %s : !t to !s
    // expected-note @+1 {{statement 2: }}
    tile.copy %s to %C[%base] {tile.scheduled = #tile.scheduled<stage = 1, order = 1>} : !s to !t
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}
