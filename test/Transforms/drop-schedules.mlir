// RUN: penstock-opt %s --tile-resolve-schedules --tile-drop-schedules | FileCheck %s

// A pipelined loop with a pipelined loop as one of its statements; the factor of unrolling stays.
// CHECK-LABEL: func.func @nested
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NEXT: tile.store
// CHECK-NOT: tile.schedule
// CHECK: {tile.unroll = 2 : i64}
// CHECK-NOT: tile.schedule
func.func @nested(%v: memref<f32, #tile.space<local>>, %n: index, %x: f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %n step %c1 {
      tile.store %x, %v[] : f32, memref<f32, #tile.space<local>>
    } {tile.schedule = #tile.schedule<stage = [0], order = [0]>, tile.unroll = 2 : i64}
    tile.store %x, %v[] : f32, memref<f32, #tile.space<local>>
  } {tile.schedule = #tile.schedule<stage = [0, 0], order = [0, 1]>}
  return
}
