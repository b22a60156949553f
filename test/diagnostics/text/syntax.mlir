// RUN: penstock compile %s k --target native
func.func @k(%x: f32) attributes {tile.kernel} {
  tile.print "{}" %x f32
  return
}

// EXPECT: syntax.mlir:3: error PS0101: expected ':'
// EXPECT:     3 |   tile.print "{}" %x f32
// EXPECT:       |                     ^
