// RUN: penstock-opt %s -split-input-file --tile-attach-target=target=sm_80 --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s

// 128 threads copy 16 rows of 8 pieces together: pieces of a thread are 16 rows apart, which are
// 2048 bytes in shared memory, and 32 strides in the tensor.

// The loop leaves rows as they are. Whether they are in the tensor is one bit for each piece,
// computed before the loop, as is the address of the row. In the loop, the column is tested once
// for all pieces, and each piece but the first has one addition.

// CHECK-LABEL: func.func @columns(
// CHECK: %[[TENSOR:.*]] = llvm.load
// CHECK: %[[BITS:.*]] = llvm.inline_asm "{{.*}}selp.b32 bit, 1, 0, $1;{{.*}}selp.b32 bit, 2, 0, $2;{{.*}}selp.b32 bit, 4, 0, $3;{{.*}}selp.b32 bit, 8, 0, $4;
// CHECK: %[[START:.*]] = arith.addi %{{.*}}, %{{.*}} : i64
// CHECK: %[[STEP:.*]] = arith.muli %{{.*}}, %c32_i64
// CHECK: scf.for
// CHECK: %[[OUTSIDE:.*]] = arith.cmpi uge
// CHECK-NOT: arith.cmpi
// CHECK: %[[WORD:.*]] = llvm.inline_asm "selp.b32 $0, -1, $1, $2;", "=r,r,b" %[[BITS]], %[[OUTSIDE]]
// CHECK: %[[FIRST:.*]] = arith.addi %[[START]], %{{.*}} : i64
// CHECK: %[[TO:.*]] = llvm.ptrtoint
// CHECK-NEXT: and.b32 bit, $2, 1; setp.ne.b32 absent, bit, 0; cp.async.cg.shared.global [$0], [$1], 16, absent; }", "r,l,r,~{memory}" %[[TO]], %[[FIRST]], %[[WORD]]
// CHECK-NEXT: %[[SECOND:.*]] = arith.addi %[[FIRST]], %[[STEP]]
// CHECK-NEXT: and.b32 bit, $2, 2; setp.ne.b32 absent, bit, 0; cp.async.cg.shared.global [$0+2048], [$1], 16, absent; }", "r,l,r,~{memory}" %[[TO]], %[[SECOND]], %[[WORD]]
// CHECK-NEXT: %[[THIRD:.*]] = arith.addi %[[SECOND]], %[[STEP]]
// CHECK-NEXT: and.b32 bit, $2, 4;{{.*}}[$0+4096]{{.*}} %[[TO]], %[[THIRD]], %[[WORD]]
// CHECK-NEXT: %[[FOURTH:.*]] = arith.addi %[[THIRD]], %[[STEP]]
// CHECK-NEXT: and.b32 bit, $2, 8;{{.*}}[$0+6144]{{.*}} %[[TO]], %[[FOURTH]], %[[WORD]]
// CHECK-NEXT: cp.async.commit_group
// Launches with rows of other lengths take another kernel.
#s = #tile.space<shared>
#g = #tile.space<global>
!T = memref<?x?xf16, strided<[?, 1]>, #g>
func.func @columns(%A: !T {tile.name = "A", tile.access = "in"}, %m: index, %n: index)
    attributes {tile.kernel, nv.aligned_rows, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %As = tile.alloc "As" : memref<64x64xf16, #s>
  scf.for %i = %c0 to %n step %c1 {
    %k = arith.muli %i, %c64 : index
    %row = arith.muli %m, %c64 : index
    nv.cp_async %A[%row, %k] to %As : !T, memref<64x64xf16, #s>
    nv.cp_async.commit_group
    nv.cp_async.wait_group 0
    nv.sync
  }
  return
}

// -----

// The loop leaves columns as they are. Where those are outside, it has no rows: each piece is one
// comparison.

// CHECK-LABEL: func.func @rows(
// CHECK: %[[OUTSIDE:.*]] = arith.cmpi uge
// CHECK: %[[ROWS:.*]] = arith.select %[[OUTSIDE]], %c0_i32
// CHECK: scf.for
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
// CHECK-NEXT: arith.cmpi uge, %[[ROW]], %[[ROWS]]
// CHECK-NEXT: %[[SECOND:.*]] = arith.addi %[[ROW]], %c16_i32
// CHECK-NEXT: %[[ABSENT:.*]] = arith.cmpi uge, %[[SECOND]], %[[ROWS]]
// CHECK: cp.async.cg.shared.global [$0], [$1], 16, $2;
// CHECK: cp.async.cg.shared.global [$0+2048], [$1], 16, $2;", {{.*}}, %[[ABSENT]] :
#s = #tile.space<shared>
#g = #tile.space<global>
!T = memref<?x?xf16, strided<[?, 1]>, #g>
func.func @rows(%A: !T {tile.name = "A", tile.access = "in"}, %n: index)
    attributes {tile.kernel, nv.aligned_rows, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %As = tile.alloc "As" : memref<64x64xf16, #s>
  scf.for %i = %c0 to %n step %c1 {
    %m = arith.muli %i, %c64 : index
    nv.cp_async %A[%m, %c0] to %As : !T, memref<64x64xf16, #s>
    nv.cp_async.commit_group
    nv.cp_async.wait_group 0
    nv.sync
  }
  return
}

// -----

// Explicit kernels take rows of any length: a piece may be partly in the tensor. Its bytes are
// computed once for all pieces.

