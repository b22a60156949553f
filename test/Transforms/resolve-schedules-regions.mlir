// RUN: penstock-opt %s --tile-resolve-schedules -split-input-file -verify-diagnostics | FileCheck %s

// What statements are known to touch, and what may not be taken for granted.

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>
!h = memref<4xi32, strided<[1], offset: ?>, #tile.space<shared>>

// The part that is written is not the part that is read, or that is unknown: the
// tile is carried, and the copy may not overtake its use.
func.func @unknown_part(%A: !t {tile.access = "in"}, %n: index, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    %r = arith.remsi %k, %c2 : index
    %o = arith.muli %r, %c4 : index
    %w = memref.subview %s[%o] [4] [1] : !s to !h
    // expected-error @+4 {{PS1203: this schedule lets `copy a tile -> s` overwrite `s`}}
    // expected-note @+3 {{label: writes s for iteration k+1}}
    // expected-note @+2 {{help: give `copy a tile -> s` stage 1 or later}}
    // expected-note @+1 {{help: `s` has one version: `copy s -> a tile` reads s as an earlier}}
    tile.copy %A[%k] to %w : !t to !h
    // expected-note @+2 {{still reading s}}
    // expected-note @+1 {{label}}
    tile.copy %s to %C[%k] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>

// One access at an offset that is not affine says nothing of the others: the
// first two stores lie apart.
// CHECK-LABEL: func.func @others_stay_known
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 1>
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 0>
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 2>
func.func @others_stay_known(%n: index, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %s to %C[%c0] : !s to !t
    tile.copy %s to %C[%c8] : !s to !t
    %r = arith.remsi %k, %c2 : index
    tile.copy %s to %C[%r] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 0, 0], order = [1, 0, 2]>}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>

