// Operands that are loaded before a loop: TMA loads what nothing has accessed before, and the roles
// that access the tile wait.
// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-start-kernel=aligned-rows=true --tile-resolve-schedules --nv-bind-engines --nv-place-accumulators --nv-assign-roles --nv-write-plans --nv-execute-in-order --nv-load-tiles --split-input-file | FileCheck %s

!T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!s = memref<128x64xf16, #tile.space<shared>>
!c = memref<128x128xf32, #tile.space<local>>

// CHECK-LABEL: func.func @left
// CHECK: %[[LOADED:.*]] = nv.mbarrier.alloc "Qs loaded" [1] : !nv.barriers<1>
// CHECK: %[[QS:.*]] = tile.alloc "Qs"
// CHECK: nv.elect {
// CHECK: nv.mbarrier.arrive %[[LOADED]][%{{.*}}] expect %c16384
// CHECK: nv.tma.load %arg0[%{{.*}}] to %[[QS]], %[[LOADED]]
// CHECK-NOT: tile.copy %arg0
// The role that loads B does not wait.
// CHECK: nv.warps 0, 1 {
// CHECK-NOT: nv.mbarrier.wait %[[LOADED]]
// The role that multiplies waits first.
// CHECK: nv.warps 1, 1 {
// CHECK-NEXT: arith.constant
// CHECK-NEXT: arith.constant
// CHECK-NEXT: nv.mbarrier.wait %[[LOADED]]
// CHECK: nv.tcgen05.mma %[[QS]]
func.func @left(%Q: !T, %B: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %Qs = tile.alloc "Qs" : !s
  %Bs = tile.alloc "Bs" : !s
  %acc = tile.alloc "acc" : !c
  tile.copy %Q[%c0, %c0] to %Qs : !T to !s
  tile.fill %acc, %zero : !c, f32
  scf.for %i = %c0 to %n step %c1 {
    %row = arith.muli %i, %c128 : index
    tile.copy %B[%row, %c0] to %Bs : !T to !s
    %Bt = memref.transpose %Bs (i, j) -> (j, i) : !s to memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
    tile.gemm %Qs, %Bt into %acc : !s, memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>, !c
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// -----

!T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!s = memref<64x64xf16, #tile.space<shared>>
!c = memref<64x64xf32, #tile.space<local>>

// Threads wrote the tile before, and another one is never multiplied: threads copy.

// CHECK-LABEL: func.func @threads
// CHECK-NOT: nv.tma.load
// CHECK-COUNT-2: tile.copy
// CHECK-NOT: nv.tma.load
func.func @threads(%Q: !T) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f16
  %A = tile.alloc "A" : !s
  %X = tile.alloc "X" : !s
  %acc = tile.alloc "acc" : !c
  tile.fill %A, %zero : !s, f16
  tile.copy %Q[%c0, %c0] to %A : !T to !s
  tile.copy %Q[%c0, %c0] to %X : !T to !s
  tile.gemm %A, %A into %acc overwrite : !s, !s, !c
  tile.copy %X to %Q[%c0, %c0] : !s to !T
  return
}
