// RUN: penstock-opt %s --nv-print-protocol=iterations=2 -o /dev/null 2>&1 | FileCheck %s

// The smallest sizes for each number of iterations, with tiles of 64 columns. Each slot of the ring
// is used twice, and twice more.
// CHECK: sizes: K = 0; 0 iterations
// CHECK: sizes: K = 1; 1 iterations
// CHECK: sizes: K = 65; 2 iterations
// CHECK: sizes: K = 129; 3 iterations
// CHECK: sizes: K = 193; 4 iterations
// CHECK-NOT: sizes

// The first wait for an empty slot is for the phase before the first: parity 1.
// CHECK: warp 0:
// CHECK-NEXT: mbarrier.wait: wait empty, parity 1
// CHECK-NEXT: mbarrier.arrive: arrive full, 1 arrivals, 8192 bytes
// CHECK-NEXT: tma.load: copy full, 8192 bytes, writes As[0:64, 0:64]
// CHECK-NEXT: mbarrier.wait: wait empty, parity 0
// CHECK-NEXT: mbarrier.arrive: arrive full, 1 arrivals, 8192 bytes
// CHECK-NEXT: tma.load: copy full, 8192 bytes, writes As[0:64, 0:64]

// All 32 threads of the other warp read the tile and arrive.
// CHECK: warp 1:
// CHECK-NEXT: mbarrier.wait: wait full, parity 0
// CHECK-NEXT: copy: threads, reads As[0:64, 0:64]
// CHECK-NEXT: mbarrier.arrive: arrive empty, 32 arrivals
// CHECK-NEXT: mbarrier.wait: wait full, parity 1
// CHECK-NEXT: copy: threads, reads As[0:64, 0:64]
// CHECK-NEXT: mbarrier.arrive: arrive empty, 32 arrivals
!A = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!s = memref<64x64xf16, #tile.space<shared>>
!r = memref<64x64xf16, #tile.space<local>>
func.func @k(%A: !A {tile.name = "A", tile.access = "in"})
    attributes {tile.kernel, nv.threads = 64 : i64, tile.signature = "A[M,K]"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %bytes = arith.constant 8192 : index
  %K = memref.dim %A, %c1 : !A
  %n = arith.ceildivsi %K, %c64 : index
  %As = tile.alloc "As" : !s
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  %empty = nv.mbarrier.alloc "empty" [32] : !nv.barriers<1>
  nv.warps 0, 1 {
    scf.for %i = %c0 to %n step %c1 {
      %next = arith.addi %i, %c1 : index
      %odd = arith.remui %next, %c2 : index
      %phase = arith.index_cast %odd : index to i32
      nv.mbarrier.wait %empty[%c0], %phase : !nv.barriers<1>
      nv.elect {
        nv.mbarrier.arrive %full[%c0] expect %bytes : !nv.barriers<1>
      }
      %k = arith.muli %i, %c64 : index
      nv.tma.load %A[%c0, %k] to %As, %full[%c0] : !A, !s, !nv.barriers<1>
    }
  }
  nv.warps 1, 1 {
    %r = tile.alloc "r" : !r
    scf.for %i = %c0 to %n step %c1 {
      %odd = arith.remui %i, %c2 : index
      %phase = arith.index_cast %odd : index to i32
      nv.mbarrier.wait %full[%c0], %phase : !nv.barriers<1>
      tile.copy %As to %r : !s to !r
      nv.mbarrier.arrive %empty[%c0] : !nv.barriers<1>
    }
  }
  return
}
