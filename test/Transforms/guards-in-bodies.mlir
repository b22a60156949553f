// Divisions and accesses to elements become guarded code inside the bodies of
// map and parallel too, which stay well formed after every pass.
// RUN: penstock-opt %s --penstock-native | FileCheck %s

!tensor = memref<?xi32, strided<[1]>, #tile.space<global>>
!tile = memref<4xi32, #tile.space<local>>

// CHECK-LABEL: llvm.func @k(
// CHECK: llvm.sdiv
// CHECK: llvm.atomicrmw add
func.func @k(%I: !tensor) attributes {tile.kernel} {
  %c1 = arith.constant 1 : i32
  %t = tile.alloc : !tile
  tile.fill %t, %c1 : !tile, i32
  tile.map %t ins(%t) dims [[0]] {
  ^bb0(%a: i32):
    %i = tile.element_index 0
    %g = tile.load %I[%i] : !tensor -> i32
    %q = arith.divsi %g, %a : i32
    tile.yield %q : i32
  } : !tile ins(!tile)
  tile.parallel [4] {
  ^bb0(%i: index):
    %x = tile.load %t[%i] : !tile -> i32
    %r = arith.remsi %c1, %x : i32
    tile.store %r, %t[%i] : i32, !tile
    %old = tile.atomic add %x, %I[%i] : i32, !tensor -> i32
    %positive = arith.cmpi sgt, %old, %x : i32
    tile.assert %positive, "counted"
  }
  return
}
