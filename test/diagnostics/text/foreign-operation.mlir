// RUN: penstock compile %s k --target native
func.func @k(%x: f32) attributes {tile.kernel} {
  %0 = vector.broadcast %x : f32 to vector<4xf32>
  return
}

// EXPECT: foreign-operation.mlir:3: error PS0103: `vector.broadcast` is not part of a tile program
// EXPECT:     3 |   %0 = vector.broadcast %x : f32 to vector<4xf32>
// EXPECT:       |        ^
