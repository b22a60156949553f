// RUN: penstock-opt %s --tile-attach-target=target=sm_80 --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s
// RUN: penstock-opt %s --tile-attach-target=target=sm_80 --nv-assign-layouts | FileCheck %s --check-prefix=LAYOUT

// A left operand of mma.sync in registers is not loaded, and is converted if it lies otherwise.

#s = #tile.space<shared>
#l = #tile.space<local>

// Rows of an accumulator of four warps, 64 x 32: what the instruction takes.
// LAYOUT: tile.alloc "P" {nv.layout = #nv.layout<"64x32 threads [4:1*2 8:0*1 4:0*16] registers [2:1*1 2:0*8 4:1*8]">}
// LAYOUT: tile.alloc "S" {nv.layout = #nv.layout<"64x32 threads [4:1*2 8:0*1 4:0*16] registers [2:1*1 2:0*8 4:1*8]">}

// CHECK-LABEL: func.func @k(
// CHECK-NOT: ldmatrix.sync.aligned.m8n8.x4.shared
// CHECK-COUNT-8: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK-NOT: mma.sync
// CHECK: return
func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
  %zero = arith.constant 0.0 : f32
  %V = tile.alloc "V" : memref<32x32xf16, #s>
  %P = tile.alloc "P" : memref<64x32xf16, #l>
  %S = tile.alloc "S" : memref<64x32xf32, #l>
  %acc = tile.alloc "acc" : memref<64x32xf32, #l>
  tile.fill %S, %zero : memref<64x32xf32, #l>, f32
  tile.fill %acc, %zero : memref<64x32xf32, #l>, f32
  tile.map %P ins(%S) dims [[0, 1]] {
  ^bb0(%s: f32):
    %p = arith.truncf %s : f32 to f16
    tile.yield %p : f16
  } : memref<64x32xf16, #l> ins(memref<64x32xf32, #l>)
  tile.gemm %P, %V into %acc : memref<64x32xf16, #l>, memref<32x32xf16, #s>, memref<64x32xf32, #l>
  return
}
