// Views lead back to the tile that they show, through transposes too.
// RUN: penstock-opt %s -split-input-file -verify-diagnostics --penstock-native

!tile = memref<4x8xf32, #tile.space<local>>
!transposed = memref<8x4xf32, strided<[1, 8]>, #tile.space<local>>

func.func @slice_of_transpose() attributes {tile.kernel} {
  %zero = arith.constant 0.0 : f32
  %t = tile.alloc : !tile
  %u = memref.transpose %t (i, j) -> (j, i) : !tile to !transposed
  %s = memref.subview %u[2, 1] [4, 2] [1, 1] : !transposed
    to memref<4x2xf32, strided<[1, 8], offset: 10>, #tile.space<local>>
  tile.fill %s, %zero : memref<4x2xf32, strided<[1, 8], offset: 10>, #tile.space<local>>, f32
  return
}

// -----

!tile = memref<4x4xf32, #tile.space<local>>
!transposed = memref<4x4xf32, strided<[1, 4]>, #tile.space<local>>

func.func @accumulator_is_operand() attributes {tile.kernel} {
  %a = tile.alloc "a" : !tile
  %u = memref.transpose %a (i, j) -> (j, i) : !tile to !transposed
  // expected-note @+2 {{help: copy the operand into a tile of its own first}}
  // expected-error @+1 {{PS1102: the accumulator `a` (4x4 f32, local) is also an operand of `gemm`}}
  tile.gemm %u, %u into %a : !transposed, !transposed, !tile
  return
}
