// RUN: penstock-opt %s --tile-lower-launch | FileCheck %s
// RUN: penstock-opt %s --tile-lower-launch=requirements=true | FileCheck %s --check-prefix=MOVED

!t = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>

// The launch function stores the extents, then multiplier, shift and divisor of the division; the
// kernel gets four more arguments.
// CHECK-LABEL: func.func @k.launch
// CHECK-SAME: memref<?xi64>, %{{.*}}: !llvm.ptr) attributes {penstock.pack}
// CHECK: arith.ceildivsi
// CHECK: memref.store
// CHECK: arith.divui {{.*}} {penstock.safe} : i64
// CHECK-LABEL: func.func @k(
// CHECK-SAME: [[BLOCK:%[a-z0-9]+]]: index, %{{[a-z0-9]+}}: memref<?xi64>, %{{.*}}: memref<?xi8>, %{{.*}}: !llvm.ptr)
// CHECK-SAME: penstock.launch_constants = 6
// CHECK-NOT: tile.grid
// CHECK-NOT: tile.divmod
// CHECK: arith.divui [[BLOCK]]
// CHECK: [[FIVE:%.*]] = arith.constant 5 : index
// CHECK: [[DIVISOR:%.*]] = memref.load %{{.*}}[[[FIVE]]]
// CHECK: arith.divsi %{{.*}}, [[DIVISOR]] {penstock.reciprocal = 3 : i64} : i64
// CHECK: arith.remsi %{{.*}}, [[DIVISOR]] {penstock.reciprocal = 3 : i64} : i64
func.func @k(%A: !t) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %m = memref.dim %A, %c0 : !t
  %n = memref.dim %A, %c1 : !t
  %gm = arith.ceildivsi %m, %c32 : index
  %b:2 = tile.grid %gm, %n swizzle 4 : index, index
  %q, %r = tile.divmod %b#0, %n
  %v = arith.constant 1.0 : f32
  tile.store %v, %A[%q, %r] : f32, !t
  return
}

// Assertions stay with the block, which reports them; where blocks cannot, the
// launch does.
// CHECK-LABEL: func.func @require.launch
// CHECK-NOT: tile.assert
// CHECK-LABEL: func.func @require(
// CHECK: tile.assert
// MOVED-LABEL: func.func @require.launch
// MOVED: [[N:%.*]] = memref.dim
// MOVED: [[SHORT:%.*]] = arith.cmpi sle, [[N]]
// MOVED: tile.assert [[SHORT]], "short rows"
// MOVED-LABEL: func.func @require(
// MOVED-NOT: tile.assert
func.func @require(%A: !t) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %n = memref.dim %A, %c1 : !t
  %short = arith.cmpi sle, %n, %c32 : index
  tile.assert %short, "short rows"
  return
}
