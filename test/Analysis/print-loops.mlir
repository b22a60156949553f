// RUN: penstock-opt %s --tile-print-loops -o /dev/null 2>&1 | FileCheck %s
// RUN: penstock-opt %s --tile-print-loops=arch=sm_90a -o /dev/null 2>&1 | FileCheck %s --check-prefix=HOPPER
// RUN: not penstock-opt %s --tile-print-loops=arch=sm_1 -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// Iteration k reads columns 64 k to 64 k + 64 of A and writes all of As; the product reads As
// and adds to acc. A loop without a schedule is not printed.
// CHECK-NOT: other
// CHECK: buffer As shared [64, 64] bytes 8192
// CHECK: buffer acc local [64, 64] bytes 16384
// CHECK: statement "copy a tile -> As" copy reads "a tensor"[0:64, 64*k:64] writes As
// CHECK: statement "gemm As, As -> acc" compute reads As reads acc writes acc
// CHECK-NOT: {{^}}loop

// Shared memory of a block without the part that barriers take, and the engine of each statement.
// HOPPER: capacity shared {{[0-9]+}}
// HOPPER: copy async reads "a tensor"[0:64, 64*k:64] writes As engine tma
// HOPPER: compute reads As reads acc writes acc engine tensor
// UNKNOWN: unknown architecture `sm_1`
!A = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!s = memref<64x64xf16, #tile.space<shared>>
!r = memref<64x64xf32, #tile.space<local>>
func.func @k(%A: !A, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %As = tile.alloc "As" : !s
  %other = tile.alloc "other" : !s
  %acc = tile.alloc "acc" : !r
  tile.fill %acc, %zero : !r, f32
  scf.for %i = %c0 to %n step %c1 {
    tile.copy %A[%c0, %c0] to %other : !A to !s
  }
  scf.for %i = %c0 to %n step %c1 {
    %k = arith.muli %i, %c64 : index
    tile.copy %A[%c0, %k] to %As : !A to !s
    tile.gemm %As, %As into %acc : !s, !s, !r
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}
