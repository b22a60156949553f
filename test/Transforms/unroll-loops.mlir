// RUN: penstock-opt %s --tile-unroll-loops -split-input-file -verify-diagnostics | FileCheck %s

!t = memref<?xi32, strided<[1]>, #tile.space<global>>

// Seven iterations by two: three pairs and one left over.
// CHECK-LABEL: func.func @by_two
// CHECK: scf.for
// CHECK-COUNT-2: tile.store
// CHECK: }
// CHECK-COUNT-1: tile.store
// CHECK-NOT: tile.unroll
func.func @by_two(%A: !t) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %v = arith.constant 3 : i32
  scf.for %i = %c0 to %c7 step %c1 {
    tile.store %v, %A[%i] : i32, !t
  } {tile.unroll = 2 : i64}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>

// CHECK-LABEL: func.func @fully
// CHECK-NOT: scf.for
// CHECK-COUNT-3: tile.store
func.func @fully(%A: !t) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %v = arith.constant 3 : i32
  scf.for %i = %c0 to %c3 step %c1 {
    tile.store %v, %A[%i] : i32, !t
  } {tile.unroll = 0 : i64}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>

func.func @unknown(%A: !t) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %A, %c0 : !t
  %v = arith.constant 3 : i32
  // expected-error @+1 {{PS1113: a loop can only be unrolled fully if its trip count is a constant of at most 1024}}
  scf.for %i = %c0 to %n step %c1 {
    tile.store %v, %A[%i] : i32, !t
  } {tile.unroll = 0 : i64}
  return
}

// -----

!t = memref<?xi32, strided<[1]>, #tile.space<global>>

// A step that is known at run time only may be a fault, which the loop as it is
// written reports.
// CHECK-LABEL: func.func @step
// CHECK-COUNT-1: tile.store
// CHECK-NOT: tile.store
func.func @step(%A: !t, %n: index, %step: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1 : i32
  // expected-warning @+2 {{PS1113: this loop is not unrolled, because its step is only known when the kernel runs}}
  // expected-note @+1 {{help: count iterations with a step of 1, and multiply by the step in the body}}
  scf.for %i = %c0 to %n step %step {
    tile.store %v, %A[%i] : i32, !t
  } {tile.unroll = 4 : i64}
  return
}

// -----

!i = memref<i32, #tile.space<local>>

// The slot of a ring of three is 0 at the beginning of each unrolled iteration; its phase is not.
// Nothing is known of the variable that another loop wrote, and of the one that begins with 1 and
// is doubled.
// CHECK-LABEL: func.func @ring
// CHECK: %[[SLOT:.*]] = tile.alloc "slot"
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-NEXT: tile.store %[[ZERO]], %[[SLOT]][]
// CHECK-NEXT: tile.load %[[SLOT]][]
// CHECK: scf.for
// CHECK-NEXT: tile.load %[[SLOT]][]
func.func @ring(%n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %slot = tile.alloc "slot" : !i
  %phase = tile.alloc "phase" : !i
  %other = tile.alloc "other" : !i
  %powers = tile.alloc "powers" : !i
  tile.store %zero, %slot[] : i32, !i
  tile.store %zero, %phase[] : i32, !i
  tile.store %zero, %other[] : i32, !i
  tile.store %one, %powers[] : i32, !i
  scf.for %i = %c0 to %n step %c1 {
    tile.store %one, %other[] : i32, !i
  }
  scf.for %i = %c0 to %n step %c1 {
    %s = tile.load %slot[] : !i -> i32
    %p = tile.load %phase[] : !i -> i32
    %o = tile.load %other[] : !i -> i32
    %power = tile.load %powers[] : !i -> i32
    tile.print "{} {} {} {}" %s, %p, %o, %power : i32, i32, i32, i32
    %sum = arith.addi %s, %one : i32
    %wraps = arith.cmpi sge, %sum, %three : i32
    %back = arith.subi %sum, %three : i32
    %next = arith.select %wraps, %back, %sum : i32
    tile.store %next, %slot[] : i32, !i
    %flip = arith.extui %wraps : i1 to i32
    %flipped = arith.xori %p, %flip : i32
    tile.store %flipped, %phase[] : i32, !i
    tile.store %o, %other[] : i32, !i
    %double = arith.addi %power, %power : i32
    tile.store %double, %powers[] : i32, !i
  } {tile.unroll = 3 : i64}
  return
}

// -----

!b = memref<i1, #tile.space<shared>>

// All threads load a variable in shared memory, which one thread stores between two barriers. A
// store of its constant at the beginning of an iteration would race with loads of the one before.

// CHECK-LABEL: func.func @shared
// CHECK: scf.for
// CHECK-NEXT: tile.load
func.func @shared() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %false = arith.constant false
  %flag = tile.alloc "flag" : !b
  tile.store %false, %flag[] : i1, !b
  scf.for %i = %c0 to %c8 step %c1 {
    %old = tile.load %flag[] : !b -> i1
    tile.store %old, %flag[] : i1, !b
  } {tile.unroll = 2 : i64}
  return
}
