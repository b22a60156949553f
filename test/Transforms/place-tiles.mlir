// RUN: penstock-opt %s --tile-lower-launch --tile-lower-to-loops --tile-place-tiles | FileCheck %s

// 5 x 3 f16 are 30 bytes, so the second tile starts at 64; the scalar is a
// stack slot.
// CHECK-LABEL: func.func @k(
// CHECK-SAME: penstock.scratch = 128
// CHECK: memref.view %{{.*}}[%c0{{.*}}][] : memref<?xi8> to memref<5x3xf16>
// CHECK: memref.view %{{.*}}[%c64{{.*}}][] : memref<?xi8> to memref<4xf32>
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<i32>
// CHECK-NOT: tile.
func.func @k(%x: f16, %y: f32) attributes {tile.kernel} {
  %a = tile.alloc "a" : memref<5x3xf16, #tile.space<shared>>
  %b = tile.alloc "b" : memref<4xf32, #tile.space<local>>
  %c = tile.alloc "c" : memref<i32, #tile.space<local>>
  tile.fill %a, %x : memref<5x3xf16, #tile.space<shared>>, f16
  tile.fill %b, %y : memref<4xf32, #tile.space<local>>, f32
  return
}
