// RUN: penstock compile %s k --target native
!T = memref<?xf32, strided<[1]>, #tile.space<global>>
func.func @k(%A: !T {tile.access = "in", tile.name = "A"}, %x: f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  tile.store %x, %A[%c0] : f32, !T
  return
}

// EXPECT: write-to-input.mlir:5: error PS1106: `store` writes to `A` (? f32, global), which the kernel declares as an input
// EXPECT:     5 |   tile.store %x, %A[%c0] : f32, !T
// EXPECT:       |   ^
// EXPECT:   help: declare the argument as Out<..> or InOut<..>
