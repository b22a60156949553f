// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-start-kernel=aligned-rows=true --nv-bind-engines --nv-place-accumulators --split-input-file | FileCheck %s

// Softmax between two products: scores are fresh in every iteration and the result is rescaled by
// threads, so that both leave and enter tensor memory there. The copies have the stage of what
// they stand beside.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @attention
// CHECK: %[[OUT:.*]] = nv.tcgen05.alloc "out"
// CHECK: %[[RESULT:.*]] = tile.alloc "out"
// CHECK: %[[S:.*]] = nv.tcgen05.alloc "S"
// CHECK: %[[SCORES:.*]] = tile.alloc "S"
// CHECK: scf.for
// CHECK-NEXT: tile.gemm %{{.*}} into %[[S]] overwrite {{.*}}<tcgen05.mma>, tile.scheduled = #tile.scheduled<stage = 0, order = 0>
// The registers of S are written in the stage of their reader.
// CHECK-NEXT: tile.copy %[[S]] to %[[SCORES]] {nv.engine = #nv.engine<tcgen05.ld>, tile.scheduled = #tile.scheduled<stage = 1, order = 1>}
// CHECK-NEXT: tile.map
// CHECK: tile.scheduled = #tile.scheduled<stage = 1, order = 2>
// CHECK: tile.copy %[[RESULT]] to %[[OUT]] {nv.engine = #nv.engine<tcgen05.st>, tile.scheduled = #tile.scheduled<stage = 1, order = 3>}
// CHECK-NEXT: tile.gemm %{{.*}} into %[[OUT]] {nv.engine = #nv.engine<tcgen05.mma>, tile.scheduled = #tile.scheduled<stage = 1, order = 4>}
// CHECK-NEXT: tile.copy %[[OUT]] to %[[RESULT]] {nv.engine = #nv.engine<tcgen05.ld>, tile.scheduled = #tile.scheduled<stage = 1, order = 5>}
// CHECK-NEXT: tile.map
// CHECK: tile.scheduled = #tile.scheduled<stage = 1, order = 6>
func.func @attention(%n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %Q = tile.alloc "Q" : memref<128x64xf16, #s>
  %K = tile.alloc "K" : memref<64x64xf16, #s>
  %P = tile.alloc "P" : memref<128x64xf16, #s>
  %out = tile.alloc "out" : memref<128x64xf32, #l>
  %S = tile.alloc "S" : memref<128x64xf32, #l>
  scf.for %k = %c0 to %n step %c1 {
    tile.gemm %Q, %K into %S overwrite {tile.scheduled = #tile.scheduled<stage = 0, order = 0>} : memref<128x64xf16, #s>, memref<64x64xf16, #s>, memref<128x64xf32, #l>
    tile.map %P ins(%S) dims [[0, 1]] {
    ^bb0(%x: f32):
      %0 = arith.truncf %x : f32 to f16
      tile.yield %0 : f16
    } {tile.scheduled = #tile.scheduled<stage = 1, order = 1>} : memref<128x64xf16, #s> ins(memref<128x64xf32, #l>)
    tile.gemm %P, %K into %out {tile.scheduled = #tile.scheduled<stage = 1, order = 2>} : memref<128x64xf16, #s>, memref<64x64xf16, #s>, memref<128x64xf32, #l>
    tile.map %out ins(%out) dims [[0, 1]] {
    ^bb0(%x: f32):
      %0 = arith.negf %x : f32
      tile.yield %0 : f32
    } {tile.scheduled = #tile.scheduled<stage = 1, order = 3>} : memref<128x64xf32, #l> ins(memref<128x64xf32, #l>)
  } {tile.schedule = #tile.schedule<stage = [0, 1, 1, 1], order = [0, 1, 2, 3]>}
  return
}

// -----

// Only 512 columns: the third product is done by mma.sync.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @columns
// CHECK-COUNT-2: nv.tcgen05.alloc
// CHECK-NOT: nv.tcgen05.alloc
// CHECK: tile.gemm {{.*}} {nv.engine = #nv.engine<tcgen05.mma>}
// CHECK: tile.gemm {{.*}} {nv.engine = #nv.engine<tcgen05.mma>}
// CHECK: tile.gemm {{.*}} {nv.engine = #nv.engine<mma.sync>, nv.engine_reason = "tensor memory has 512 columns; this accumulator takes 256, and those before it 512"}
func.func @columns() attributes {tile.kernel, nv.tile_program, nv.threads = 512 : i64} {
  %A = tile.alloc "A" : memref<128x64xf16, #s>
  %B = tile.alloc "B" : memref<64x256xf16, #s>
  %x = tile.alloc "x" : memref<128x256xf32, #l>
  %y = tile.alloc "y" : memref<128x256xf32, #l>
  %z = tile.alloc "z" : memref<128x256xf32, #l>
  tile.gemm %A, %B into %x : memref<128x64xf16, #s>, memref<64x256xf16, #s>, memref<128x256xf32, #l>
  tile.gemm %A, %B into %y : memref<128x64xf16, #s>, memref<64x256xf16, #s>, memref<128x256xf32, #l>
  tile.gemm %A, %B into %z : memref<128x64xf16, #s>, memref<64x256xf16, #s>, memref<128x256xf32, #l>
  return
}
