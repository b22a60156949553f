// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s

// Of an accumulator with 64 rows, each warp reaches 16, four registers for eight columns.
// 48 columns are 24 registers: 16 and 8.

#l = #tile.space<local>
#t = #tile.space<tensor>

// CHECK-LABEL: func.func @k(
// CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %c32_i32
// CHECK: tcgen05.st.sync.aligned.16x256b.x4.b32 [$0], {$1,{{.*}}$16};
// CHECK: tcgen05.st.sync.aligned.16x256b.x2.b32 [$0], {$1,{{.*}}$8};{{.*}} %[[AT]],
// CHECK: tcgen05.ld.sync.aligned.16x256b.x4.b32
// CHECK: tcgen05.ld.sync.aligned.16x256b.x2.b32
func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
  %zero = arith.constant 0.0 : f32
  %cells = nv.tcgen05.alloc "cells" : memref<64x48xf32, #t>
  %acc = tile.alloc "acc" : memref<64x48xf32, #l>
  tile.fill %acc, %zero : memref<64x48xf32, #l>, f32
  nv.tcgen05.store %acc to %cells : memref<64x48xf32, #l>, memref<64x48xf32, #t>
  nv.tcgen05.wait_store
  nv.tcgen05.load %cells to %acc : memref<64x48xf32, #t>, memref<64x48xf32, #l>
  nv.tcgen05.wait_load
  nv.sync
  nv.tcgen05.dealloc %cells : memref<64x48xf32, #t>
  return
}
