// RUN: penstock-opt %s --nv-load-tiles | FileCheck %s

// A copy under a condition of a loop that is not specialized: threads copy it.

#g = #tile.space<global>
!T = memref<?x?xf16, strided<[?, 1]>, #g>
!s = memref<64x64xf16, #tile.space<shared>>

// CHECK-LABEL: func.func @conditional
// CHECK: scf.if
// CHECK-NEXT: tile.copy
// CHECK-NOT: nv.tma.load
func.func @conditional(%x: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.aligned_rows, tile.target = "sm_90a", nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : !s
  scf.for %i = %c0 to %n step %c1 {
    %some = arith.cmpi sgt, %i, %c1 : index
    scf.if %some {
      tile.copy %x[%i, %c0] to %X {nv.engine = #nv.engine<tma.load>} : !T to !s
    }
  }
  return
}
