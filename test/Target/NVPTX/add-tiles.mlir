// RUN: penstock-opt %s --nv-add-tiles --split-input-file | FileCheck %s

// A loop writes a tile and adds it: the wait is in front of the next write, and after the loop. The
// barrier that is there already orders it.

#g = #tile.space<global>
#s = #tile.space<shared>
!T = memref<?x?x?xf32, strided<[?, ?, 1]>, #g>
!s = memref<64x32xf32, #s>

// CHECK-LABEL: func.func @loop
// CHECK: scf.for %[[K:.*]] = %c2 to
// CHECK: %[[M0:.*]] = arith.muli
// CHECK: nv.tma.wait_group 0 read
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.fill %S
// CHECK-NEXT: nv.fence.proxy_async
// CHECK-NEXT: nv.sync
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0
// CHECK-NEXT: nv.tma.store %S to %arg0[%{{.*}}, %[[M0]], %[[ZERO]]] dims [1, 2] combine "add"
// CHECK-NEXT: nv.tma.commit_group
// CHECK-NEXT: }
// CHECK-NEXT: nv.tma.wait_group 0 read
// CHECK-NEXT: return
// CHECK-NOT: tile.atomic
func.func @loop(%C: !T {tile.access = "inout"}, %n: index) attributes {tile.kernel, nv.tile_program, nv.aligned_rows, tile.target = "sm_90a", nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %H = memref.dim %C, %c0 : !T
  %M = memref.dim %C, %c1 : !T
  %N = memref.dim %C, %c2 : !T
  %h = tile.grid %H : index
  %one = arith.constant 1.0 : f32
  %S = tile.alloc "S" : !s
  scf.for %k = %c2 to %n step %c1 {
    %iteration = arith.subi %k, %c2 : index
    %m0 = arith.muli %iteration, %c64 : index
    nv.sync
    tile.fill %S, %one : !s, f32
    tile.parallel [64, 32] {
    ^bb0(%i: index, %j: index):
      %m = arith.addi %m0, %i : index
      %row = arith.cmpi slt, %m, %M : index
      %col = arith.cmpi sgt, %N, %j : index
      %inside = arith.andi %row, %col : i1
      scf.if %inside {
        %x = tile.load %S[%i, %j] : !s -> f32
        %again = arith.addi %m0, %i : index
        %old = tile.atomic add %x, %C[%h, %again, %j] : f32, !T -> f32
      }
    }
  }
  return
}

// -----

// Not in a loop, and overwritten afterwards: awaited at once. The last one is awaited at the end,
// offsets that the body computes are computed in front of it, and a signature says which sizes are
// equal.

#g = #tile.space<global>
#s = #tile.space<shared>
!T = memref<?x?xi32, strided<[?, 1]>, #g>
!s = memref<8x16xi32, #s>

// CHECK-LABEL: func.func @twice
// CHECK: tile.fill %S
// CHECK-NEXT: nv.fence.proxy_async
// CHECK-NEXT: nv.sync
// CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %c8
// CHECK: nv.tma.store %S to %arg1[%[[ROW]], %{{.*}}] dims [0, 1] combine "add"
// CHECK-NEXT: nv.tma.commit_group
// CHECK-NEXT: nv.tma.wait_group 0 read
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.fill %S
// CHECK-NEXT: nv.fence.proxy_async
// CHECK-NEXT: nv.sync
// CHECK: nv.tma.store %S to %arg1
// CHECK-NEXT: nv.tma.commit_group
// CHECK-NEXT: tile.print
// CHECK-NEXT: nv.tma.wait_group 0 read
// CHECK-NEXT: return
func.func @twice(%A: !T {tile.access = "in"}, %C: !T {tile.access = "inout"}) attributes {tile.kernel, tile.signature = "A[M,N] -> C[M,N]", nv.tile_program, nv.aligned_rows, tile.target = "sm_100a", nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %M = memref.dim %A, %c0 : !T
  %N = memref.dim %A, %c1 : !T
  %block = tile.grid %M : index
  %one = arith.constant 1 : i32
  %S = tile.alloc "S" : !s
  tile.fill %S, %one : !s, i32
  tile.parallel [8, 16] {
  ^bb0(%i: index, %j: index):
    %m0 = arith.muli %block, %c8 : index
    %m = arith.addi %i, %m0 : index
    %row = arith.cmpi ult, %m, %M : index
    scf.if %row {
      %col = arith.cmpi slt, %j, %N : index
      scf.if %col {
        %x = tile.load %S[%i, %j] : !s -> i32
        %old = tile.atomic add %x, %C[%m, %j] : i32, !T -> i32
      }
    }
  }
  tile.fill %S, %one : !s, i32
  tile.parallel [8, 16] {
  ^bb0(%i: index, %j: index):
    %row = arith.cmpi slt, %i, %M : index
    %col = arith.cmpi slt, %j, %N : index
    %inside = arith.andi %row, %col : i1
    scf.if %inside {
      %x = tile.load %S[%i, %j] : !s -> i32
      %old = tile.atomic add %x, %C[%i, %j] : i32, !T -> i32
    }
  }
  tile.print "{}" %block : index
  return
}

