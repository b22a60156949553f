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

// Four warps have 64 x 64 each of a square accumulator: in a step of k, a warp loads 64 rows of A
// and 64 columns of B, instead of 32 and 128. Of 128 x 64, each division loads 96: warps along rows.
// All warps share 16 rows, of which one warp has one block of 8 columns, and the others none.

// CHECK-LABEL: func.func @divided
// CHECK: tile.alloc "square" {nv.layout = #nv.layout<"128x128 threads [4:1*2 8:0*1 2:0*64 2:1*64] registers [2:1*1 2:0*8 8:1*8 4:0*16]">}
// CHECK: tile.alloc "narrow" {nv.layout = #nv.layout<"128x64 threads [4:1*2 8:0*1 4:0*32] registers [2:1*1 2:0*8 8:1*8 2:0*16]">}
// CHECK: tile.alloc "wide" {nv.layout = #nv.layout<"64x128 threads [4:1*2 8:0*1 2:0*32 2:1*64] registers [2:1*1 2:0*8 8:1*8 2:0*16]">}
// CHECK: tile.alloc "odd" {nv.layout = #nv.layout<"64x24 threads [4:1*2 8:0*1 4:0*16] registers [2:1*1 2:0*8 3:1*8]">}
// CHECK: tile.alloc "low" {nv.layout = #nv.layout<"16x8 threads [4:1*2 8:0*1 4:1*8] registers [2:1*1 2:0*8]">}
func.func @divided() attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %A = tile.alloc "A" : memref<128x16xf16, #s>
  %B = tile.alloc "B" : memref<16x128xf16, #s>
  %C = tile.alloc "C" : memref<64x16xf16, #s>
  %D = tile.alloc "D" : memref<16x64xf16, #s>
  %E = tile.alloc "E" : memref<16x24xf16, #s>
  %F = tile.alloc "F" : memref<16x16xf16, #s>
  %G = tile.alloc "G" : memref<16x8xf16, #s>
  %square = tile.alloc "square" : memref<128x128xf32, #l>
  %narrow = tile.alloc "narrow" : memref<128x64xf32, #l>
  %wide = tile.alloc "wide" : memref<64x128xf32, #l>
  %odd = tile.alloc "odd" : memref<64x24xf32, #l>
  %low = tile.alloc "low" : memref<16x8xf32, #l>
  tile.gemm %A, %B into %square overwrite : memref<128x16xf16, #s>, memref<16x128xf16, #s>, memref<128x128xf32, #l>
  tile.gemm %A, %D into %narrow overwrite : memref<128x16xf16, #s>, memref<16x64xf16, #s>, memref<128x64xf32, #l>
  tile.gemm %C, %B into %wide overwrite : memref<64x16xf16, #s>, memref<16x128xf16, #s>, memref<64x128xf32, #l>
  tile.gemm %C, %E into %odd overwrite : memref<64x16xf16, #s>, memref<16x24xf16, #s>, memref<64x24xf32, #l>
  tile.gemm %F, %G into %low overwrite : memref<16x16xf16, #s>, memref<16x8xf16, #s>, memref<16x8xf32, #l>
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>

// A maximum of each row stays inside of a warp if the warp has whole rows. One of each column does
// not need that.

// CHECK-LABEL: func.func @softmax
// CHECK: tile.alloc "scores" {nv.layout = #nv.layout<"128x128 threads [4:1*2 8:0*1 4:0*32] registers [2:1*1 2:0*8 16:1*8 2:0*16]">}
// CHECK: tile.alloc "sums" {nv.layout = #nv.layout<"128x128 threads [4:1*2 8:0*1 2:0*64 2:1*64] registers [2:1*1 2:0*8 8:1*8 4:0*16]">}
func.func @softmax() attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %A = tile.alloc "A" : memref<128x16xf16, #s>
  %B = tile.alloc "B" : memref<16x128xf16, #s>
  %scores = tile.alloc "scores" : memref<128x128xf32, #l>
  %sums = tile.alloc "sums" : memref<128x128xf32, #l>
  %top = tile.alloc "top" : memref<128xf32, #l>
  %below = tile.alloc "below" : memref<128xf32, #l>
  tile.gemm %A, %B into %scores overwrite : memref<128x16xf16, #s>, memref<16x128xf16, #s>, memref<128x128xf32, #l>
  tile.gemm %A, %B into %sums overwrite : memref<128x16xf16, #s>, memref<16x128xf16, #s>, memref<128x128xf32, #l>
  tile.reduce max %scores along 1 into %top : memref<128x128xf32, #l>, memref<128xf32, #l>
  tile.reduce sum %sums along 0 into %below : memref<128x128xf32, #l>, memref<128xf32, #l>
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>

