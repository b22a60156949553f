// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --tile-resolve-schedules --nv-write-plans --canonicalize --cse --split-input-file | FileCheck %s

// Roles of a loop and the code around it meet only if both access the same memory and one of them
// writes it.

!T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!s = memref<32x32xf32, #tile.space<shared>>
!l = memref<32x32xf32, #tile.space<local>>

// Only those that compute access W in front of the loop: the loads begin at once, and threads that
// compute meet by themselves. No engine accesses W.

// CHECK-LABEL: @loads_begin
// CHECK-NOT: nv.sync
// CHECK: nv.warps 4, 1
// CHECK-NOT: nv.sync
// CHECK: nv.tma.load
// CHECK: nv.warps 0, 4 {
// CHECK-NEXT: tile.fill %W
// CHECK-NEXT: nv.sync
// CHECK-NEXT: scf.for
func.func @loads_begin(%x: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %X = tile.alloc "X" : !s
  %W = tile.alloc "W" : !s
  %t = tile.alloc "t" : !l
  tile.fill %W, %zero : !s, f32
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%c0, %k] to %X {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>} : !T to !s
    tile.copy %X to %t : !s to !l
    tile.copy %W to %t : !s to !l
  } {tile.schedule = #tile.schedule<stage = [0, 1, 1], order = [0, 1, 2]>}
  return
}

// -----

!T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!s = memref<32x32xf32, #tile.space<shared>>
!l = memref<32x32xf32, #tile.space<local>>

// The tile that is loaded is written by threads before: all meet, after a fence for the engine.

// CHECK-LABEL: @loads_wait
// CHECK: tile.fill
// CHECK-NEXT: nv.fence.proxy_async
// CHECK-NEXT: }
// CHECK-NEXT: nv.sync
// CHECK-NEXT: nv.warps 4, 1
// CHECK: nv.tma.load
// CHECK: nv.warps 0, 4 {
// CHECK-NOT: nv.sync
// CHECK: scf.for
func.func @loads_wait(%x: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %X = tile.alloc "X" : !s
  %t = tile.alloc "t" : !l
  tile.fill %X, %zero : !s, f32
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%c0, %k] to %X {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>} : !T to !s
    tile.copy %X to %t : !s to !l
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  return
}

// -----

!T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!s = memref<32x32xf32, #tile.space<shared>>
!l = memref<32x32xf32, #tile.space<local>>

// A role writes %y, which is read in front of the loop.

// CHECK-LABEL: @read_before
// CHECK: tile.copy %arg1
// CHECK-NEXT: }
// CHECK-NEXT: nv.sync
// CHECK-NEXT: nv.warps 4, 4
// CHECK: nv.plan = "plan
// CHECK-NOT: nv.sync
// CHECK: return
func.func @read_before(%x: !T, %y: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : !s
  %t = tile.alloc "t" : !l
  tile.copy %y[%c0, %c0] to %t : !T to !l
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%c0, %k] to %X : !T to !s
    tile.copy %X to %y[%c0, %k] {nv.role = #nv.role<write>} : !s to !T
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  return
}

// -----

!T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!s = memref<32x32xf32, #tile.space<shared>>
!l = memref<32x32xf32, #tile.space<local>>

// It is read after the loop instead.

// CHECK-LABEL: @read_after
// CHECK-NOT: nv.sync
// CHECK: nv.warps 4, 4
// CHECK: nv.plan = "plan
// CHECK: nv.sync
// CHECK: tile.copy %arg1
// CHECK: return
func.func @read_after(%x: !T, %y: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : !s
  %t = tile.alloc "t" : !l
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%c0, %k] to %X : !T to !s
    tile.copy %X to %y[%c0, %k] {nv.role = #nv.role<write>} : !s to !T
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  tile.copy %y[%c0, %c0] to %t : !T to !l
  return
}

// -----

!T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!s = memref<32x32xf32, #tile.space<shared>>
!l = memref<32x32xf32, #tile.space<local>>

// Others read %x, which a role reads, and write %z, which it does not access: nothing to order.

// CHECK-LABEL: @others
// CHECK-NOT: nv.sync
// CHECK: nv.warps
// CHECK: nv.plan = "plan
// CHECK-NOT: nv.sync
// CHECK: return
func.func @others(%x: !T, %y: !T, %z: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : !s
  %t = tile.alloc "t" : !l
  tile.copy %x[%c0, %c0] to %t : !T to !l
  tile.copy %t to %z[%c0, %c0] : !l to !T
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%c0, %k] to %X {nv.role = #nv.role<read>} : !T to !s
    tile.copy %X to %y[%c0, %k] : !s to !T
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  tile.copy %t to %z[%c0, %c0] : !l to !T
  return
}

