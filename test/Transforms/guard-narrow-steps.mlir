// RUN: penstock-opt %s --tile-lower-launch --tile-guard-faults | FileCheck %s

// Loops that count in 32 bits have a step of 32 bits.


// CHECK-LABEL: func.func @k(
// CHECK-SAME: %[[N:.*]]: i32, %[[STEP:.*]]: i32,
// CHECK: arith.cmpi sle, %[[STEP]], %{{.*}} : i32
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} : i32
func.func @k(%n: i32, %step: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  scf.for %i = %c0 to %n step %step : i32 {
    tile.print "{}" %i : i32
  }
  return
}
