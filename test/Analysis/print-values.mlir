// RUN: penstock-opt %s --tile-print-values=limit=3 -verify-diagnostics

// Sizes are not negative, arguments may be.
func.func @signs(%x: memref<?xf32, strided<[1]>, #tile.space<global>>, %n: index) {
  %c0 = arith.constant 0 : index
  // expected-remark @+1 {{non-negative}}
  %size = memref.dim %x, %c0 : memref<?xf32, strided<[1]>, #tile.space<global>>
  %sum = arith.addi %size, %n : index
  // expected-remark @+1 {{non-negative}}
  %twice = arith.addi %size, %size : index
  return
}

// A remainder by 3 stays below 3, one by 4 does not.
func.func @counters(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-remark @+1 {{below 3}}
    %slot = arith.remui %i, %c3 : index
    %wide = arith.remui %i, %c4 : index
  }
  return
}

// k counts iterations: 8 * (2 * k + 5) is 16 * k + 40.
func.func @offsets(%n: index, %m: index) {
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c5 to %n step %c2 {
    // expected-remark @+1 {{16 * k + 40}}
    %scaled = arith.muli %i, %c8 : index
    // expected-remark @+1 {{16 * k + 40 + 1 invariant}}
    %moved = arith.addi %scaled, %m : index
    // A product of two variables is not affine; both begin at 5 or more.
    // expected-remark @+1 {{non-negative}}
    %square = arith.muli %i, %scaled : index
  }
  return
}

// i8 holds 127: an unknown one plus one may wrap, a masked one does not.
func.func @narrow(%x: i8) {
  %one = arith.constant 1 : i8
  %mask = arith.constant 15 : i8
  // expected-remark @+1 {{may wrap}}
  %next = arith.addi %x, %one : i8
  %low = arith.andi %x, %mask : i8
  // expected-remark @+1 {{exact}}
  %above = arith.addi %low, %one : i8
  return
}
