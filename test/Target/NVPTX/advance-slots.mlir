// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-advance-slots | FileCheck %s

#l = #tile.space<local>

// A slot that starts at 0 and goes round, and the one that is loaded ahead of it.

// CHECK-LABEL: func.func @ring
// CHECK: scf.for
// CHECK: %[[SLOT:.*]] = tile.load
// CHECK: %[[NEXT:.*]] = arith.addi %[[SLOT]]
// CHECK: %[[BEYOND:.*]] = arith.cmpi sge, %[[NEXT]]
// CHECK: %[[BACK:.*]] = arith.subi %[[NEXT]]
// CHECK: arith.select %[[BEYOND]], %[[BACK]], %[[NEXT]]
// CHECK: arith.cmpi sge
// CHECK-NOT: arith.remsi
func.func @ring(%n: index) attributes {tile.kernel, nv.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %slot = tile.alloc "slot" : memref<i32, #l>
  %copy = tile.alloc "copy" : memref<i32, #l>
  tile.store %zero, %slot[] : i32, memref<i32, #l>
  %start = tile.load %slot[] : memref<i32, #l> -> i32
  tile.store %start, %copy[] : i32, memref<i32, #l>
  scf.for %i = %c0 to %n step %c1 {
    %a = tile.load %slot[] : memref<i32, #l> -> i32
    %b = arith.addi %a, %one : i32
    %c = arith.remsi %b, %three : i32
    tile.store %c, %slot[] : i32, memref<i32, #l>
    %d = tile.load %copy[] : memref<i32, #l> -> i32
    %e = arith.addi %d, %two : i32
    %f = arith.remsi %e, %three : i32
    tile.store %f, %copy[] : i32, memref<i32, #l>
  }
  return
}

// Not known to stay within: it starts outside, or comes from elsewhere.

// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: arith.remsi
func.func @others(%n: index, %x: i32) attributes {tile.kernel, nv.threads = 32 : i64} {
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %four = arith.constant 4 : i32
  %outside = tile.alloc "outside" : memref<i32, #l>
  tile.store %three, %outside[] : i32, memref<i32, #l>
  %a = tile.load %outside[] : memref<i32, #l> -> i32
  %b = arith.addi %a, %one : i32
  %c = arith.remsi %b, %three : i32
  tile.store %c, %outside[] : i32, memref<i32, #l>
  %given = tile.alloc "given" : memref<i32, #l>
  tile.store %x, %given[] : i32, memref<i32, #l>
  %d = tile.load %given[] : memref<i32, #l> -> i32
  %e = arith.addi %d, %one : i32
  %f = arith.remsi %e, %three : i32
  tile.store %f, %given[] : i32, memref<i32, #l>
  // Too far for one subtraction.
  %far = tile.alloc "far" : memref<i32, #l>
  tile.store %one, %far[] : i32, memref<i32, #l>
  %g = tile.load %far[] : memref<i32, #l> -> i32
  %h = arith.addi %g, %four : i32
  %i = arith.remsi %h, %three : i32
  tile.store %i, %far[] : i32, memref<i32, #l>
  return
}