// So does a warp that multiplies what it has computed from an accumulator: P is the left operand of
// the second MMA.

// CHECK-LABEL: func.func @chained
// CHECK: tile.alloc "S" {nv.layout = #nv.layout<"64x64 threads [4:1*2 8:0*1 4:0*16] registers [2:1*1 2:0*8 8:1*8]">}
// CHECK: tile.alloc "O" {nv.layout = #nv.layout<"64x64 threads [4:1*2 8:0*1 4:0*16] registers [2:1*1 2:0*8 8:1*8]">}
// CHECK: tile.alloc "X" {nv.layout = #nv.layout<"64x64 threads [4:1*2 8:0*1 2:0*32 2:1*32] registers [2:1*1 2:0*8 4:1*8 2:0*16]">}
func.func @chained() attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %A = tile.alloc "A" : memref<64x16xf16, #s>
  %B = tile.alloc "B" : memref<16x64xf16, #s>
  %P = tile.alloc "P" : memref<64x64xf16, #s>
  %V = tile.alloc "V" : memref<64x64xf16, #s>
  %S = tile.alloc "S" : memref<64x64xf32, #l>
  %O = tile.alloc "O" : memref<64x64xf32, #l>
  %X = tile.alloc "X" : memref<64x64xf32, #l>
  tile.gemm %A, %B into %S overwrite : memref<64x16xf16, #s>, memref<16x64xf16, #s>, memref<64x64xf32, #l>
  tile.map %P ins(%S) dims [[0, 1]] {
  ^bb0(%s: f32):
    %p = arith.truncf %s : f32 to f16
    tile.yield %p : f16
  } : memref<64x64xf16, #s> ins(memref<64x64xf32, #l>)
  tile.gemm %P, %V into %O overwrite : memref<64x64xf16, #s>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  tile.gemm %V, %V into %X overwrite : memref<64x64xf16, #s>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>

// Accumulators of two shapes that are multiplied by one vector agree on its layout by rows only.

// CHECK-LABEL: func.func @agreeing
// CHECK: tile.alloc "acc" {nv.layout = #nv.layout<"64x64 threads [4:1*2 8:0*1 4:0*16] registers [2:1*1 2:0*8 8:1*8]">}
// CHECK: tile.alloc "v" {nv.layout = #nv.layout<"64 threads [4:copies 8:0*1 4:0*16] registers [2:0*8]">}
// CHECK-NOT: tile.copy
func.func @agreeing() attributes {nv.tile_program, nv.threads = 128, tile.kernel} {
  %A = tile.alloc "A" : memref<64x16xf16, #s>
  %B = tile.alloc "B" : memref<16x64xf16, #s>
  %D = tile.alloc "D" : memref<16x24xf16, #s>
  %acc = tile.alloc "acc" : memref<64x64xf32, #l>
  %other = tile.alloc "other" : memref<64x24xf32, #l>
  %v = tile.alloc "v" : memref<64xf32, #l>
  tile.gemm %A, %B into %acc overwrite : memref<64x16xf16, #s>, memref<16x64xf16, #s>, memref<64x64xf32, #l>
  tile.gemm %A, %D into %other overwrite : memref<64x16xf16, #s>, memref<16x24xf16, #s>, memref<64x24xf32, #l>
  tile.map %acc ins(%acc, %v) dims [[0, 1], [0]] {
  ^bb0(%a: f32, %b: f32):
    %d = arith.mulf %a, %b : f32
    tile.yield %d : f32
  } : memref<64x64xf32, #l> ins(memref<64x64xf32, #l>, memref<64xf32, #l>)
  tile.map %other ins(%other, %v) dims [[0, 1], [0]] {
  ^bb0(%a: f32, %b: f32):
    %d = arith.mulf %a, %b : f32
    tile.yield %d : f32
  } : memref<64x24xf32, #l> ins(memref<64x24xf32, #l>, memref<64xf32, #l>)
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
