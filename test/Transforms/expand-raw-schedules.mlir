// RUN: penstock-opt %s --tile-resolve-schedules --tile-expand-pipelines --canonicalize | FileCheck %s

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<8xf32, #tile.space<shared>>

// Two copies in one group share a name that the kernel does not use itself, and
// are awaited right before the first use of either.
// CHECK-LABEL: func.func @group
// CHECK: scf.for %[[T:.*]] = %c1 to
// CHECK: tile.copy %{{.*}} async "pipeline1" instance %[[T]]
// CHECK: tile.copy %{{.*}} async "pipeline1" instance %[[T]]
// CHECK: %[[K:.*]] = arith.subi %[[T]], %c1
// CHECK: tile.wait ["pipeline1"] through %[[K]]
// CHECK: tile.copy
// CHECK: tile.wait ["pipeline1"]
// CHECK: return
func.func @group(%A: !t {tile.access = "in"}, %B: !t {tile.access = "in"}, %n: index,
                 %C: !t {tile.access = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %s = tile.alloc "s" : !s
  %r = tile.alloc "r" : !s
  %q = tile.alloc "q" : !s
  tile.copy %A[%c0] to %q async "pipeline0" : !t to !s
  tile.wait ["pipeline0"]
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c8 : index
    tile.copy %A[%o] to %s : !t to !s
    tile.copy %B[%o] to %r : !t to !s
    %p = arith.muli %k, %c16 : index
    tile.copy %s to %C[%p] : !s to !t
    %p1 = arith.addi %p, %c8 : index
    tile.copy %r to %C[%p1] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 0, 1, 1], order = [0, 1, 2, 3],
                                    async_producers = [1, 1, 0, 0],
                                    async_producer_groups = [0, 0, -1, -1]>}
  return
}
