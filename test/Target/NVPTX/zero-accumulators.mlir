// RUN: penstock-opt %s --nv-zero-accumulators --split-input-file | FileCheck %s

// Without iterations, threads store zeros, 32 columns at a time; the load is unconditional.

// CHECK-LABEL: func.func @some
// CHECK-SAME: %[[SOME:.*]]: i1
// CHECK: %[[CELLS:.*]] = nv.tcgen05.alloc "acc"
// CHECK: %[[ZEROS:.*]] = tile.alloc : memref<128x32xf32, #tile.space<local>>
// CHECK: %[[NONE:.*]] = arith.xori %[[SOME]], %true
// CHECK-NEXT: scf.if %[[NONE]] {
// CHECK: tile.fill %[[ZEROS]]
// CHECK: %[[FIRST:.*]] = memref.subview %[[CELLS]][0, 0] [128, 32]
// CHECK-NEXT: nv.tcgen05.store %[[ZEROS]] to %[[FIRST]]
// CHECK: %[[SECOND:.*]] = memref.subview %[[CELLS]][0, 32] [128, 32]
// CHECK-NEXT: nv.tcgen05.store %[[ZEROS]] to %[[SECOND]]
// CHECK-NEXT: nv.tcgen05.wait_store
// CHECK-NEXT: }
// CHECK-NEXT: nv.tcgen05.fence after
// CHECK-NEXT: nv.tcgen05.load %[[CELLS]]
// CHECK-NEXT: nv.tcgen05.wait_load
// CHECK-NOT: scf.if
func.func @some(%some: i1) attributes {tile.kernel, nv.tile_program, tile.target = "sm_100a", nv.threads = 128 : i64} {
  %zero = arith.constant 0.0 : f32
  %cells = nv.tcgen05.alloc "acc" : memref<128x64xf32, #tile.space<tensor>>
  %acc = tile.alloc "acc" : memref<128x64xf32, #tile.space<local>>
  tile.fill %acc, %zero : memref<128x64xf32, #tile.space<local>>, f32
  scf.if %some {
    nv.tcgen05.fence after
    nv.tcgen05.load %cells to %acc : memref<128x64xf32, #tile.space<tensor>>, memref<128x64xf32, #tile.space<local>>
    nv.tcgen05.wait_load
  }
  return
}

// -----

// Two warpgroups hold 16 columns of 64 rows each: one store. Threads synchronize after it, because
// loads of fewer columns are divided otherwise.

// CHECK-LABEL: func.func @few
// CHECK: tile.alloc : memref<64x32xf32, #tile.space<local>>
// CHECK: scf.if
// CHECK: tile.fill
// CHECK-NEXT: nv.tcgen05.store %{{.*}} to %acc {nv.planned = 0 : i64} :
// CHECK-NEXT: nv.tcgen05.wait_store
// CHECK-NEXT: nv.sync
// CHECK-NEXT: }
// CHECK-NEXT: nv.tcgen05.load %acc to %{{.*}} {nv.planned = 0 : i64} :
func.func @few(%some: i1) attributes {tile.kernel, nv.tile_program, tile.target = "sm_100a", nv.threads = 256 : i64} {
  %zero = arith.constant 0.0 : f32
  %cells = nv.tcgen05.alloc "acc" : memref<64x32xf32, #tile.space<tensor>>
  %acc = tile.alloc "acc" : memref<64x32xf32, #tile.space<local>>
  tile.fill %acc, %zero : memref<64x32xf32, #tile.space<local>>, f32
  scf.if %some {
    nv.tcgen05.load %cells to %acc : memref<64x32xf32, #tile.space<tensor>>, memref<64x32xf32, #tile.space<local>>
    nv.tcgen05.wait_load
  }
  return
}

// -----

// The registers hold other values than zero: without iterations, these must stay.

// CHECK-LABEL: func.func @ones
// CHECK: scf.if %arg0
// CHECK-NEXT: nv.tcgen05.load
func.func @ones(%some: i1) attributes {tile.kernel, nv.tile_program, tile.target = "sm_100a", nv.threads = 128 : i64} {
  %one = arith.constant 1.0 : f32
  %cells = nv.tcgen05.alloc "acc" : memref<128x64xf32, #tile.space<tensor>>
  %acc = tile.alloc "acc" : memref<128x64xf32, #tile.space<local>>
  tile.fill %acc, %one : memref<128x64xf32, #tile.space<local>>, f32
  scf.if %some {
    nv.tcgen05.load %cells to %acc : memref<128x64xf32, #tile.space<tensor>>, memref<128x64xf32, #tile.space<local>>
    nv.tcgen05.wait_load
  }
  return
}
