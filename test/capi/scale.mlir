!tensor = memref<?xf32, strided<[1]>, #tile.space<global>>
!tile = memref<256xf32, #tile.space<local>>

func.func @scale(%x: !tensor {tile.access = "inout", tile.name = "x"}, %f: f32 {tile.name = "f"},
                 %more: i32 {tile.name = "more"})
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %n = memref.dim %x, %c0 : !tensor
  %blocks = arith.ceildivsi %n, %c256 : index
  %block = tile.grid %blocks : index
  %start = arith.muli %block, %c256 : index
  %t = tile.alloc "t" : !tile
  %addend = arith.sitofp %more : i32 to f32
  tile.copy %x[%start] to %t : !tensor to !tile
  tile.map %t ins(%t) dims [[0]] {
  ^bb0(%e: f32):
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %p, %addend : f32
    tile.yield %r : f32
  } : !tile ins(!tile)
  tile.copy %t to %x[%start] : !tile to !tensor
  return
}
