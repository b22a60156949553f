// RUN: penstock compile %s k --target native
func.func @k(%x: tensor<4xf32>) attributes {tile.kernel} {
  return
}

// EXPECT: foreign-type.mlir:2: error PS0104: argument 0 is neither a tensor nor a scalar
// EXPECT:     2 | func.func @k(%x: tensor<4xf32>) attributes {tile.kernel} {
// EXPECT:       | ^
