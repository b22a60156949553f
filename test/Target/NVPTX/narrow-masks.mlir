// RUN: penstock-opt %s --nv-narrow-masks --canonicalize --cse --split-input-file | FileCheck %s

#g = #tile.space<global>
#l = #tile.space<local>

// Columns of a tile at n0 that lie inside of a row, and below the diagonal.

// CHECK-LABEL: func.func @causal
// CHECK-DAG: %[[N:.*]] = memref.dim %arg0, %c1
// CHECK: scf.for %[[K:.*]] =
// CHECK: %[[N0:.*]] = arith.muli %[[K]], %c64
// CHECK: %[[LEFT:.*]] = arith.subi %[[N]], %[[N0]]
// CHECK: %[[LOW:.*]] = arith.maxsi %[[LEFT]], %c-1
// CHECK: %[[HIGH:.*]] = arith.minsi %[[LOW]], %c64
// CHECK: %[[NARROW:.*]] = arith.index_cast %[[HIGH]] : index to i32
// CHECK: %[[SIZE:.*]] = llvm.inline_asm "mov.b32 $0, $1;", "=r,r" %[[NARROW]]
// CHECK: arith.maxsi %{{.*}}, %c-64
// CHECK: arith.minsi %{{.*}}, %c32
// CHECK: tile.map
// CHECK: %[[J:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK: arith.cmpi slt, %[[J]], %[[SIZE]] : i32
// CHECK: arith.cmpi sge, %{{.*}}, %{{.*}} : i32
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
