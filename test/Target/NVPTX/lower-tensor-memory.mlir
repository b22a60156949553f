// RUN: penstock-opt %s --split-input-file --tile-attach-target=target=sm_100a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s

#t = #tile.space<tensor>

// Powers of two for each would be 256 + 256 + 128 columns: one allocation has all three tiles, at
// columns 0, 256 and 416.

// CHECK-LABEL: func.func @together
// CHECK-DAG: %[[ALL:.*]] = arith.constant 512 : i32
// CHECK: tcgen05.alloc{{.*}}, %[[ALL]] :
// CHECK-NOT: tcgen05.alloc
// CHECK: %[[BASE:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> i32
// CHECK: arith.addi %[[BASE]], %c256_i32
// CHECK: arith.addi %[[BASE]], %c416_i32
// CHECK: tcgen05.dealloc{{.*}} %[[BASE]], %{{.*}} :
// CHECK-NOT: tcgen05.dealloc
func.func @together() attributes {tile.kernel, nv.tile_program, nv.threads = 256 : i64} {
  %sums = nv.tcgen05.alloc "sums" : memref<256x128xf32, #t>
  %scores = nv.tcgen05.alloc "scores" : memref<256x80xf32, #t>
  %weights = nv.tcgen05.alloc "weights" : memref<256x80xf16, #t>
  nv.sync
  nv.tcgen05.dealloc %sums : memref<256x128xf32, #t>
  nv.tcgen05.dealloc %scores : memref<256x80xf32, #t>
  nv.tcgen05.dealloc %weights : memref<256x80xf16, #t>
  return
}

// -----

#t = #tile.space<tensor>

// Allocations of their own leave columns to other blocks. The largest one comes first.

// CHECK-LABEL: func.func @apart
// CHECK-DAG: %[[FEW:.*]] = arith.constant 64 : i32
// CHECK-DAG: %[[MANY:.*]] = arith.constant 128 : i32
// CHECK: tcgen05.alloc{{.*}}, %[[MANY]] :
// CHECK: tcgen05.alloc{{.*}}, %[[FEW]] :
// CHECK: tcgen05.dealloc{{.*}}, %[[FEW]] :
// CHECK: tcgen05.dealloc{{.*}}, %[[MANY]] :
func.func @apart() attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %few = nv.tcgen05.alloc "few" : memref<128x64xf32, #t>
  %many = nv.tcgen05.alloc "many" : memref<128x80xf32, #t>
  nv.sync
  nv.tcgen05.dealloc %few : memref<128x64xf32, #t>
  nv.tcgen05.dealloc %many : memref<128x80xf32, #t>
  return
}
