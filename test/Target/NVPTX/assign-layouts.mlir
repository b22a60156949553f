// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-assign-spaces --nv-assign-layouts --split-input-file | FileCheck %s

#s = #tile.space<shared>
#l = #tile.space<local>

// Rows of 32 words are eight pieces of 16 bytes, one for each of eight threads; the
// sums lie with the rows they are of, a copy in each of the eight.

// CHECK-LABEL: func.func @reduced
// CHECK: tile.alloc "t" {nv.layout = #nv.layout<"32x32 threads [8:1*4 16:0*1] registers [4:1*1 2:0*16]">}
// CHECK: tile.alloc "sum" {nv.layout = #nv.layout<"32 threads [8:copies 16:0*1] registers [2:0*16]">}
func.func @reduced() attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %t = tile.alloc "t" : memref<32x32xf32, #l>
  %sum = tile.alloc "sum" : memref<32xf32, #l>
  %zero = arith.constant 0.0 : f32
  tile.fill %t, %zero : memref<32x32xf32, #l>, f32
  tile.reduce sum %t along 1 into %sum : memref<32x32xf32, #l>, memref<32xf32, #l>
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>

// mma.sync dictates the accumulator's layout: two columns in each of four lanes, eight
// rows, four warps of 16 rows. The vector is used along rows in the loop and along
// columns once, where a copy is converted.

// CHECK-LABEL: func.func @epilogue
// CHECK: tile.alloc "acc" {nv.layout = #nv.layout<"64x16 threads [4:1*2 8:0*1 4:0*16] registers [2:1*1 2:0*8 2:1*8]">}
// CHECK: %[[V:.*]] = tile.alloc "v" {nv.layout = #nv.layout<"64 threads [4:copies 8:0*1 4:0*16] registers [2:0*8]">}
// CHECK-NEXT: %[[W:.*]] = tile.alloc "v" {nv.layout = #nv.layout<"64 threads [4:0*2 32:copies] registers [2:0*1 8:0*8]">}
// CHECK: tile.gemm
// CHECK: tile.map %acc ins(%acc, %[[V]])
// CHECK: tile.copy %[[V]] to %[[W]]
// CHECK-NEXT: tile.map %wide ins(%[[W]]) dims
func.func @epilogue(%n: index) attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %A = tile.alloc "A" : memref<64x16xf16, #s>
  %B = tile.alloc "B" : memref<16x16xf16, #s>
  %D = tile.alloc "D" : memref<16x64xf16, #s>
  %acc = tile.alloc "acc" : memref<64x16xf32, #l>
  %wide = tile.alloc "wide" : memref<64x64xf32, #l>
  %v = tile.alloc "v" : memref<64xf32, #l>
  tile.gemm %A, %D into %wide overwrite : memref<64x16xf16, #s>, memref<16x64xf16, #s>, memref<64x64xf32, #l>
  scf.for %k = %c0 to %n step %c1 {
    tile.gemm %A, %B into %acc : memref<64x16xf16, #s>, memref<16x16xf16, #s>, memref<64x16xf32, #l>
    tile.map %acc ins(%acc, %v) dims [[0, 1], [0]] {
    ^bb0(%a: f32, %b: f32):
      %d = arith.mulf %a, %b : f32
      tile.yield %d : f32
    } : memref<64x16xf32, #l> ins(memref<64x16xf32, #l>, memref<64xf32, #l>)
  }
  tile.map %wide ins(%v) dims [[1]] {
  ^bb0(%b: f32):
    tile.yield %b : f32
  } : memref<64x64xf32, #l> ins(memref<64xf32, #l>)
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>

// A tile that is sliced moves to shared memory, and its views with it.

// CHECK-LABEL: func.func @sliced
// CHECK: tile.alloc "t" : memref<4x64xf32, #tile.space<shared>>
// CHECK: memref.subview {{.*}} : memref<4x64xf32, #tile.space<shared>> to memref<4x32xf32, strided<[64, 1], offset: 32>, #tile.space<shared>>
func.func @sliced() attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %t = tile.alloc "t" : memref<4x64xf32, #l>
  %zero = arith.constant 0.0 : f32
  %half = memref.subview %t[0, 32] [4, 32] [1, 1] : memref<4x64xf32, #l> to memref<4x32xf32, strided<[64, 1], offset: 32>, #l>
  tile.fill %half, %zero : memref<4x32xf32, strided<[64, 1], offset: 32>, #l>, f32
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>

// Single elements of an accumulator are read from a copy of it.

// CHECK-LABEL: func.func @elements
// CHECK: %[[COPY:.*]] = tile.alloc "acc" : memref<16x8xf32, #tile.space<shared>>
// CHECK: %[[ACC:.*]] = tile.alloc "acc" {nv.layout =
// CHECK: tile.gemm
// CHECK: tile.statement
// CHECK-NEXT: tile.copy %[[ACC]] to %[[COPY]]
// CHECK-NEXT: tile.parallel
// CHECK: tile.load %[[COPY]]
func.func @elements(%C: memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>) attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %A = tile.alloc "A" : memref<16x16xf16, #s>
  %B = tile.alloc "B" : memref<16x8xf16, #s>
  %acc = tile.alloc "acc" : memref<16x8xf32, #l>
  tile.gemm %A, %B into %acc overwrite : memref<16x16xf16, #s>, memref<16x8xf16, #s>, memref<16x8xf32, #l>
  tile.parallel [16, 8] {
  ^bb0(%i: index, %j: index):
    %e = tile.load %acc[%i, %j] : memref<16x8xf32, #l> -> f32
    %old = tile.atomic add %e, %C[%i, %j] : f32, memref<?x?xf32, strided<[?, 1]>, #tile.space<global>> -> f32
  }
  return
}
