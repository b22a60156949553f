// RUN: penstock compile %s k --target native
func.func @k(%n: index) attributes {tile.kernel, tile.unroll = 4 : i64} {
  return
}

// EXPECT: misplaced-attribute.mlir:2: error PS0105: `tile.unroll` belongs on an `scf.for` and must be an integer
// EXPECT:     2 | func.func @k(%n: index) attributes {tile.kernel, tile.unroll = 4 : i64} {
// EXPECT:       | ^
