// A constant of an f8 type is folded and expanded no more than once: rewriting
// it as a bitcast of a byte, which folds back, never ended.
// RUN: penstock-opt %s --penstock-native | FileCheck %s

!tile = memref<4xf8E5M2, #tile.space<local>>

// CHECK-LABEL: llvm.func @k(
// CHECK: llvm.mlir.constant(1.500000e+00 : f8E5M2) : i8
func.func @k() attributes {tile.kernel} {
  %c = arith.constant 1.5 : f8E5M2
  %byte = arith.constant 60 : i8
  %d = arith.bitcast %byte : i8 to f8E5M2
  %t = tile.alloc : !tile
  tile.fill %t, %c : !tile, f8E5M2
  tile.fill %t, %d : !tile, f8E5M2
  return
}
