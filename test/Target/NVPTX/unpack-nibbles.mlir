// RUN: penstock-opt %s -split-input-file --tile-attach-target=target=sm_90a --tile-lower-launch --tile-guard-faults=keep-elements --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s

// Two f16 take a permutation, two operations on bits and an FMA. Four bytes are loaded together.
// CHECK-LABEL: func.func @half(
// CHECK-NOT: -> i8
// CHECK: llvm.load {{.*}} -> i32
// CHECK-NOT: -> i8
// CHECK: "prmt.b32 $0, $1, $2, $3;"
// CHECK-NOT: arith.sitofp
// CHECK: "fma.rn.f16x2 $0, $1, $2, $3;"
// CHECK-NOT: arith.sitofp
// CHECK: return
func.func @half() attributes {tile.kernel, nv.threads = 128 : i64} {
  %zero = arith.constant 0 : i8
  %bytes = tile.alloc "bytes" : memref<64x32xi8, #tile.space<shared>>
  tile.fill %bytes, %zero : memref<64x32xi8, #tile.space<shared>>, i8
  %values = tile.alloc "values" : memref<64x64xf16, #tile.space<shared>>
  tile.map %values dims [] {
    %two = arith.constant 2 : index
    %c2 = arith.constant 2 : i32
    %c28 = arith.constant 28 : i32
    %r = tile.element_index 0
    %k = tile.element_index 1
    %at = arith.divui %k, %two : index
    %byte = tile.load %bytes[%r, %at] : memref<64x32xi8, #tile.space<shared>> -> i8
    %word = arith.extui %byte : i8 to i32
    %odd = arith.remui %k, %two : index
    %i = arith.index_cast %odd : index to i32
    %shift = arith.shli %i, %c2 : i32
    %by = arith.subi %c28, %shift : i32
    %top = arith.shli %word, %by : i32
    %value = arith.shrsi %top, %c28 : i32
    %real = arith.sitofp %value : i32 to f16
    tile.yield %real : f16
  } : memref<64x64xf16, #tile.space<shared>>
  return
}

// -----

// Odd elements are the low halves here: this is another function.
// CHECK-LABEL: func.func @other(
// CHECK-NOT: prmt
// CHECK: arith.sitofp
// CHECK: return
func.func @other() attributes {tile.kernel, nv.threads = 128 : i64} {
  %zero = arith.constant 0 : i8
  %bytes = tile.alloc "bytes" : memref<64x32xi8, #tile.space<shared>>
  tile.fill %bytes, %zero : memref<64x32xi8, #tile.space<shared>>, i8
  %values = tile.alloc "values" : memref<64x64xf16, #tile.space<shared>>
  tile.map %values dims [] {
    %two = arith.constant 2 : index
    %c2 = arith.constant 2 : i32
    %c24 = arith.constant 24 : i32
    %c28 = arith.constant 28 : i32
    %r = tile.element_index 0
    %k = tile.element_index 1
    %at = arith.divui %k, %two : index
    %byte = tile.load %bytes[%r, %at] : memref<64x32xi8, #tile.space<shared>> -> i8
    %word = arith.extui %byte : i8 to i32
    %odd = arith.remui %k, %two : index
    %i = arith.index_cast %odd : index to i32
    %shift = arith.shli %i, %c2 : i32
    %by = arith.addi %c24, %shift : i32
    %top = arith.shli %word, %by : i32
    %value = arith.shrsi %top, %c28 : i32
    %real = arith.sitofp %value : i32 to f16
    tile.yield %real : f16
  } : memref<64x64xf16, #tile.space<shared>>
  return
}
