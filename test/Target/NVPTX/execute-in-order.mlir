// RUN: penstock-opt %s --nv-choose-threads --nv-execute-in-order --split-input-file | FileCheck %s

// A pipelined loop without its schedule, waits and names; one group of four warps.

#s = #tile.space<shared>
#g = #tile.space<global>

// CHECK-LABEL: func.func @sums
// CHECK-SAME: nv.in_order, nv.threads = 128
// CHECK: scf.for
// CHECK-NEXT: tile.copy %{{.*}} to %X :
// CHECK-NEXT: tile.reduce sum
// CHECK-NEXT: }
// CHECK-NOT: tile.schedule
func.func @sums(%x: memref<?x?xf32, strided<[?, 1]>, #g>, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : memref<32x32xf32, #s>
  %sum = tile.alloc "sum" : memref<32xf32, #tile.space<local>>
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%c0, %k] to %X async "load" : memref<?x?xf32, strided<[?, 1]>, #g> to memref<32x32xf32, #s>
    tile.wait ["load"]
    tile.statement "sums" {
      tile.reduce sum %X along 1 into %sum accumulate : memref<32x32xf32, #s>, memref<32xf32, #tile.space<local>>
    }
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// -----

// Two tiles of 128 x 128 words take 128 registers of each of 256 threads.

// CHECK-LABEL: func.func @large
// CHECK-SAME: nv.threads = 256
func.func @large() attributes {tile.kernel} {
  %a = tile.alloc : memref<128x128xf32, #tile.space<local>>
  %b = tile.alloc : memref<128x128xf32, #tile.space<local>>
  return
}

// -----

// A kernel that has threads already is left alone.

// CHECK-LABEL: func.func @explicit
// CHECK-NOT: nv.in_order
// CHECK-SAME: nv.threads = 64
func.func @explicit() attributes {nv.threads = 64, tile.kernel} {
  return
}
