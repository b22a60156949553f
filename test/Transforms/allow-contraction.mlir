// RUN: penstock-opt %s --tile-allow-contraction | FileCheck %s

// Quotients and comparisons keep their meaning; integers have no roundings.
// CHECK-LABEL: @mixed
// CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : f32
// CHECK: arith.subf %{{.*}}, %{{.*}} fastmath<reassoc,contract> : f32
// CHECK: arith.divf %{{.*}}, %{{[a-z0-9]+}} : f32
// CHECK: arith.muli %{{.*}}, %{{[a-z0-9]+}} : i32
func.func @mixed(%x: f32, %y: f32, %i: i32) -> (f32, i32) {
  %0 = arith.mulf %x, %y : f32
  %1 = arith.subf %0, %y fastmath<reassoc> : f32
  %2 = arith.divf %1, %x : f32
  %3 = arith.muli %i, %i : i32
  return %2, %3 : f32, i32
}

// Sums of a reduction may take products; the largest element has no roundings.
// CHECK-LABEL: @reduced
// CHECK: tile.reduce sum {{.*}}tile.contract
// CHECK: tile.reduce max
// CHECK-NOT: tile.contract
func.func @reduced(%x: memref<8x8xf32, #tile.space<local>>, %y: memref<8xf32, #tile.space<local>>) {
  tile.reduce sum %x along 1 into %y : memref<8x8xf32, #tile.space<local>>, memref<8xf32, #tile.space<local>>
  tile.reduce max %x along 1 into %y : memref<8x8xf32, #tile.space<local>>, memref<8xf32, #tile.space<local>>
  return
}
