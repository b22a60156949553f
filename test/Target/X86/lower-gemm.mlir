// RUN: penstock-opt %s --tile-lower-gemm=vector-bits=512 -split-input-file | FileCheck %s
// RUN: penstock-opt %s --tile-lower-gemm="vector-bits=512 l1-bytes=32768 l2-bytes=131072" \
// RUN:   -split-input-file | FileCheck %s --check-prefix=SMALL

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

// B is packed in strips of 64 columns, from its tensor if its tile is within it. The product stores
// its sums in the tensor that they are copied to.
// CHECK-LABEL: func.func @strips
// CHECK: %[[STRIPS:.*]] = tile.alloc : memref<4x4x64xf32
// CHECK: %[[B:.*]] = tile.alloc "b"
// CHECK: %[[FROM:.*]]:3 = scf.if
// CHECK: else
// CHECK: tile.copy %{{.*}} to %[[B]]
// CHECK: llvm.intr.prefetch
// CHECK-COUNT-4: vector.store %{{.*}}, %[[STRIPS]]
// CHECK-NOT: vector.load %[[B]]
// CHECK: vector.load %[[STRIPS]]
// CHECK-COUNT-16: llvm.store {{.*}} : vector<16xf32>
// CHECK: scf.if
// CHECK-NEXT: tile.copy
func.func @strips(%B: !B {tile.access = "in"}, %C: !B, %runtime: !llvm.ptr) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.copy %B[%c0, %c0] to %b : !B to !b
  tile.gemm %a, %b into %c overwrite : !a, !b, !c
  tile.copy %c to %C[%c0, %c0] : !c to !B
  return
}

// -----

!B = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!a = memref<8x4xf32, #tile.space<shared>>
!b = memref<4x256xf32, #tile.space<shared>>
!c = memref<8x256xf32, #tile.space<local>>

// B is multiplied twice, so it is read in its tile. Rows of 1 KB would be in few sets of the
// first-level cache: it gets rows of 1088 bytes, which the copy fills, too.
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
  %d = tile.alloc "d" : !c
  tile.copy %B[%c0, %c0] to %b : !B to !b
  tile.gemm %a, %b into %c overwrite : !a, !b, !c
  tile.gemm %a, %b into %d overwrite : !a, !b, !c
  return
}

// -----

!A = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!a = memref<12x160xf32, #tile.space<shared>>
!b = memref<160x128xf32, #tile.space<shared>>
!c = memref<12x128xf32, #tile.space<local>>

// 64 columns of B are 40 KB and do not stay in the L1 cache beside A: rows of A change slowest, and
// A is read in its tensor. The first iteration clears sums in registers, in two blocks of six rows.
// Four steps along K are unrolled.
// CHECK-LABEL: func.func @by_rows
// CHECK: scf.for %[[KO:.*]] =
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[KO]]
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c12{{.*}} step %c6
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %c128{{.*}} step %c64
// CHECK: scf.if %[[FIRST]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %c160{{.*}} step %c4
// CHECK-COUNT-24: llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK-COUNT-24: llvm.store {{.*}} : vector<16xf32>
// CHECK-NOT: llvm.store

// With 128 KB of L2, 64 columns of B at a time stay in half of it, for all rows of A.
// SMALL-LABEL: func.func @by_rows
// SMALL: scf.for %[[CHUNK:.*]] = %{{.*}} to %c128{{.*}} step %c64
// SMALL: %[[END:.*]] = arith.minsi
// SMALL: scf.for %{{.*}} = %{{.*}} to %c12{{.*}} step %c6
// SMALL: scf.for %{{.*}} = %[[CHUNK]] to %[[END]] step %c64
// SMALL: scf.for %{{.*}} = %{{.*}} to %c160{{.*}} step %c4
func.func @by_rows(%A: !A {tile.access = "in"}, %B: !A {tile.access = "in"}, %C: !A, %n: index,
                   %runtime: !llvm.ptr) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c160 = arith.constant 160 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.fill %c, %zero : !c, f32
  scf.for %ko = %c0 to %n step %c1 {
    %k = arith.muli %ko, %c160 : index
    tile.copy %A[%c0, %k] to %a : !A to !a
    tile.copy %B[%k, %c0] to %b : !A to !b
    tile.gemm %a, %b into %c : !a, !b, !c
  }
  tile.copy %c to %C[%c0, %c0] : !c to !A
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

