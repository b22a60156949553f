// A loop whose end lies before its start runs no iteration, unrolled or not;
// one whose step is not known to be positive is not unrolled.
// RUN: penstock-opt %s --tile-unroll-loops | FileCheck %s

// CHECK-LABEL: func.func @bounds
// CHECK: arith.maxsi %arg0, %arg1 : index
// CHECK: scf.for
func.func @bounds(%from: index, %to: index, %step: index) attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  scf.for %i = %from to %to step %c1 {
    tile.print "{}" %i : index
  } {tile.unroll = 3 : i64}
  // CHECK: scf.for %{{.*}} = %arg0 to %arg1 step %arg2
  scf.for %i = %from to %to step %step {
    tile.print "{}" %i : index
  } {tile.unroll = 3 : i64}
  return
}
