!t = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!s = memref<128x64xf16, #tile.space<shared>>
!b = memref<64x128xf16, #tile.space<shared>>
!a = memref<128x128xf32, #tile.space<local>>
func.func @too_deep(%A: !t {tile.access = "in", tile.name = "A"}, %B: !t {tile.access = "in", tile.name = "B"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %As = tile.alloc "As" : !s
  %Bs = tile.alloc "Bs" : !b
  %acc = tile.alloc "acc" : !a
  scf.for %k = %c0 to %n step %c1 {
    %o = arith.muli %k, %c64 : index
    tile.copy %A[%c0, %o] to %As : !t to !s
    tile.copy %B[%o, %c0] to %Bs : !t to !b
    tile.gemm %As, %Bs into %acc : !s, !b, !a
  } {tile.schedule = #tile.schedule<num_stages = 20>}
  return
}