// CHECK-LABEL: func.func @explicit(
// CHECK: scf.for
// CHECK: arith.minsi %{{.*}}, %c8_i32
// CHECK: %[[BYTES:.*]] = arith.select %{{.*}}, %c0_i32, %{{.*}} : i32
// CHECK-NOT: arith.minsi
// CHECK: %[[FIRST:.*]] = arith.select %{{.*}}, %c0_i32, %[[BYTES]]
// CHECK: cp.async.cg.shared.global [$0], [$1], 16, $2;", {{.*}}, %[[FIRST]] :
// CHECK: %[[SECOND:.*]] = arith.select %{{.*}}, %c0_i32, %[[BYTES]]
// CHECK: cp.async.cg.shared.global [$0+2048], [$1], 16, $2;", {{.*}}, %[[SECOND]] :
#s = #tile.space<shared>
#g = #tile.space<global>
!T = memref<?x?xf16, strided<[?, 1]>, #g>
func.func @explicit(%A: !T {tile.name = "A", tile.access = "in"}, %m: index, %n: index)
    attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %As = tile.alloc "As" : memref<64x64xf16, #s>
  scf.for %i = %c0 to %n step %c1 {
    %k = arith.muli %i, %c64 : index
    nv.cp_async %A[%m, %k] to %As : !T, memref<64x64xf16, #s>
    nv.cp_async.commit_group
    nv.cp_async.wait_group 0
    nv.sync
  }
  return
}

// -----

// Rows of the tile are boxes of 2 x 32 rows of the tensor. 16 rows further, a piece is in the
// same one, 32 rows further in the next.

// CHECK-LABEL: func.func @boxes(
// CHECK: %[[BITS:.*]] = llvm.inline_asm "{{.*}}selp.b32 bit, 8, 0, $4;
// CHECK: %[[ALONG:.*]] = arith.muli %{{.*}}, %c32_i64
// CHECK: %[[NEXT:.*]] = arith.muli %{{.*}}, %c2_i64
// CHECK: %[[BACK:.*]] = arith.muli %{{.*}}, %c-32_i64
// CHECK: %[[STEP:.*]] = arith.addi %[[NEXT]], %[[BACK]]
// CHECK: scf.for
// CHECK: cp.async.cg.shared.global [$0],
// CHECK-NEXT: %[[SECOND:.*]] = arith.addi %{{.*}}, %[[ALONG]]
// CHECK-NEXT: cp.async.cg.shared.global [$0+2048],
// CHECK-NEXT: %[[THIRD:.*]] = arith.addi %[[SECOND]], %[[STEP]]
// CHECK-NEXT: cp.async.cg.shared.global [$0+4096],
// CHECK-NEXT: %[[FOURTH:.*]] = arith.addi %[[THIRD]], %[[ALONG]]
// CHECK-NEXT: cp.async.cg.shared.global [$0+6144],
#s = #tile.space<shared>
#g = #tile.space<global>
!B = memref<?x?x?xf16, strided<[?, ?, 1]>, #g>
func.func @boxes(%A: !B {tile.name = "A", tile.access = "in"}, %m: index, %n: index)
    attributes {tile.kernel, nv.aligned_rows, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %As = tile.alloc "As" : memref<64x64xf16, #s>
  scf.for %i = %c0 to %n step %c1 {
    %k = arith.muli %i, %c64 : index
    nv.cp_async %A[%m, %c0, %k] to %As rows [2, 32] : !B, memref<64x64xf16, #s>
    nv.cp_async.commit_group
    nv.cp_async.wait_group 0
    nv.sync
  }
  return
}

// -----

// Rows of a tensor, of which there are fewer than 2^31, need no sign: the coordinate is extended by
// zeros. One that may be negative is extended by its sign.

// CHECK-LABEL: func.func @unsigned(
// CHECK: %[[COLUMN:.*]] = arith.extui
// CHECK-NEXT: arith.muli %[[COLUMN]], %c2_i64
// CHECK: %[[STRIDE:.*]] = arith.muli %{{.*}}, %c2_i64
// CHECK: scf.for
// CHECK: %[[ROW:.*]] = arith.extui %{{.*}} : i32 to i64
// CHECK-NEXT: arith.muli %[[ROW]], %[[STRIDE]] : i64
// CHECK: cp.async.commit_group
// CHECK: %[[SIGNED:.*]] = arith.extsi %{{.*}} : i32 to i64
// CHECK-NEXT: arith.muli %[[SIGNED]], %{{.*}} : i64
// CHECK: cp.async.commit_group
#s = #tile.space<shared>
#g = #tile.space<global>
!T = memref<?x?xf16, strided<[?, 1]>, #g>
func.func @unsigned(%A: !T {tile.name = "A", tile.access = "in"})
    attributes {tile.kernel, nv.aligned_rows, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %As = tile.alloc "As" : memref<16x64xf16, #s>
  %Bs = tile.alloc "Bs" : memref<16x64xf16, #s>
  %n = memref.dim %A, %c0 : !T
  scf.for %i = %c0 to %n step %c16 {
    nv.cp_async %A[%i, %c0] to %As : !T, memref<16x64xf16, #s>
    nv.cp_async.commit_group
    %before = arith.subi %i, %c1 : index
    nv.cp_async %A[%before, %c0] to %Bs : !T, memref<16x64xf16, #s>
    nv.cp_async.commit_group
    nv.cp_async.wait_group 0
    nv.sync
  }
  return
}
