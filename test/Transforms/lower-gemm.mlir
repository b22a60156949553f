// RUN: penstock-opt %s --tile-lower-gemm=vector-bits=512 -split-input-file | FileCheck %s

!a = memref<12x8xf32, #tile.space<shared>>
!b = memref<8x70xf32, #tile.space<shared>>
!c = memref<12x70xf32, #tile.space<local>>

// 70 columns are one block of four vectors and six columns; 12 rows are two
// blocks of six.
// CHECK-LABEL: func.func @f32
// CHECK-COUNT-24: vector.load %{{.*}} : memref<12x70xf32{{.*}}>, vector<16xf32>
// CHECK: scf.for
// CHECK-COUNT-24: vector.fma {{.*}} : vector<16xf32>
// CHECK-COUNT-24: vector.store
// CHECK-COUNT-6: vector.fma {{.*}} : vector<6xf32>
// CHECK-NOT: tile.gemm
func.func @f32() attributes {tile.kernel} {
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.gemm %a, %b into %c : !a, !b, !c
  return
}

// -----

!a = memref<16x8xi8, #tile.space<shared>>
!b = memref<8x16xi8, #tile.space<shared>>
!c = memref<16x16xi32, #tile.space<local>>

// i8 operands are packed as i32.
// CHECK-LABEL: func.func @i8
// CHECK: arith.extsi
// CHECK: arith.muli {{.*}} : vector<16xi32>
// CHECK: arith.addi {{.*}} : vector<16xi32>
func.func @i8() attributes {tile.kernel} {
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.gemm %a, %b into %c overwrite : !a, !b, !c
  return
}

// -----

!a = memref<16x8xi8, #tile.space<shared>>
!b = memref<8x16xi8, #tile.space<shared>>
!c = memref<16x16xi32, #tile.space<local>>

// Only the first operand is unsigned.
// CHECK-LABEL: func.func @u8
// CHECK: arith.extui
// CHECK: arith.extsi
func.func @u8() attributes {tile.kernel} {
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.gemm %a, %b into %c overwrite unsigned_a : !a, !b, !c
  return
}
