// RUN: penstock-opt %s --split-input-file --tile-attach-target=target=sm_90a --tile-lower-launch --tile-guard-faults=keep-elements | FileCheck %s

// Accesses whose indices are proven to lie in their tile have no guard, and neither have shifts by
// less than the width.

!bytes = memref<8x96xi8, #tile.space<shared>>

// Values of 6 bits: index / 4 * 3 + index % 4 / 2 + 1 is at most 95.
// CHECK-LABEL: func.func @packed(
// CHECK: tile.map
// CHECK-NOT: arith.cmpi
// CHECK-NOT: arith.minui
// CHECK: tile.yield
func.func @packed() attributes {tile.kernel} {
  %t = tile.alloc : !bytes
  %zero = arith.constant 0 : i8
  tile.fill %t, %zero : !bytes, i8
  %v = tile.alloc : memref<8x128xi32, #tile.space<local>>
  tile.map %v dims [] {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %r = tile.element_index 0
    %k = tile.element_index 1
    %quarter = arith.divui %k, %c4 : index
    %first = arith.muli %quarter, %c3 : index
    %rest = arith.remui %k, %c4 : index
    %half = arith.divui %rest, %c2 : index
    %low = arith.addi %first, %half : index
    %high = arith.addi %low, %c1 : index
    %byte = tile.load %t[%r, %high] : !bytes -> i8
    %word = arith.extui %byte : i8 to i32
    %by = arith.index_cast %rest : index to i32
    %shifted = arith.shrui %word, %by : i32
    tile.yield %shifted : i32
  } : memref<8x128xi32, #tile.space<local>>
  return
}

// -----

!bytes = memref<8x96xi8, #tile.space<shared>>

// The last index is 96.
// CHECK-LABEL: func.func @outside(
// CHECK: tile.map
// CHECK: arith.cmpi ult
// CHECK: penstock_fault
// CHECK: tile.yield
func.func @outside() attributes {tile.kernel} {
  %t = tile.alloc : !bytes
  %zero = arith.constant 0 : i8
  tile.fill %t, %zero : !bytes, i8
  %v = tile.alloc : memref<8x96xi8, #tile.space<local>>
  tile.map %v dims [] {
    %c1 = arith.constant 1 : index
    %r = tile.element_index 0
    %k = tile.element_index 1
    %next = arith.addi %k, %c1 : index
    %byte = tile.load %t[%r, %next] : !bytes -> i8
    tile.yield %byte : i8
  } : memref<8x96xi8, #tile.space<local>>
  return
}