// Statements under opposite conditions never meet in one iteration.
// CHECK-LABEL: func.func @opposite
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 1>
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 0>
func.func @opposite(%n: index, %F: memref<?xi1, strided<[1]>, #tile.space<global>> {tile.access = "in"}, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %true = arith.constant true
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    %f = tile.load %F[%k] : memref<?xi1, strided<[1]>, #tile.space<global>> -> i1
    %not = arith.xori %f, %true : i1
    scf.if %f {
      tile.copy %s to %C[%o] : !s to !t
    }
    scf.if %not {
      tile.copy %s to %C[%o] : !s to !t
    }
  } {tile.schedule = #tile.schedule<stage = [0, 0], order = [1, 0]>}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>

// A loop inside of the body may run no iteration at all, so that its write is
// not one that the reader can rely on.
func.func @empty_inner_loop(%A: !t {tile.access = "in"}, %n: index, %m: index, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    // expected-error @+4 {{PS1203: this schedule lets `loop` overwrite `s`}}
    // expected-note @+3 {{label: writes s for iteration k+1}}
    // expected-note @+2 {{help: give `loop` stage 1 or later}}
    // expected-note @+1 {{help: `s` has one version: `copy s -> a tile` reads s as an earlier}}
    scf.for %j = %c0 to %m step %c1 {
      tile.copy %A[%k] to %s : !t to !s
    }
    // expected-note @+2 {{still reading s}}
    // expected-note @+1 {{label}}
    tile.copy %s to %C[%k] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>

// Either branch fills the tile, so each iteration may have its own.
// CHECK-LABEL: func.func @either_branch
// CHECK: #tile.scheduled<stage = 0, order = 0>
// CHECK: #tile.scheduled<stage = 0, order = 1>
// CHECK: #tile.scheduled<stage = 1, order = 2>
func.func @either_branch(%A: !t {tile.access = "in"}, %B: !t {tile.access = "inout"}, %n: index, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %i0 = arith.constant 0 : i32
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    %old = tile.atomic add %i0, %B[%k] : i32, !t -> i32
    %c = arith.cmpi ne, %old, %i0 : i32
    scf.if %c {
      tile.copy %A[%o] to %s : !t to !s
    } else {
      tile.fill %s, %i0 : !s, i32
    }
    tile.copy %s to %C[%o] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 0, 1], order = [0, 1, 2]>}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>

// A loop that only copies has nothing that copies could run ahead of.
func.func @only_copies(%A: !t {tile.access = "in"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tile.alloc "s" : !s
  // expected-error @+2 {{nothing in this loop can be pipelined: all of its statements copy}}
  // expected-note @+1 {{help: write a plain loop}}
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %A[%k] to %s : !t to !s
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>
!l = memref<4xi32, strided<[1]>, #tile.space<shared>>
!h = memref<4xi32, strided<[1], offset: 4>, #tile.space<shared>>

// A group that writes both halves of a tile before it reads the tile reads
// nothing of an earlier iteration: the tile is not carried.
// CHECK-LABEL: func.func @halves
// CHECK: #tile.scheduled<stage = 0, order = 0>
// CHECK: #tile.scheduled<stage = 1, order = 1>
func.func @halves(%A: !t {tile.access = "in"}, %n: index, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %i3 = arith.constant 3 : i32
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    tile.statement "g" {
      %low = memref.subview %s[0] [4] [1] : !s to !l
      %high = memref.subview %s[4] [4] [1] : !s to !h
      tile.copy %A[%o] to %low : !t to !l
      tile.fill %high, %i3 : !h, i32
      tile.map %s ins(%s) dims [[0]] {
      ^bb0(%e: i32):
        %v = arith.muli %e, %i3 : i32
        tile.yield %v : i32
      } : !s ins(!s)
    }
    tile.copy %s to %C[%o] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>
!l = memref<4xi32, strided<[1]>, #tile.space<shared>>

// With one half written, the other is still that of the iteration before.
func.func @one_half(%A: !t {tile.access = "in"}, %n: index, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %i3 = arith.constant 3 : i32
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    // expected-error @+4 {{PS1203: this schedule lets `g` overwrite `s`}}
    // expected-note @+3 {{label: writes s for iteration k+1}}
    // expected-note @+2 {{help: give `g` stage 1 or later}}
    // expected-note @+1 {{help: `s` has one version: `g` reads s as an earlier iteration left it}}
    tile.statement "g" {
      %low = memref.subview %s[0] [4] [1] : !s to !l
      tile.copy %A[%o] to %low : !t to !l
      tile.map %s ins(%s) dims [[0]] {
      ^bb0(%e: i32):
        %v = arith.muli %e, %i3 : i32
        tile.yield %v : i32
      } : !s ins(!s)
    }
    // expected-note @+2 {{still reading s}}
    // expected-note @+1 {{label}}
    tile.copy %s to %C[%o] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>
!h = memref<4xi32, strided<[1], offset: ?>, #tile.space<shared>>

// An inner loop that fills a tile part by part fills it: the tile has versions.
// CHECK-LABEL: func.func @part_by_part
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 0>
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 1>
func.func @part_by_part(%A: !t {tile.access = "in"}, %n: index, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    scf.for %r = %c0 to %c2 step %c1 {
      %in = arith.muli %r, %c4 : index
      %from = arith.addi %o, %in : index
      %part = memref.subview %s[%in] [4] [1] : !s to !h
      tile.copy %A[%from] to %part : !t to !h
    }
    tile.copy %s to %C[%o] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>
!h = memref<4xi32, strided<[1], offset: ?>, #tile.space<shared>>

// With one round less, half of it is what an earlier iteration left.
func.func @one_part(%A: !t {tile.access = "in"}, %n: index, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    // expected-error @+4 {{PS1203: this schedule lets `loop` overwrite `s`}}
    // expected-note @+3 {{label: writes s for iteration k+1}}
    // expected-note @+2 {{help: give `loop` stage 1 or later}}
    // expected-note @+1 {{help: `s` has one version}}
    scf.for %r = %c0 to %c1 step %c1 {
      %in = arith.muli %r, %c4 : index
      %from = arith.addi %o, %in : index
      %part = memref.subview %s[%in] [4] [1] : !s to !h
      tile.copy %A[%from] to %part : !t to !h
    }
    // expected-note @+2 {{still reading s}}
    // expected-note @+1 {{label}}
    tile.copy %s to %C[%o] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  return
}

// -----

!t = memref<?x?xi32, strided<[?, 1]>, #tile.space<global>>
!s = memref<8x16xi32, #tile.space<shared>>
!row = memref<8x4xi32, strided<[16, 1], offset: 4>, #tile.space<shared>>
!turned = memref<4x8xi32, strided<[1, 16], offset: 4>, #tile.space<shared>>
!first = memref<2x8xi32, strided<[1, 16], offset: 4>, #tile.space<shared>>
!second = memref<2x8xi32, strided<[1, 16], offset: 6>, #tile.space<shared>>

// Parts of a transposed part: columns 4, 5 and columns 6, 7 lie apart, so that the
// two fills may change places.
// CHECK-LABEL: func.func @part_of_a_part
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 1>
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 0>
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 2>
func.func @part_of_a_part(%n: index, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i3 = arith.constant 3 : i32
  %s = tile.alloc "s" : !s
  tile.fill %s, %i3 : !s, i32
  scf.for %k = %c0 to %n step %c1 {
    %row = memref.subview %s[0, 4] [8, 4] [1, 1] : !s to !row
    %turned = memref.transpose %row (i, j) -> (j, i) : !row to !turned
    %first = memref.subview %turned[0, 0] [2, 8] [1, 1] : !turned to !first
    %second = memref.subview %turned[2, 0] [2, 8] [1, 1] : !turned to !second
    tile.fill %first, %i3 : !first, i32
    tile.fill %second, %i3 : !second, i32
    tile.copy %s to %C[%c0, %k] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 0, 0], order = [1, 0, 2]>}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>
!l = memref<4xi32, strided<[1]>, #tile.space<shared>>

// Who prints a tile reads it, and sees the half that no iteration writes.
func.func @printed(%A: !t {tile.access = "in"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i3 = arith.constant 3 : i32
  %s = tile.alloc "s" : !s
  tile.fill %s, %i3 : !s, i32
  scf.for %k = %c0 to %n step %c1 {
    %low = memref.subview %s[0] [4] [1] : !s to !l
    // expected-error @+4 {{PS1203: this schedule lets `copy a tile -> s` overwrite `s`}}
    // expected-note @+3 {{label: writes s for iteration k+1}}
    // expected-note @+2 {{help: give `copy a tile -> s` stage 1 or later}}
    // expected-note @+1 {{help: `s` has one version}}
    tile.copy %A[%k] to %low : !t to !l
    // expected-note @+2 {{still reading s}}
    // expected-note @+1 {{label}}
    tile.print "{}" %s : !s
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>
!l = memref<4xi32, strided<[1]>, #tile.space<shared>>
!u = memref<4xi32, strided<[1], offset: 4>, #tile.space<shared>>
!h = memref<4xi32, strided<[1], offset: ?>, #tile.space<shared>>

// Two halves are the whole, also for who reads at an unknown offset.
// CHECK-LABEL: func.func @two_halves
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 0>
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 1>
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 2>
func.func @two_halves(%A: !t {tile.access = "in"}, %n: index, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    %low = memref.subview %s[0] [4] [1] : !s to !l
    %high = memref.subview %s[4] [4] [1] : !s to !u
    tile.copy %A[%k] to %low : !t to !l
    tile.copy %A[%k] to %high : !t to !u
    %r = arith.remsi %k, %c2 : index
    %o = arith.muli %r, %c4 : index
    %part = memref.subview %s[%o] [4] [1] : !s to !h
    tile.copy %part to %C[%k] : !h to !t
  } {tile.schedule = #tile.schedule<stage = [0, 0, 1], order = [0, 1, 2]>}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>

// What a group stores in a tensor and loads again is its own: the store that comes
// late is written over, and not missed by the load.
func.func @through_a_tensor(%n: index, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %i3 = arith.constant 3 : i32
  %s = tile.alloc "s" : !s
  %u = tile.alloc "u" : !s
  tile.fill %s, %i3 : !s, i32
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    %next = arith.addi %o, %c8 : index
    // expected-error @+5 {{PS1202: this schedule lets `g` write `a tensor` before the earlier write}}
    // expected-note @+4 {{label: writes a tensor for iteration k+1}}
    // expected-note @+3 {{help: give `g` stage 1 or later}}
    // expected-note @+2 {{help: `a tensor` has one version}}
    // expected-note @+1 {{help: exchanged writes are refused}}
    tile.statement "g" {
      tile.copy %s to %C[%o] : !s to !t
      tile.copy %C[%o] to %u : !t to !s
    }
    // expected-note @+2 {{still writing a tensor}}
    // expected-note @+1 {{label}}
    tile.copy %u to %C[%next] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>
!h = memref<4xi32, strided<[1], offset: ?>, #tile.space<shared>>

// Places that follow from one number, and a place that nobody knows, which may lie
// before them.
func.func @before_an_offset(%A: !t {tile.access = "in"}, %n: index, %m: index, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    %high = memref.subview %s[%m] [4] [1] : !s to !h
    tile.copy %A[%k] to %high : !t to !h
    %before = arith.subi %m, %c4 : index
    %low = memref.subview %s[%before] [4] [1] : !s to !h
    // expected-error @+4 {{PS1203: this schedule lets `copy a tile -> s (2)` overwrite `s`}}
    // expected-note @+3 {{label: writes s for iteration k+1}}
    // expected-note @+2 {{help: give `copy a tile -> s (2)` stage 1 or later}}
    // expected-note @+1 {{help: `s` has one version}}
    tile.copy %A[%k] to %low : !t to !h
    %r = arith.remsi %k, %c2 : index
    %o = arith.muli %r, %c4 : index
    %part = memref.subview %s[%o] [4] [1] : !s to !h
    // expected-note @+2 {{still reading s}}
    // expected-note @+1 {{label}}
    tile.copy %part to %C[%k] : !h to !t
  } {tile.schedule = #tile.schedule<stage = [1, 0, 1], order = [0, 1, 2]>}
  return
}
