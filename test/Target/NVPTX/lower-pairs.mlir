// RUN: penstock-opt %s -split-input-file --tile-attach-target=target=sm_100a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s

// Two elements at a time, where one instruction of Blackwell computes both.

#l = #tile.space<local>

// The difference and the square of two elements take one instruction each.
// CHECK-LABEL: func.func @alone(
// CHECK: arith.subf {{.*}} : vector<2xf32>
// CHECK: arith.mulf {{.*}} : vector<2xf32>
func.func @alone() attributes {tile.kernel, nv.threads = 128 : i64} {
  %mean = arith.constant 2.0 : f32
  %x = tile.alloc "x" : memref<128x128xf32, #l>
  %sum = tile.alloc "sum" : memref<128xf32, #l>
  tile.fill %x, %mean : memref<128x128xf32, #l>, f32
  tile.map %x ins(%x) dims [[0, 1]] {
  ^bb0(%e: f32):
    %d = arith.subf %e, %mean : f32
    %s = arith.mulf %d, %d : f32
    tile.yield %s : f32
  } : memref<128x128xf32, #l> ins(memref<128x128xf32, #l>)
  tile.reduce sum %x along 1 into %sum : memref<128x128xf32, #l>, memref<128xf32, #l>
  return
}

// -----

#l = #tile.space<local>

// The sum may be fused with the square. That saves as much as pairs, and elements need not be
// brought together in a pair of registers.
// CHECK-LABEL: func.func @fused(
// CHECK-NOT: vector<2xf32>
// CHECK: arith.mulf {{.*}} fastmath<contract> : f32
// CHECK-NOT: vector<2xf32>
// CHECK: return
func.func @fused() attributes {tile.kernel, nv.threads = 128 : i64} {
  %mean = arith.constant 2.0 : f32
  %x = tile.alloc "x" : memref<128x128xf32, #l>
  %sum = tile.alloc "sum" : memref<128xf32, #l>
  tile.fill %x, %mean : memref<128x128xf32, #l>, f32
  tile.map %x ins(%x) dims [[0, 1]] {
  ^bb0(%e: f32):
    %d = arith.subf %e, %mean fastmath<contract> : f32
    %s = arith.mulf %d, %d fastmath<contract> : f32
    tile.yield %s : f32
  } : memref<128x128xf32, #l> ins(memref<128x128xf32, #l>)
  tile.reduce sum %x along 1 into %sum {tile.contract} : memref<128x128xf32, #l>, memref<128xf32, #l>
  return
}
