// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-narrow-masks --canonicalize --cse --split-input-file | FileCheck %s

#g = #tile.space<global>
#l = #tile.space<local>

// Columns of a tile at n0 that lie inside of a row, and below the diagonal.

// CHECK-LABEL: func.func @causal
// CHECK-DAG: %[[N:.*]] = memref.dim %arg0, %c1
// CHECK: scf.for %[[K:.*]] =
// CHECK: %[[N0:.*]] = arith.muli %[[K]], %c64
// CHECK-DAG: %[[NARROW:.*]] = arith.index_cast %[[N0]] : index to i32
// CHECK-DAG: %[[ALL:.*]] = arith.index_cast %[[N]] : index to i32
// CHECK: %[[SIZE:.*]] = arith.subi %[[ALL]], %[[NARROW]] : i32
// CHECK: %[[LOW:.*]] = arith.maxsi %{{.*}}, %c-64
// CHECK: %[[HIGH:.*]] = arith.minsi %[[LOW]], %c32
// CHECK: %[[CLAMPED:.*]] = arith.index_cast %[[HIGH]] : index to i32
// CHECK: llvm.inline_asm "mov.b32 $0, $1;", "=r,r" %[[CLAMPED]]
// CHECK: tile.map
// CHECK: %[[J:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK: arith.cmpi slt, %[[J]], %[[SIZE]] {nv.coordinates = array<i64: 0, 1, 1>} : i32
// CHECK: arith.cmpi sge, %{{.*}}, %{{.*}} {nv.coordinates = array<i64: 1, -1, 1>} : i32
// CHECK-NOT: : index
// CHECK: tile.yield
func.func @causal(%x: memref<?x?xf32, strided<[?, 1]>, #g>, %m0: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %S = tile.alloc "S" : memref<32x64xi1, #l>
  %N = memref.dim %x, %c1 : memref<?x?xf32, strided<[?, 1]>, #g>
  %first = arith.index_cast %m0 : i32 to index
  %blocks = arith.ceildivsi %N, %c64 : index
  scf.for %k = %c0 to %blocks step %c1 {
    %n0 = arith.muli %k, %c64 : index
    tile.map %S dims [] {
      %i = tile.element_index 0
      %j = tile.element_index 1
      %col = arith.addi %j, %n0 : index
      %row = arith.addi %i, %first : index
      %0 = arith.cmpi slt, %col, %N : index
      %1 = arith.cmpi sge, %row, %col : index
      %2 = arith.andi %0, %1 : i1
      tile.yield %2 : i1
    } : memref<32x64xi1, #l>
  }
  return
}

// -----

#l = #tile.space<local>

// Sums with an index that may be anything can wrap around, and unsigned comparisons see that.

// CHECK-LABEL: func.func @unbounded
// CHECK: arith.cmpi slt, %{{.*}}, %{{.*}} : index
// CHECK: arith.cmpi ult, %{{.*}}, %{{.*}} : index
func.func @unbounded(%n: index) attributes {tile.kernel} {
  %S = tile.alloc "S" : memref<64xi1, #l>
  %c7 = arith.constant 7 : index
  tile.map %S dims [] {
    %i = tile.element_index 0
    %0 = arith.addi %i, %n : index
    %1 = arith.cmpi slt, %0, %c7 : index
    %2 = arith.cmpi ult, %i, %c7 : index
    %3 = arith.andi %1, %2 : i1
    tile.yield %3 : i1
  } : memref<64xi1, #l>
  return
}

// -----

#g = #tile.space<global>
#l = #tile.space<local>

// Rows are whole vectors of 8, which lie in the registers of one thread: one comparison is enough
// for all of them. Launches with other rows take another kernel.

