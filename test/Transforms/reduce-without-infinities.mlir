// RUN: penstock-opt %s --tile-lower-launch --tile-lower-to-loops | FileCheck %s

// A maximum starts with the smallest number where a type has no infinity: -inf
// would be rounded to NaN.

!s = memref<4x8xf32, #tile.space<shared>>
!v = memref<4xf8E4M3FN, #tile.space<local>>

// CHECK-LABEL: func.func @k(
// CHECK: arith.constant -4.480000e+02 : f8E4M3FN
func.func @k(%A: memref<?x?xf32, strided<[?, 1]>, #tile.space<global>> {tile.access = "in"}) attributes {tile.kernel} {
  %s = tile.alloc "s" : !s
  %v = tile.alloc "v" : !v
  tile.reduce max %s along 1 into %v : !s, !v
  return
}