// -----

// Reasons why threads add.

#g = #tile.space<global>
#s = #tile.space<shared>
!T = memref<?x?xf32, strided<[?, 1]>, #g>
!s = memref<8x16xf32, #s>

// CHECK-LABEL: func.func @reasons
// CHECK-NOT: nv.tma.store
// CHECK: added_by_threads = "nothing leaves out elements outside of `A` (?x? f32, global) along dimension 0, where TMA would clip them"
// CHECK: added_by_threads = "it has conditions that TMA does not check"
// CHECK: added_by_threads = "an offset may be negative"
// CHECK: added_by_threads = "the value is not an element of a shared tile"
// CHECK: added_by_threads = "the old value is used"
// CHECK: added_by_threads = "{{.*}}is also accessed in other ways, which additions by TMA are not ordered with"
func.func @reasons(%A: !T {tile.access = "inout", tile.name = "A"}, %B: !T {tile.access = "inout", tile.name = "B"}, %given: index, %some: i1) attributes {tile.kernel, nv.tile_program, nv.aligned_rows, tile.target = "sm_90a", nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %M = memref.dim %A, %c0 : !T
  %N = memref.dim %A, %c1 : !T
  %P = memref.dim %B, %c0 : !T
  %Q = memref.dim %B, %c1 : !T
  %one = arith.constant 1.0 : f32
  %S = tile.alloc "S" : !s
  tile.fill %S, %one : !s, f32
  // Elements outside are faults, which TMA does not report.
  tile.parallel [8, 16] {
  ^bb0(%i: index, %j: index):
    %col = arith.cmpi slt, %j, %N : index
    scf.if %col {
      %x = tile.load %S[%i, %j] : !s -> f32
      %old = tile.atomic add %x, %A[%i, %j] : f32, !T -> f32
    }
  }
  tile.parallel [8, 16] {
  ^bb0(%i: index, %j: index):
    %row = arith.cmpi slt, %i, %M : index
    %col = arith.cmpi slt, %j, %N : index
    %inside = arith.andi %row, %col : i1
    %upper = arith.cmpi sle, %i, %j : index
    %both = arith.andi %inside, %upper : i1
    scf.if %both {
      %x = tile.load %S[%i, %j] : !s -> f32
      %old = tile.atomic add %x, %A[%i, %j] : f32, !T -> f32
    }
  }
  tile.parallel [8, 16] {
  ^bb0(%i: index, %j: index):
    %m = arith.addi %given, %i : index
    %row = arith.cmpi slt, %m, %M : index
    %col = arith.cmpi slt, %j, %N : index
    %inside = arith.andi %row, %col : i1
    scf.if %inside {
      %x = tile.load %S[%i, %j] : !s -> f32
      %old = tile.atomic add %x, %A[%m, %j] : f32, !T -> f32
    }
  }
  tile.parallel [8, 16] {
  ^bb0(%i: index, %j: index):
    %row = arith.cmpi slt, %i, %M : index
    %col = arith.cmpi slt, %j, %N : index
    %inside = arith.andi %row, %col : i1
    scf.if %inside {
      %x = tile.load %S[%i, %j] : !s -> f32
      %double = arith.addf %x, %x : f32
      %old = tile.atomic add %double, %A[%i, %j] : f32, !T -> f32
    }
  }
  tile.parallel [8, 16] {
  ^bb0(%i: index, %j: index):
    %row = arith.cmpi slt, %i, %M : index
    %col = arith.cmpi slt, %j, %N : index
    %inside = arith.andi %row, %col : i1
    scf.if %inside {
      %x = tile.load %S[%i, %j] : !s -> f32
      %old = tile.atomic add %x, %A[%i, %j] : f32, !T -> f32
      %unused = arith.addf %old, %old : f32
    }
  }
  tile.parallel [8, 16] {
  ^bb0(%i: index, %j: index):
    %row = arith.cmpi slt, %i, %P : index
    %col = arith.cmpi slt, %j, %Q : index
    %inside = arith.andi %row, %col : i1
    scf.if %inside {
      %x = tile.load %S[%i, %j] : !s -> f32
      %old = tile.atomic add %x, %B[%i, %j] : f32, !T -> f32
    }
  }
  %read = tile.load %B[%c0, %c0] : !T -> f32
  return
}

