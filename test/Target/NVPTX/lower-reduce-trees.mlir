// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads --split-input-file | FileCheck %s

// Registers are reduced as a tree over chains of neighbors, in which no chain of dependent
// instructions is longer than 7. Each of 64 threads has 16 rows of 4 columns here: four chains of 4
// elements, and a tree of two levels.

#l = #tile.space<local>

// CHECK-LABEL: func.func @max_of_16
// CHECK: %[[A1:.*]] = arith.maximumf %{{.*}}, %{{.*}} : f32
// CHECK: %[[A2:.*]] = arith.maximumf %[[A1]], %{{.*}} : f32
// CHECK: %[[A3:.*]] = arith.maximumf %[[A2]], %{{.*}} : f32
// CHECK: %[[HALF:.*]] = arith.maximumf %[[A3]], %{{.*}} : f32
// CHECK: %[[ALL:.*]] = arith.maximumf %[[HALF]], %{{.*}} : f32
// CHECK-NOT: arith.maximumf %[[ALL]],
// CHECK: shfl.sync.bfly
// CHECK: arith.maximumf %[[ALL]],
func.func @max_of_16() attributes {tile.kernel, nv.threads = 64 : i64} {
  %zero = arith.constant 0.0 : f32
  %S = tile.alloc "S" : memref<64x64xf32, #l>
  %top = tile.alloc "top" : memref<64xf32, #l>
  tile.fill %S, %zero : memref<64x64xf32, #l>, f32
  tile.reduce max %S along 0 into %top : memref<64x64xf32, #l>, memref<64xf32, #l>
  return
}

// -----

#l = #tile.space<local>

// Two sums at a time, which are added last: 4 columns of 16 rows take 4 x 7 vector sums.
// CHECK-LABEL: func.func @sum_of_16
// CHECK-COUNT-28: arith.addf {{.*}} : vector<2xf32>
// CHECK-NOT: arith.addf {{.*}} : vector<2xf32>
// CHECK: return
func.func @sum_of_16() attributes {tile.kernel, nv.threads = 64 : i64} {
  %zero = arith.constant 0.0 : f32
  %S = tile.alloc "S" : memref<64x64xf32, #l>
  %sum = tile.alloc "sum" : memref<64xf32, #l>
  tile.fill %S, %zero : memref<64x64xf32, #l>, f32
  tile.reduce sum %S along 0 into %sum : memref<64x64xf32, #l>, memref<64xf32, #l>
  return
}

// -----

#l = #tile.space<local>

// A product is fused with its sum: it takes no instruction of its own.
// CHECK-LABEL: func.func @sum_of_products
// CHECK-NOT: arith.addf {{.*}} : vector<2xf32>
// CHECK: return
func.func @sum_of_products() attributes {tile.kernel, nv.threads = 64 : i64} {
  %zero = arith.constant 0.0 : f32
  %S = tile.alloc "S" : memref<64x64xf32, #l>
  %T = tile.alloc "T" : memref<64x64xf32, #l>
  %sum = tile.alloc "sum" : memref<64xf32, #l>
  tile.fill %S, %zero : memref<64x64xf32, #l>, f32
  tile.map %T ins(%S) dims [[0, 1]] {
  ^bb0(%s: f32):
    %p = arith.mulf %s, %s fastmath<contract> : f32
    tile.yield %p : f32
  } : memref<64x64xf32, #l> ins(memref<64x64xf32, #l>)
  tile.reduce sum %T along 0 into %sum {tile.contract} : memref<64x64xf32, #l>, memref<64xf32, #l>
  return
}