// -----

!a = memref<1x8xf32, #tile.space<shared>>
!b = memref<8x96xf32, #tile.space<shared>>
!c = memref<1x96xf32, #tile.space<local>>
!B = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>

// One row of A uses each row of B once: six vectors of it are read in the tensor, and prefetched 16 rows
// ahead. Nothing is packed.
// CHECK-LABEL: func.func @one_row
// CHECK-NOT: vector.store
// CHECK: scf.for
// CHECK-COUNT-6: llvm.intr.prefetch
// CHECK-COUNT-6: vector.fma
// CHECK: scf.yield
// CHECK-COUNT-6: vector.store %{{.*}} : memref<1x96xf32
// CHECK-NOT: vector.store
func.func @one_row(%B: !B {tile.access = "in"}, %i: index, %runtime: !llvm.ptr) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.copy %B[%c0, %i] to %b : !B to !b
  tile.gemm %a, %b into %c : !a, !b, !c
  return
}

// -----

!a = memref<12x136xf32, #tile.space<shared>>
!b = memref<136x128xf32, #tile.space<shared>>
!c = memref<12x128xf32, #tile.space<local>>

// 64 columns of B are 34 KB: within three quarters of an L1 cache of 48 KB, but not of one of 32 KB.
// CHECK-LABEL: func.func @first_level
// CHECK: scf.for %{{.*}} = %{{.*}} to %c128{{.*}} step %c64
// CHECK: scf.for %{{.*}} = %{{.*}} to %c12{{.*}} step %c6
// SMALL-LABEL: func.func @first_level
// SMALL: scf.for %{{.*}} = %{{.*}} to %c12{{.*}} step %c6
// SMALL: scf.for %{{.*}} to %{{.*}} step %c64
func.func @first_level(%runtime: !llvm.ptr) attributes {tile.kernel} {
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.gemm %a, %b into %c : !a, !b, !c
  return
}

// -----

!a = memref<8x4xf16, #tile.space<shared>>
!b = memref<2x2x16x2xf16, #tile.space<shared>>
!c = memref<8x32xf32, #tile.space<local>>

// A packed operand is converted by vectors: each load has two rows of 16 columns, whose elements
// alternate.
// CHECK-LABEL: func.func @packed
// CHECK: %[[STRIPS:.*]] = tile.alloc : memref<1x4x32xf32
// CHECK: %[[BOTH:.*]] = llvm.load {{.*}} : !llvm.ptr -> vector<32xf16>
// CHECK: %[[EVEN:.*]], %[[ODD:.*]] = vector.deinterleave %[[BOTH]]
// CHECK: arith.extf %[[EVEN]]
// CHECK: arith.extf %[[ODD]]
// CHECK-COUNT-2: vector.store {{.*}}, %[[STRIPS]]
// CHECK: vector.load %[[STRIPS]]
func.func @packed(%runtime: !llvm.ptr) attributes {tile.kernel} {
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.gemm %a, %b into %c : !a, !b, !c
  return
}

// -----

!a = memref<1x4xbf16, #tile.space<shared>>
!b = memref<2x2x16x2xbf16, #tile.space<shared>>
!c = memref<1x32xf32, #tile.space<local>>

// One row reads a packed operand where it is: two vectors of pairs in each step, of which the halves
// are two rows. Nothing is stored but the results.
// CHECK-LABEL: func.func @packed_row
// CHECK-NOT: vector.store %{{.*}} : memref<{{.*}}, vector<16xf32>
// CHECK: scf.for %{{.*}} = %{{.*}} to %c4{{.*}} step %c2
// CHECK: llvm.intr.prefetch
// CHECK: llvm.load {{.*}} : !llvm.ptr -> vector<16xi32>
// CHECK: arith.shli
// CHECK: arith.andi
// CHECK-COUNT-4: vector.fma
// CHECK-NOT: vector.fma
// CHECK-COUNT-2: vector.store %{{.*}} : memref<1x32xf32
func.func @packed_row(%runtime: !llvm.ptr) attributes {tile.kernel} {
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.gemm %a, %b into %c : !a, !b, !c
  return
}