// -----

// TMA adds no f64, and no rows of fewer than 16 bytes.

#g = #tile.space<global>
#s = #tile.space<shared>
!T = memref<?x?xf64, strided<[?, 1]>, #g>
!s = memref<8x16xf64, #s>
!U = memref<?x?xf32, strided<[?, 1]>, #g>
!u = memref<8x2xf32, #s>

// CHECK-LABEL: func.func @illegal
// CHECK: added_by_threads = "TMA does not combine elements of `S` (8x16 f64, shared) by \22add\22"
// CHECK: added_by_threads = "the rows of `U` (8x2 f32, shared) are not multiples of 16 bytes"
func.func @illegal(%A: !T {tile.access = "inout"}, %B: !U {tile.access = "inout"}) attributes {tile.kernel, nv.tile_program, nv.aligned_rows, tile.target = "sm_90a", nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %M = memref.dim %A, %c0 : !T
  %N = memref.dim %A, %c1 : !T
  %P = memref.dim %B, %c0 : !U
  %Q = memref.dim %B, %c1 : !U
  %S = tile.alloc "S" : !s
  %V = tile.alloc "U" : !u
  tile.parallel [8, 16] {
  ^bb0(%i: index, %j: index):
    %row = arith.cmpi slt, %i, %M : index
    %col = arith.cmpi slt, %j, %N : index
    %inside = arith.andi %row, %col : i1
    scf.if %inside {
      %x = tile.load %S[%i, %j] : !s -> f64
      %old = tile.atomic add %x, %A[%i, %j] : f64, !T -> f64
    }
  }
  tile.parallel [8, 2] {
  ^bb0(%i: index, %j: index):
    %row = arith.cmpi slt, %i, %P : index
    %col = arith.cmpi slt, %j, %Q : index
    %inside = arith.andi %row, %col : i1
    scf.if %inside {
      %x = tile.load %V[%i, %j] : !u -> f32
      %old = tile.atomic add %x, %B[%i, %j] : f32, !U -> f32
    }
  }
  return
}

// -----

// Without rows that launches guarantee, threads add.

#g = #tile.space<global>
#s = #tile.space<shared>
!T = memref<?x?xf32, strided<[?, 1]>, #g>
!s = memref<8x16xf32, #s>

// CHECK-LABEL: func.func @plain
// CHECK: tile.atomic
func.func @plain(%C: !T {tile.access = "inout"}) attributes {tile.kernel, nv.tile_program, tile.target = "sm_90a", nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %M = memref.dim %C, %c0 : !T
  %N = memref.dim %C, %c1 : !T
  %S = tile.alloc "S" : !s
  tile.parallel [8, 16] {
  ^bb0(%i: index, %j: index):
    %row = arith.cmpi slt, %i, %M : index
    %col = arith.cmpi slt, %j, %N : index
    %inside = arith.andi %row, %col : i1
    scf.if %inside {
      %x = tile.load %S[%i, %j] : !s -> f32
      %old = tile.atomic add %x, %C[%i, %j] : f32, !T -> f32
    }
  }
  return
}
