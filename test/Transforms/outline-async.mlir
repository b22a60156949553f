// RUN: penstock-opt %s --tile-lower-launch --tile-outline-async | FileCheck %s --check-prefix=EAGER
// RUN: penstock-opt %s --tile-lower-launch --tile-outline-async=late=true | FileCheck %s --check-prefix=LATE

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<16xf32, #tile.space<shared>>

// EAGER-LABEL: func.func @k(
// EAGER: tile.copy
// EAGER-NOT: async
// EAGER-NOT: tile.wait

// LATE: func.func private @k.async.0
// LATE: tile.copy
// LATE-NOT: async "load"
// LATE-LABEL: func.func @k(
// LATE: call @penstock_async_loop
// LATE: scf.for
// LATE: call @k.async.0({{.*}}) {penstock.async = 0 : i64}
// LATE: call @penstock_async_wait
func.func @k(%A: !t) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = tile.alloc "s" : !s
  scf.for %i = %c0 to %c4 step %c1 {
    tile.copy %A[%i] to %s async "load" : !t to !s
    tile.wait ["load"] lag 1
  }
  return
}

!m = memref<4x4xf32, #tile.space<shared>>
!acc = memref<4x4xf32, #tile.space<local>>

// Products into one accumulator are told by its address.
// LATE-LABEL: func.func @chained(
// LATE: %[[ACC:.*]] = tile.alloc "acc"
// LATE: %[[CHAIN:.*]] = memref.extract_aligned_pointer_as_index %[[ACC]]
// LATE: call @chained.async.1(%{{.*}}, %[[CHAIN]],
func.func @chained() attributes {tile.kernel} {
  %x = tile.alloc "x" : !m
  %acc = tile.alloc "acc" : !acc
  tile.gemm %x, %x into %acc async "product" : !m, !m, !acc
  tile.wait ["product"]
  return
}

!part = memref<3x4xf32, strided<[4, 1]>, #tile.space<shared>>
!rest = memref<3x4xf32, strided<[4, 1], offset: 4>, #tile.space<shared>>

// Two views of one tile: what is read goes through a tile of its own.
// LATE: func.func private @shift.async.2(%{{.*}}: index, %{{.*}}: index, %[[FROM:.*]]: memref<3x4xf32, {{.*}}>, %[[TO:.*]]: memref<3x4xf32, {{.*}}>, %[[BETWEEN:.*]]: memref<3x4xf32, #tile.space<local>>
// LATE-NEXT: tile.copy %[[FROM]] to %[[BETWEEN]]
// LATE-NEXT: tile.copy %[[BETWEEN]] to %[[TO]]
func.func @shift() attributes {tile.kernel} {
  %x = tile.alloc "x" : !m
  %from = memref.subview %x[0, 0] [3, 4] [1, 1] : !m to !part
  %to = memref.subview %x[1, 0] [3, 4] [1, 1] : !m to !rest
  tile.copy %from to %to async "shift" : !part to !rest
  tile.wait ["shift"]
  return
}
