// RUN: penstock-opt %s --nv-prefetch-scalars --split-input-file | FileCheck %s

#g = #tile.space<global>
!T = memref<?x?x?xf16, strided<[?, ?, 1]>, #g>
!P = memref<?xi32, strided<[1]>, #g>
!s = memref<64x64xf16, #tile.space<shared>>

// The next page is loaded before this iteration uses its own. The last iteration loads none: it
// would be out of bounds.

// CHECK-LABEL: func.func @pages
// CHECK: %[[RUNS:.*]] = arith.cmpi slt, %c0, %arg2
// CHECK: %[[FIRST:.*]] = scf.if %[[RUNS]]
// CHECK: %[[INDEX0:.*]] = arith.muli %c0, %c2
// CHECK: tile.load %arg1[%[[INDEX0]]]
// CHECK: scf.for %[[I:.*]] = %c0 to %arg2 step %c1 iter_args(%[[PAGE:.*]] = %[[FIRST]]) -> (i32)
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %c1
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %arg2
// CHECK: %[[LOADED:.*]] = scf.if %[[MORE]]
// CHECK: %[[INDEX:.*]] = arith.muli %[[NEXT]], %c2
// CHECK: tile.load %arg1[%[[INDEX]]]
// CHECK: %[[AT:.*]] = arith.index_cast %[[PAGE]]
// CHECK: nv.cp_async %arg0[%[[AT]], %c0, %c0]
// CHECK: %[[SAME:.*]] = arith.index_cast %[[PAGE]]
// CHECK: nv.cp_async %arg0[%[[SAME]], %c0, %c1]
// CHECK: scf.yield %[[LOADED]]
func.func @pages(%x: !T, %pages: !P, %n: index) attributes {tile.kernel, tile.target = "sm_80", nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %X = tile.alloc "X" : !s
  %Y = tile.alloc "Y" : !s
  scf.for %i = %c0 to %n step %c1 {
    %twice = arith.muli %i, %c2 : index
    %page = tile.load %pages[%twice] : !P -> i32
    %at = arith.index_cast %page : i32 to index
    nv.cp_async %x[%at, %c0, %c0] to %X : !T, !s
    // The same element: it is loaded once.
    %again = tile.load %pages[%twice] : !P -> i32
    %same = arith.index_cast %again : i32 to index
    nv.cp_async %x[%same, %c0, %c1] to %Y : !T, !s
  }
  return
}

// -----

#g = #tile.space<global>
!T = memref<?x?x?xf16, strided<[?, ?, 1]>, #g>
!P = memref<?xi32, strided<[1]>, #g>
!s = memref<64x64xf16, #tile.space<shared>>

// A condition around the load also holds for the next iteration, or nothing is loaded.

// CHECK-LABEL: func.func @guarded
// CHECK: scf.for %[[I:.*]] = %c3
// CHECK: %[[NOW:.*]] = arith.cmpi slt, %[[I]], %arg2
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %c1
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %[[END:.*]] :
// CHECK: scf.if %[[MORE]]
// CHECK: %[[HOLDS:.*]] = arith.cmpi slt, %[[NEXT]], %arg2
// CHECK: scf.if %[[HOLDS]]
// CHECK: tile.load %arg1[%[[NEXT]]]
// CHECK: scf.if %[[NOW]]
// CHECK-NOT: tile.load
// CHECK: nv.cp_async
func.func @guarded(%x: !T, %pages: !P, %n: index) attributes {tile.kernel, tile.target = "sm_80", nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %end = arith.addi %n, %c3 : index
  %X = tile.alloc "X" : !s
  scf.for %i = %c3 to %end step %c1 {
    %holds = arith.cmpi slt, %i, %n : index
    scf.if %holds {
      %page = tile.load %pages[%i] : !P -> i32
      %at = arith.index_cast %page : i32 to index
      nv.cp_async %x[%at, %c0, %c0] to %X : !T, !s
    }
  }
  return
}

// -----

#g = #tile.space<global>
!T = memref<?x?x?xf16, strided<[?, ?, 1]>, #g>
!P = memref<?xi32, strided<[1]>, #g>
!s = memref<64x64xf16, #tile.space<shared>>

// Not moved: the kernel writes the tensor; the index is another load; the value is no coordinate.

// CHECK-LABEL: func.func @kept
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK: return
func.func @kept(%x: !T, %pages: !P, %ids: !P, %sums: !P, %n: index) attributes {tile.kernel, tile.target = "sm_80", nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : !s
  scf.for %i = %c0 to %n step %c1 {
    %written = tile.load %pages[%i] : !P -> i32
    %at = arith.index_cast %written : i32 to index
    nv.cp_async %x[%at, %c0, %c0] to %X : !T, !s
    tile.store %written, %pages[%c0] : i32, !P
    %id = tile.load %ids[%at] : !P -> i32
    %to = arith.index_cast %id : i32 to index
    nv.cp_async %x[%to, %c0, %c0] to %X : !T, !s
    %value = tile.load %ids[%i] : !P -> i32
    tile.store %value, %sums[%i] : i32, !P
  }
  return
}
