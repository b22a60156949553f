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
