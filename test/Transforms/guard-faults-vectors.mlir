// RUN: penstock-opt %s --tile-lower-launch --tile-lower-gemm --tile-guard-faults | FileCheck %s

// Rounding to TF32 shifts vectors by a constant; that needs no guard.
// CHECK-LABEL: func.func @k(
// CHECK: arith.shrui %{{.*}} : vector<16xi32>
// CHECK-NOT: penstock_fault
func.func @k() attributes {tile.kernel} {
  %a = tile.alloc "a" : memref<8x8xf32, #tile.space<local>>
  %b = tile.alloc "b" : memref<8x16xf32, #tile.space<local>>
  %c = tile.alloc "c" : memref<8x16xf32, #tile.space<local>>
  tile.gemm %a, %b into %c overwrite precision tf32
    : memref<8x8xf32, #tile.space<local>>, memref<8x16xf32, #tile.space<local>>,
      memref<8x16xf32, #tile.space<local>>
  return
}
