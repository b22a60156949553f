// RUN: penstock-opt %s -split-input-file --tile-attach-target=target=sm_90a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s

// A map into registers that loads elements copies the thread number: LLVM would compute the
// addresses of all registers before a loop around it. Indices that are inside have no condition.
// CHECK-LABEL: func.func @loads(
// CHECK: llvm.inline_asm has_side_effects {{.*}}"mov.b32 $0, $1;"
// CHECK-NOT: scf.if
// CHECK: llvm.load {{.*}} -> i8
// CHECK: return
func.func @loads() attributes {tile.kernel, nv.threads = 128 : i64} {
  %zero = arith.constant 0 : i8
  %bytes = tile.alloc "bytes" : memref<64x32xi8, #tile.space<shared>>
  tile.fill %bytes, %zero : memref<64x32xi8, #tile.space<shared>>, i8
  %values = tile.alloc "values" : memref<64x64xi32, #tile.space<local>>
  tile.map %values dims [] {
    %c2 = arith.constant 2 : index
    %r = tile.element_index 0
    %k = tile.element_index 1
    %half = arith.divui %k, %c2 : index
    %byte = tile.load %bytes[%r, %half] : memref<64x32xi8, #tile.space<shared>> -> i8
    %word = arith.extui %byte : i8 to i32
    tile.yield %word : i32
  } : memref<64x64xi32, #tile.space<local>>
  return
}

// -----

// Others do not: their inputs lie at constants from an address.
// CHECK-LABEL: func.func @inputs(
// CHECK-NOT: "mov.b32 $0, $1;"
// CHECK: return
func.func @inputs() attributes {tile.kernel, nv.threads = 128 : i64} {
  %zero = arith.constant 0 : i8
  %bytes = tile.alloc "bytes" : memref<64x64xi8, #tile.space<shared>>
  tile.fill %bytes, %zero : memref<64x64xi8, #tile.space<shared>>, i8
  %values = tile.alloc "values" : memref<64x64xi32, #tile.space<local>>
  tile.map %values ins(%bytes) dims [[0, 1]] {
  ^bb0(%byte: i8):
    %word = arith.extui %byte : i8 to i32
    tile.yield %word : i32
  } : memref<64x64xi32, #tile.space<local>> ins(memref<64x64xi8, #tile.space<shared>>)
  return
}