// -----

!T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!s = memref<32x32xf32, #tile.space<shared>>
!l = memref<32x32xf32, #tile.space<local>>

// The same with tensors that may overlap: %z may be %x.

// CHECK-LABEL: @overlapping
// CHECK: tile.copy {{.*}} to %arg2
// CHECK-NEXT: }
// CHECK-NEXT: nv.sync
// CHECK-NEXT: nv.warps 4, 4
// CHECK: nv.plan = "plan
// CHECK: nv.sync
// CHECK: tile.copy {{.*}} to %arg2
func.func @overlapping(%x: !T {tile.overlaps}, %y: !T, %z: !T {tile.overlaps}, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : !s
  %t = tile.alloc "t" : !l
  tile.copy %t to %z[%c0, %c0] : !l to !T
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%c0, %k] to %X {nv.role = #nv.role<read>} : !T to !s
    tile.copy %X to %y[%c0, %k] : !s to !T
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  tile.copy %t to %z[%c0, %c0] : !l to !T
  return
}

// -----

!T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!s = memref<32x32xf32, #tile.space<shared>>
!l = memref<32x32xf32, #tile.space<local>>

// In a loop over tiles, loads run ahead of what others do with other tensors.

// CHECK-LABEL: @runs_ahead
// CHECK: scf.for
// CHECK-NOT: nv.sync
// CHECK: rings stay open
// CHECK-NOT: nv.sync
// CHECK: return
func.func @runs_ahead(%x: !T, %y: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : !s
  %t = tile.alloc "t" : !l
  scf.for %m = %c0 to %n step %c1 {
    scf.for %k = %c0 to %n step %c1 {
      tile.copy %x[%m, %k] to %X {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>} : !T to !s
      tile.copy %X to %t : !s to !l
    } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
    tile.copy %t to %y[%m, %c0] : !l to !T
  }
  return
}

// -----

!T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!s = memref<32x32xf32, #tile.space<shared>>
!l = memref<32x32xf32, #tile.space<local>>

// Not if a role writes what others read between two runs of the loop.

// CHECK-LABEL: @between_runs
// CHECK: scf.for
// CHECK: nv.sync
// CHECK-NEXT: nv.warps
// CHECK-NOT: rings stay open
// CHECK: nv.plan = "plan
// CHECK-NOT: rings stay open
// CHECK: nv.sync
// CHECK: tile.copy %arg1
func.func @between_runs(%x: !T, %y: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : !s
  %t = tile.alloc "t" : !l
  scf.for %m = %c0 to %n step %c1 {
    scf.for %k = %c0 to %n step %c1 {
      tile.copy %x[%m, %k] to %X {nv.engine = #nv.engine<tma.load>, nv.role = #nv.role<load>} : !T to !s
      tile.copy %X to %y[%m, %k] {nv.role = #nv.role<write>} : !s to !T
    } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
    tile.copy %y[%m, %c0] to %t : !T to !l
  }
  return
}

// -----

!T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!s = memref<32x32xf32, #tile.space<shared>>

// Lines that a role prints come after those in front of the loop, and before those after it.

// CHECK-LABEL: @prints
// CHECK: tile.print "before"
// CHECK-NEXT: }
// CHECK-NEXT: nv.sync
// CHECK-NEXT: nv.warps 4, 4
// CHECK: tile.print "in"
// CHECK: nv.plan = "plan
// CHECK: nv.sync
// CHECK: tile.print "after"
func.func @prints(%x: !T, %y: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : !s
  tile.print "before"
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%c0, %k] to %X : !T to !s
    tile.print "in" {nv.role = #nv.role<print>}
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  tile.print "after"
  return
}

// -----

!T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!s = memref<32x32xf32, #tile.space<shared>>

// Nothing else is printed.

// CHECK-LABEL: @prints_alone
// CHECK-NOT: nv.sync
// CHECK: nv.warps 4, 4
// CHECK: tile.print "in"
// CHECK: nv.plan = "plan
// CHECK-NOT: nv.sync
// CHECK: return
func.func @prints_alone(%x: !T, %y: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : !s
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%c0, %k] to %X : !T to !s
    tile.print "in" {nv.role = #nv.role<print>}
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  return
}
