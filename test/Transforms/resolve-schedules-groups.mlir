// RUN: penstock-opt %s --tile-resolve-schedules -split-input-file -verify-diagnostics | FileCheck %s

// Groups and inner loops of copies from tensors run ahead as copies do.

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>

// CHECK-LABEL: func.func @group
// CHECK: #tile.scheduled<stage = 0, order = 0>
// CHECK: #tile.scheduled<stage = 2, order = 1>
// CHECK: #tile.scheduled<stage = 2, order = 2>
func.func @group(%A: !t {tile.access = "in"}, %n: index, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = tile.alloc "s" : !s
  %u = tile.alloc "u" : !s
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    tile.statement "load" {
      tile.copy %A[%o] to %s : !t to !s
      tile.copy %A[%k] to %u : !t to !s
    }
    tile.copy %s to %C[%o] : !s to !t
    tile.copy %u to %C[%o] : !s to !t
  } {tile.schedule = #tile.schedule<num_stages = 3>}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>
!h = memref<4xi32, strided<[1], offset: ?>, #tile.space<shared>>

// CHECK-LABEL: func.func @loop
// CHECK: #tile.scheduled<stage = 0, order = 0>
// CHECK: #tile.scheduled<stage = 2, order = 1>
func.func @loop(%A: !t {tile.access = "in"}, %n: index, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
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
  } {tile.schedule = #tile.schedule<num_stages = 3>}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<8xi32, #tile.space<shared>>

// With anything else in it, a group is not a copy.
func.func @more_than_copies(%A: !t {tile.access = "in"}, %n: index, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %i3 = arith.constant 3 : i32
  %s = tile.alloc "s" : !s
  %u = tile.alloc "u" : !s
  // expected-error @+2 {{PS1219: nothing in this loop can be pipelined}}
  // expected-note @+1 {{help}}
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    tile.statement "load" {
      tile.copy %A[%o] to %s : !t to !s
      tile.fill %u, %i3 : !s, i32
    }
    tile.copy %s to %C[%o] : !s to !t
    tile.copy %u to %C[%o] : !s to !t
  } {tile.schedule = #tile.schedule<num_stages = 3>}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>
!s = memref<1024xi32, #tile.space<shared>>
!h = memref<4xi32, strided<[1], offset: ?>, #tile.space<shared>>

// Rounds that are too many to be compared with each other are not errors.
// CHECK-LABEL: func.func @many_rounds
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 0>
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 1>
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 2>
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 3>
// CHECK: #tile.scheduled<stage = {{[0-9]+}}, order = 4>
func.func @many_rounds(%n: index, %C: !t {tile.access = "inout"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %i3 = arith.constant 3 : i32
  %s = tile.alloc "s" : !s
  scf.for %k = %c0 to %n step %c1 {
    scf.for %r = %c0 to %c64 step %c1 {
      %o = arith.muli %r, %c8 : index
      %part = memref.subview %s[%o] [4] [1] : !s to !h
      tile.fill %part, %i3 : !h, i32
      tile.copy %part to %C[%o] : !h to !t
    }
    scf.for %r = %c0 to %c64 step %c1 {
      %o = arith.muli %r, %c8 : index
      %part = memref.subview %s[%o] [4] [1] : !s to !h
      tile.fill %part, %i3 : !h, i32
      tile.copy %part to %C[%o] : !h to !t
    }
    scf.for %r = %c0 to %c64 step %c1 {
      %o = arith.muli %r, %c8 : index
      %part = memref.subview %s[%o] [4] [1] : !s to !h
      tile.fill %part, %i3 : !h, i32
      tile.copy %part to %C[%o] : !h to !t
    }
    scf.for %r = %c0 to %c64 step %c1 {
      %o = arith.muli %r, %c8 : index
      %part = memref.subview %s[%o] [4] [1] : !s to !h
      tile.fill %part, %i3 : !h, i32
      tile.copy %part to %C[%o] : !h to !t
    }
    scf.for %r = %c0 to %c64 step %c1 {
      %o = arith.muli %r, %c8 : index
      %part = memref.subview %s[%o] [4] [1] : !s to !h
      tile.fill %part, %i3 : !h, i32
      tile.copy %part to %C[%o] : !h to !t
    }
  } {tile.schedule = #tile.schedule<stage = [0, 0, 0, 0, 0], order = [0, 1, 2, 3, 4]>}
  return
}
