// RUN: penstock compile %s k --target native
func.func @k() attributes {tile.kernel} {
  %a = tile.alloc "a" : memref<8x4xf32, #tile.space<shared>>
  %b = tile.alloc "b" : memref<1x2x16x2xf32, #tile.space<shared>>
  %c = tile.alloc "c" : memref<8x16xf32, #tile.space<local>>
  tile.gemm %a, %b into %c : memref<8x4xf32, #tile.space<shared>>,
    memref<1x2x16x2xf32, #tile.space<shared>>, memref<8x16xf32, #tile.space<local>>
  return
}

// EXPECT: packed-operand.mlir:6: error PS1762: a packed operand of `gemm` has elements of f16, bf16 or i8, not f32
// EXPECT:     6 |   tile.gemm %a, %b into %c : memref<8x4xf32, #tile.space<shared>>,
// EXPECT:       |   ^
// EXPECT:   help: other types are multiplied from two-dimensional tiles
