// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s

// Registers are reduced as a tree over chains of neighbors, in which no chain of dependent
// instructions is longer than 8. Each of 64 threads has 16 rows of 4 columns here: two chains of
// 8 elements, and their maximum.

#l = #tile.space<local>

// CHECK-LABEL: func.func @max_of_16
// CHECK: %[[A1:.*]] = arith.maximumf %{{.*}}, %{{.*}} : f32
// CHECK: %[[A2:.*]] = arith.maximumf %[[A1]], %{{.*}} : f32
// CHECK: %[[A3:.*]] = arith.maximumf %[[A2]], %{{.*}} : f32
// CHECK: %[[A4:.*]] = arith.maximumf %[[A3]], %{{.*}} : f32
// CHECK: %[[A5:.*]] = arith.maximumf %[[A4]], %{{.*}} : f32
// CHECK: %[[A6:.*]] = arith.maximumf %[[A5]], %{{.*}} : f32
// CHECK: %[[A7:.*]] = arith.maximumf %[[A6]], %{{.*}} : f32
// CHECK: %[[BOTH:.*]] = arith.maximumf %[[A7]], %{{.*}} : f32
// CHECK-NOT: arith.maximumf %[[BOTH]],
// CHECK: shfl.sync.bfly
// CHECK: arith.maximumf %[[BOTH]],
func.func @max_of_16() attributes {tile.kernel, nv.threads = 64 : i64} {
  %zero = arith.constant 0.0 : f32
  %S = tile.alloc "S" : memref<64x64xf32, #l>
  %top = tile.alloc "top" : memref<64xf32, #l>
  tile.fill %S, %zero : memref<64x64xf32, #l>, f32
  tile.reduce max %S along 0 into %top : memref<64x64xf32, #l>, memref<64xf32, #l>
  return
}
