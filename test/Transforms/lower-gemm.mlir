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

// -----

!B = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!a = memref<8x4xf32, #tile.space<shared>>
!b = memref<4x256xf32, #tile.space<shared>>
!c = memref<8x256xf32, #tile.space<local>>

// Rows of 1 KB would be in few sets of the first-level cache: B gets rows of 1088 bytes, which the
// copy fills, too.
// CHECK-LABEL: func.func @padded
// CHECK: %[[LONG:.*]] = tile.alloc "b" : memref<4x272xf32
// CHECK: %[[B:.*]] = memref.subview %[[LONG]][0, 0] [4, 256] [1, 1]
// CHECK: tile.copy %{{.*}} to %[[B]]
// CHECK: vector.load %[[B]]
func.func @padded(%B: !B {tile.access = "in"}, %runtime: !llvm.ptr) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.copy %B[%c0, %c0] to %b : !B to !b
  tile.gemm %a, %b into %c overwrite : !a, !b, !c
  return
}

// -----

!a = memref<8x4xf32, #tile.space<shared>>
!b = memref<4x256xf32, #tile.space<shared>>
!c = memref<8x256xf32, #tile.space<local>>

// Others may rely on the layout of a tile that they use.
// CHECK-LABEL: func.func @used_otherwise
// CHECK-NOT: memref.subview
// CHECK: return
func.func @used_otherwise(%runtime: !llvm.ptr) attributes {tile.kernel} {
  %one = arith.constant 1.0 : f32
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.fill %b, %one : !b, f32
  tile.gemm %a, %b into %c overwrite : !a, !b, !c
  return
}
