// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-choose-threads --nv-execute-in-order --split-input-file | FileCheck %s

// A pipelined loop without its schedule, waits and names; one group of four warps.

#s = #tile.space<shared>
#g = #tile.space<global>

// CHECK-LABEL: func.func @sums
// CHECK-SAME: nv.threads = 128 : i64, nv.tile_program
// CHECK: scf.for
// CHECK-NEXT: tile.copy %{{.*}} to %X :
// CHECK-NEXT: tile.reduce sum
// CHECK-NEXT: }
// CHECK-NOT: tile.schedule
func.func @sums(%x: memref<?x?xf32, strided<[?, 1]>, #g>, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : memref<32x32xf32, #s>
  %sum = tile.alloc "sum" : memref<32xf32, #tile.space<local>>
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%c0, %k] to %X async "load" : memref<?x?xf32, strided<[?, 1]>, #g> to memref<32x32xf32, #s>
    tile.wait ["load"]
    tile.statement "sums" {
      tile.reduce sum %X along 1 into %sum accumulate : memref<32x32xf32, #s>, memref<32xf32, #tile.space<local>>
    }
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// -----

// Two tiles of 128 x 128 words take 128 registers of each of 256 threads.

// CHECK-LABEL: func.func @large
// CHECK-SAME: nv.threads = 256
func.func @large() attributes {tile.kernel} {
  %a = tile.alloc : memref<128x128xf32, #tile.space<local>>
  %b = tile.alloc : memref<128x128xf32, #tile.space<local>>
  return
}

// -----

// A kernel that has threads already is left alone.

// CHECK-LABEL: func.func @explicit
// CHECK-NOT: nv.tile_program
// CHECK-SAME: nv.threads = 64
func.func @explicit() attributes {nv.threads = 64, tile.kernel} {
  return
}

// -----

// Operations of a statement that a plan has ordered with others: their number says that it has
// not ordered them among each other.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @groups
// CHECK: tile.fill %X, %{{.*}} {nv.group = 0 : i64, nv.planned = 3 : i64}
// CHECK-NEXT: tile.reduce {{.*}} {nv.group = 0 : i64, nv.planned = 3 : i64}
// CHECK-NEXT: tile.fill %X, %{{.*}} {nv.group = 1 : i64, nv.planned = 3 : i64}
func.func @groups() attributes {tile.kernel} {
  %zero = arith.constant 0.0 : f32
  %X = tile.alloc "X" : memref<32x32xf32, #s>
  %sum = tile.alloc "sum" : memref<32xf32, #tile.space<local>>
  tile.statement "sums" {
    tile.fill %X, %zero : memref<32x32xf32, #s>, f32
    tile.reduce sum %X along 1 into %sum accumulate : memref<32x32xf32, #s>, memref<32xf32, #tile.space<local>>
  } {nv.planned = 3 : i64}
  tile.statement "again" {
    tile.fill %X, %zero : memref<32x32xf32, #s>, f32
  } {nv.planned = 3 : i64}
  return
}
