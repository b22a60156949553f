// RUN: penstock-opt %s --nv-start-kernel --split-input-file --verify-diagnostics

// Operands that only CPUs have.

!a = memref<64x32xi8, #tile.space<shared>>
!b = memref<32x64xi8, #tile.space<shared>>
!c = memref<64x64xi32, #tile.space<local>>

func.func @unsigned() attributes {tile.kernel, tile.target = "sm_90a"} {
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  // expected-error @below {{PS1761: `unsigned_a` of `gemm` is only supported on CPUs}}
  // expected-note @below {{help: subtract 128 from the operand, and correct the accumulator}}
  tile.gemm %a, %b into %c overwrite unsigned_a : !a, !b, !c
  return
}

// -----

!a = memref<64x64xbf16, #tile.space<shared>>
!b = memref<4x32x16x2xbf16, #tile.space<shared>>
!c = memref<64x64xf32, #tile.space<local>>

func.func @packed() attributes {tile.kernel, tile.target = "sm_90a"} {
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  // expected-error @below {{PS1761: the packed operand `b` (4x32x16x2 bf16, shared) of `gemm` is only supported on CPUs}}
  // expected-note @below {{help: multiply by a two-dimensional tile}}
  tile.gemm %a, %b into %c overwrite : !a, !b, !c
  return
}
