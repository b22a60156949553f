// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-start-kernel=aligned-rows=true --nv-pad-operands --nv-choose-threads --nv-bind-engines -verify-diagnostics

// nv-pad-operands has chosen TMA for the copy, whose tensors have at most 5 dimensions.

!A = memref<?x?x?x?x?x?xi8, strided<[?, ?, ?, ?, ?, 1]>, #tile.space<global>>
!a = memref<128x96xi8, #tile.space<shared>>
!b = memref<128x128xf8E4M3FN, #tile.space<shared>>
!t = memref<128x128xf8E4M3FN, strided<[1, 128]>, #tile.space<shared>>
!s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
!d = memref<128x128xf32, #tile.space<local>>
func.func @six_dimensions(%A: !A {tile.name = "A", tile.packed = "f6e2m3_packed"}, %n: index)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %As = tile.alloc "As" : !a
  %Bs = tile.alloc "Bs" : !b
  %S = tile.alloc "S" : !s
  %acc = tile.alloc "acc" : !d
  %Bt = memref.transpose %Bs (i, j) -> (j, i) : !b to !t
  scf.for %k = %c0 to %n step %c1 {
    %at = arith.muli %c96, %k : index
    // expected-error @+2 {{PS1744: TMA does not copy `A` (?x?x?x?x?x? f6e2m3_packed, global) to `As` (128x128 i8, shared), whose values are padded}}
    // expected-note @+1 {{help: copy from a tensor of at most 5 dimensions; or unpack the values with b.unpack(packed, values)}}
    tile.copy %A[%c0, %c0, %c0, %c0, %c0, %at] to %As : !A to !a
    tile.gemm %As, %Bt into %acc scales(%S, %S) packing_a f6e2m3 : !a, !t, !d scales(!s, !s)
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}
