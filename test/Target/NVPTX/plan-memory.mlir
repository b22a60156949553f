// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-plan-memory --split-input-file | FileCheck %s

!T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!s = memref<32x32xf32, #tile.space<shared>>
!r = memref<3x32x32xf32, #tile.space<shared>>

// Tiles lie side by side.
// CHECK-LABEL: @side_by_side
// CHECK: "X" {nv.offset = 0 : i64}
// CHECK: "Y" {nv.offset = 4096 : i64}
// CHECK-NOT: nv.sync
func.func @side_by_side(%x: !T) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %X = tile.alloc "X" : !s
  %Y = tile.alloc "Y" : !s
  tile.copy %x[%c0, %c0] to %X : !T to !s
  tile.copy %X to %Y : !s to !s
  return
}

// -----

!T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!s = memref<32x32xf32, #tile.space<shared>>
!r = memref<3x32x32xf32, #tile.space<shared>>

// "Y" takes memory of the ring, "Z" is used while the ring is.
// CHECK-LABEL: @after
// CHECK: "X" {nv.offset = 0 : i64}
// CHECK: "Y" {nv.offset = 0 : i64}
// CHECK: "Z" {nv.offset = 12288 : i64}
// CHECK: tile.copy {{.*}} to %Z
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.copy {{.*}} to %Y
func.func @after(%x: !T) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %X = tile.alloc "X" : !r
  %Y = tile.alloc "Y" : !s
  %Z = tile.alloc "Z" : !s
  %X1 = memref.subview %X[1, 0, 0] [1, 32, 32] [1, 1, 1] : !r to memref<32x32xf32, strided<[32, 1], offset: 1024>, #tile.space<shared>>
  tile.copy %X1 to %Z : memref<32x32xf32, strided<[32, 1], offset: 1024>, #tile.space<shared>> to !s
  memref.dealloc %X : !r
  tile.copy %Z to %Y : !s to !s
  tile.copy %Y to %x[%c0, %c0] : !s to !T
  return
}

// -----

!s = memref<32x32xf32, #tile.space<shared>>

// Threads have met already.
// CHECK-LABEL: @synced
// CHECK: nv.sync
// CHECK-NOT: nv.sync
// CHECK: return
func.func @synced(%f: f32) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %X = tile.alloc "X" : !s
  %Y = tile.alloc "Y" : !s
  tile.fill %X, %f : !s, f32
  nv.sync
  memref.dealloc %X {nv.synced} : !s
  tile.fill %Y, %f : !s, f32
  return
}

// -----

!s = memref<32x32xf32, #tile.space<shared>>

// Each thread that computes knows that accesses have ended.
// CHECK-LABEL: @ended
// CHECK-NOT: nv.sync
// CHECK: return
func.func @ended(%f: f32) attributes {tile.kernel, nv.tile_program, nv.threads = 160 : i64} {
  %X = tile.alloc "X" : !s
  %Y = tile.alloc "Y" : !s
  nv.warps 0, 4 {
    tile.fill %X, %f : !s, f32
    memref.dealloc %X {nv.ended} : !s
    tile.fill %Y, %f : !s, f32
  }
  return
}

// Another role does not know it.
// CHECK-LABEL: @not_ended_for_role
// CHECK: nv.sync
// CHECK: nv.warps 4, 1
func.func @not_ended_for_role(%f: f32) attributes {tile.kernel, nv.tile_program, nv.threads = 160 : i64} {
  %X = tile.alloc "X" : !s
  %Y = tile.alloc "Y" : !s
  nv.warps 0, 4 {
    tile.fill %X, %f : !s, f32
  }
  memref.dealloc %X {nv.ended} : !s
  nv.warps 4, 1 {
    tile.fill %Y, %f : !s, f32
  } {nv.role = #nv.role<other>}
  return
}

// -----

!T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!s = memref<32x32xf32, #tile.space<shared>>

// An engine writes what threads accessed.
// CHECK-LABEL: @engine
// CHECK: tile.fill
// CHECK-NEXT: nv.fence.proxy_async
// CHECK-NEXT: nv.sync
// CHECK-NEXT: nv.tma.load
func.func @engine(%x: !T, %f: f32) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %X = tile.alloc "X" : !s
  %Y = tile.alloc "Y" : !s
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  tile.fill %X, %f : !s, f32
  memref.dealloc %X : !s
  nv.tma.load %x[%c0, %c0] to %Y, %full[%c0] : !T, !s, !nv.barriers<1>
  return
}
