// RUN: penstock compile %s k --target native
!T = memref<?xf32, strided<[1]>, #tile.space<global>>
func.func @k(%A: !T, %B: !T) attributes {tile.kernel} {
  %x = arith.constant 0.0 : f32
  tile.fill %A, %x : !T, f32
  return
}

// EXPECT: fill-of-a-tensor.mlir:5: error PS1105: the target of `fill` is the tensor a tile (? f32, global), not a tile of the block
// EXPECT:     5 |   tile.fill %A, %x : !T, f32
// EXPECT:       |   ^
// EXPECT:   help: copy the part you need into a shared or local tile first
