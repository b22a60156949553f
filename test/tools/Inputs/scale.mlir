!tensor = memref<?xf32, strided<[1]>, #tile.space<global>>
!tile = memref<256xf32, #tile.space<local>>

func.func @scale(%x: !tensor {tile.access = "in", tile.name = "x"}, %f: f32 {tile.name = "f"},
                 %y: !tensor {tile.access = "out", tile.name = "y"})
    attributes {tile.kernel, tile.signature = "x[n], f -> y[n]"} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %n = memref.dim %x, %c0 : !tensor
  %blocks = arith.ceildivsi %n, %c256 : index
  %block = tile.grid %blocks : index
  %start = arith.muli %block, %c256 : index
  %t = tile.alloc "t" : !tile
  tile.copy %x[%start] to %t : !tensor to !tile
  tile.map %t ins(%t) dims [[0]] {
  ^bb0(%e: f32):
    %r = arith.mulf %e, %f : f32
    tile.yield %r : f32
  } : !tile ins(!tile)
  tile.copy %t to %y[%start] : !tile to !tensor
  return
}
