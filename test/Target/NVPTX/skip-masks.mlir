// A mask of scores is left out where the whole tile is inside, also while an MMA is in flight.
// RUN: penstock-opt --tile-attach-target=target=sm_90a --nv-narrow-masks --nv-skip-identities --canonicalize %s | FileCheck %s

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: @masked
// CHECK: scf.for
// CHECK: nv.wgmma.mma
// CHECK: nv.wgmma.wait_group
// CHECK: %[[SOME:.*]] = arith.cmpi sle, %{{.*}}, %c63_i32
// CHECK-NEXT: scf.if %[[SOME]] {
// CHECK-NEXT: tile.map %[[S:.*]] ins(%[[S]])
// CHECK: }
func.func @masked(%x: memref<?xf16>, %n: index) attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %no = arith.constant false
  %least = arith.constant -1.0 : f32
  %N = memref.dim %x, %c0 : memref<?xf16>
  %Q = tile.alloc "Q" : memref<64x64xf16, #s>
  %K = tile.alloc "K" : memref<64x64xf16, #s>
  %S = tile.alloc "S" : memref<64x64xf32, #l>
  scf.for %k = %c0 to %n step %c1 {
    nv.wgmma.fence
    nv.wgmma.mma %Q, %K into %S accumulate %no : memref<64x64xf16, #s>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
    nv.wgmma.commit_group
    nv.wgmma.wait_group 0
    tile.map %S ins(%S) dims [[0, 1]] {
    ^bb0(%e: f32):
      %j = tile.element_index 1
      %0 = arith.cmpi slt, %j, %N : index
      %1 = arith.select %0, %e, %least : f32
      tile.yield %1 : f32
    } : memref<64x64xf32, #l> ins(memref<64x64xf32, #l>)
  }
  return
}
