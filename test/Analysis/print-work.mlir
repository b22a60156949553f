// RUN: penstock-opt %s --nv-print-work=chip=H100 -verify-diagnostics
// RUN: not penstock-opt %s --nv-print-work=chip=H1000 -o /dev/null 2>&1 | FileCheck %s
// CHECK: unknown chip `H1000`

// 64 rows of 256 bytes are copied as two boxes of 128 bytes. A product of 64x64 by k = 64 is four
// instructions of k = 16.
!A = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!wide = memref<64x128xf16, #tile.space<shared>>
!s = memref<64x64xf16, #tile.space<shared>>
!r = memref<64x64xf32, #tile.space<local>>
func.func @k(%A: !A, %more: i1) attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %wide = tile.alloc "wide" : !wide
  %s = tile.alloc "s" : !s
  %acc = tile.alloc "acc" : !r
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  // expected-remark @+1 {{TMA: 16384 bytes in 128 rows, 2 copies}}
  nv.tma.load %A[%c0, %c0] to %wide, %full[%c0] : !A, !wide, !nv.barriers<1>
  // expected-remark @+1 {{threads: 8192 bytes in 64 rows}}
  nv.cp_async %A[%c0, %c0] to %s : !A, !s
  nv.wgmma.fence
  // expected-remark @+1 {{tensor core: 4 products of}}
  nv.wgmma.mma %s, %s into %acc accumulate %more : !s, !s, !r
  return
}
