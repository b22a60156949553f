// RUN: penstock-opt %s --split-input-file --tile-attach-target=target=sm_90a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s

// Threads read shared tiles element by element, and the first of neighbors in a row with the alignment
// of all, so that LLVM loads them at once.

#s = #tile.space<shared>
#l = #tile.space<local>
!T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>

// CHECK-LABEL: func.func @sum
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> f16
// CHECK: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<3> -> f16
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f16
// CHECK: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<3> -> f16
// CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> f16
func.func @sum(%y: !T) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f16
  %X = tile.alloc "X" : memref<64x64xf16, #s>
  %sums = tile.alloc "sums" : memref<64xf32, #l>
  tile.fill %X, %zero : memref<64x64xf16, #s>, f16
  nv.sync
  tile.reduce sum %X along 1 into %sums : memref<64x64xf16, #s>, memref<64xf32, #l>
  tile.copy %sums to %y[%c0, %c0] dims [1] : memref<64xf32, #l> to !T
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>
!T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>

// CHECK-LABEL: func.func @map
// CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> f16
// CHECK: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<3> -> f16
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f16
func.func @map(%y: !T) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f16
  %X = tile.alloc "X" : memref<64x64xf16, #s>
  %Y = tile.alloc "Y" : memref<64x64xf32, #l>
  tile.fill %X, %zero : memref<64x64xf16, #s>, f16
  nv.sync
  tile.map %Y ins(%X) dims [[0, 1]] {
  ^bb0(%e: f16):
    %wide = arith.extf %e : f16 to f32
    tile.yield %wide : f32
  } : memref<64x64xf32, #l> ins(memref<64x64xf16, #s>)
  tile.copy %Y to %y[%c0, %c0] : memref<64x64xf32, #l> to !T
  return
}
