!a = memref<?x?xbf16, strided<[?, 1]>, #tile.space<global>>
!c = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!As = memref<64x128xbf16, #tile.space<shared>>
!Bs = memref<128x64xbf16, #tile.space<shared>>
!acc = memref<64x64xf32, #tile.space<local>>
func.func @product(%A: !a {tile.access = "in"}, %B: !a {tile.access = "in"}, %C: !c {tile.access = "out"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %As = tile.alloc "As" : !As
  %Bs = tile.alloc "Bs" : !Bs
  %acc = tile.alloc "acc" : !acc
  tile.fill %acc, %zero : !acc, f32
  tile.copy %A[%c0, %c0] to %As : !a to !As
  tile.copy %B[%c0, %c0] to %Bs : !a to !Bs
  tile.gemm %As, %Bs into %acc : !As, !Bs, !acc
  tile.copy %acc to %C[%c0, %c0] : !acc to !c
  return
}