// CHECK-LABEL: func.func @vectors
// CHECK-SAME: nv.row_bytes = 16 : i64
// CHECK: tile.map
// CHECK: %[[J:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK: %[[FIRST:.*]] = arith.andi %[[J]], %c-8_i32 : i32
// CHECK: arith.cmpi slt, %[[FIRST]], %{{.*}} {nv.coordinates = array<i64: 0, 1, 8>} : i32
func.func @vectors(%x: memref<?x?xf16, strided<[?, 1]>, #g>, %n: i32) attributes {tile.kernel, nv.tile_program, nv.aligned_rows, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %i = arith.index_cast %n : i32 to index
  %n0 = arith.muli %i, %c64 : index
  %S = tile.alloc "S" {nv.layout = #nv.layout<"16x64 threads [8:1*8 16:0*1] registers [8:1*1]">} : memref<16x64xf16, #l>
  %M = tile.alloc "M" {nv.layout = #nv.layout<"16x64 threads [8:1*8 16:0*1] registers [8:1*1]">} : memref<16x64xi1, #l>
  %N = memref.dim %x, %c1 : memref<?x?xf16, strided<[?, 1]>, #g>
  tile.copy %x[%c0, %n0] to %S : memref<?x?xf16, strided<[?, 1]>, #g> to memref<16x64xf16, #l>
  tile.map %M dims [] {
    %j = tile.element_index 1
    %col = arith.addi %j, %n0 : index
    %0 = arith.cmpi slt, %col, %N : index
    tile.yield %0 : i1
  } : memref<16x64xi1, #l>
  return
}

// -----

#g = #tile.space<global>
#l = #tile.space<local>

// A tile that begins anywhere may end inside of a vector, and the number of rows is not a size of
// vectors.

// CHECK-LABEL: func.func @anywhere
// CHECK-NOT: nv.row_bytes
// CHECK-NOT: arith.andi
func.func @anywhere(%x: memref<?x?xf16, strided<[?, 1]>, #g>, %n: i32) attributes {tile.kernel, nv.tile_program, nv.aligned_rows, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n0 = arith.index_cast %n : i32 to index
  %S = tile.alloc "S" {nv.layout = #nv.layout<"16x64 threads [8:1*8 16:0*1] registers [8:1*1]">} : memref<16x64xf16, #l>
  %K = tile.alloc "K" {nv.layout = #nv.layout<"16x64 threads [8:1*8 16:0*1] registers [8:1*1]">} : memref<16x64xi1, #l>
  %N = memref.dim %x, %c1 : memref<?x?xf16, strided<[?, 1]>, #g>
  %M = memref.dim %x, %c0 : memref<?x?xf16, strided<[?, 1]>, #g>
  tile.copy %x[%c0, %c0] to %S : memref<?x?xf16, strided<[?, 1]>, #g> to memref<16x64xf16, #l>
  tile.map %K dims [] {
    %j = tile.element_index 1
    %col = arith.addi %j, %n0 : index
    %0 = arith.cmpi slt, %col, %N : index
    %1 = arith.cmpi slt, %j, %M : index
    %2 = arith.ori %0, %1 : i1
    tile.yield %2 : i1
  } : memref<16x64xi1, #l>
  return
}

// -----

#g = #tile.space<global>
#s = #tile.space<shared>

// Guards of cp.async copies compare 32 bits, if both sides have them; a bound that may be larger
// keeps 64 bits.

// CHECK-LABEL: func.func @guards
// CHECK: scf.for
// CHECK: arith.cmpi slt, %{{.*}}, %{{.*}} : i32
// CHECK: nv.cp_async
// CHECK: arith.cmpi slt, %{{.*}}, %{{.*}} : index
// CHECK: nv.cp_async
func.func @guards(%x: memref<?x?xf16, strided<[?, 1]>, #g>, %far: index) attributes {tile.kernel, nv.tile_program, nv.aligned_rows, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %S = tile.alloc "S" : memref<64x64xf16, #s>
  %R = tile.alloc "R" : memref<64x64xf16, #s>
  %N = memref.dim %x, %c0 : memref<?x?xf16, strided<[?, 1]>, #g>
  %n = arith.ceildivsi %N, %c64 : index
  scf.for %i = %c0 to %n step %c1 {
    %next = arith.addi %i, %c1 : index
    %m = arith.muli %next, %c64 : index
    %0 = arith.cmpi slt, %next, %n : index
    scf.if %0 {
      nv.cp_async %x[%m, %c0] to %S : memref<?x?xf16, strided<[?, 1]>, #g>, memref<64x64xf16, #s>
    }
    %1 = arith.cmpi slt, %next, %far : index
    scf.if %1 {
      nv.cp_async %x[%m, %c0] to %R : memref<?x?xf16, strided<[?, 1]>, #g>, memref<64x64xf16, #s>
    }
  }
  return
}
