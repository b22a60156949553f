// RUN: penstock-opt %s --nv-hint-caches --split-input-file | FileCheck %s

// The cache of one head for each block, a tile of keys for each iteration: every key is loaded once.

#g = #tile.space<global>
!T = memref<?x?x?xf16, strided<[?, ?, 1]>, #g>
!s = memref<64x64xf16, #tile.space<shared>>

// CHECK-LABEL: func.func @decode
// CHECK: nv.tma.load %arg0{{.*}} cache "evict_first"
func.func @decode(%K: !T, %heads: index, %n: index) attributes {tile.kernel, nv.tile_program, tile.target = "sm_90a", nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %head = tile.grid %heads : index
  %Ks = tile.alloc "Ks" : !s
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  scf.for %i = %c0 to %n step %c1 {
    %at = arith.muli %i, %c64 : index
    nv.tma.load %K[%head, %at, %c0] to %Ks, %full[%c0] : !T, !s, !nv.barriers<1>
  }
  return
}

// -----

// Not marked: blocks of a row of the grid load the same rows of A, boxes of X overlap, each
// iteration loads the same rows of Y, and Z is loaded twice.

#g = #tile.space<global>
!T = memref<?x?xf16, strided<[?, 1]>, #g>
!s = memref<64x64xf16, #tile.space<shared>>

// CHECK-LABEL: func.func @again
// CHECK-NOT: cache
// CHECK: return
func.func @again(%A: !T, %X: !T, %Y: !T, %Z: !T, %rows: index, %columns: index, %n: index) attributes {tile.kernel, nv.tile_program, tile.target = "sm_90a", nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %grid:2 = tile.grid %rows, %columns : index, index
  %S = tile.alloc "S" : !s
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  %m = arith.muli %grid#0, %c64 : index
  %k = arith.muli %grid#1, %c64 : index
  %half = arith.muli %grid#1, %c32 : index
  nv.tma.load %A[%m, %c0] to %S, %full[%c0] : !T, !s, !nv.barriers<1>
  nv.tma.load %X[%m, %half] to %S, %full[%c0] : !T, !s, !nv.barriers<1>
  scf.for %i = %c0 to %n step %c1 {
    nv.tma.load %Y[%m, %k] to %S, %full[%c0] : !T, !s, !nv.barriers<1>
  }
  nv.tma.load %Z[%m, %k] to %S, %full[%c0] : !T, !s, !nv.barriers<1>
  nv.tma.load %Z[%m, %k] to %S, %full[%c0] : !T, !s, !nv.barriers<1>
  return
}
