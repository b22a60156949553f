// RUN: penstock-opt %s --nv-verify-phase="phase=bound after=nv-bind-engines" --split-input-file --verify-diagnostics

!s = memref<64x64xf16, #tile.space<shared>>
!c = memref<64x64xf32, #tile.space<local>>
// No violation.
func.func @right() attributes {tile.kernel, tile.target = "sm_90a", nv.phase = #nv.phase<bound>, nv.threads = 128 : i64, nv.tile_program} {
  %A = tile.alloc "A" : !s
  %acc = tile.alloc "acc" : !c
  tile.gemm %A, %A into %acc {nv.engine = #nv.engine<wgmma>} : !s, !s, !c
  return
}

// -----

!s = memref<64x64xf16, #tile.space<shared>>
!c = memref<64x64xf32, #tile.space<local>>
func.func @engine() attributes {tile.kernel, tile.target = "sm_90a", nv.phase = #nv.phase<bound>, nv.threads = 128 : i64, nv.tile_program} {
  %A = tile.alloc "A" : !s
  %acc = tile.alloc "acc" : !c
  // expected-error @below {{after `nv-bind-engines` the kernel is not in phase `bound`: `tile.gemm` has no `nv.engine`}}
  tile.gemm %A, %A into %acc : !s, !s, !c
  return
}

// -----

// expected-error @below {{`func.func` is in phase `tile`}}
func.func @phase() attributes {tile.kernel, tile.target = "sm_90a", nv.phase = #nv.phase<tile>, nv.threads = 128 : i64, nv.tile_program} {
  return
}

// -----

// A statement without a position.
!l = memref<f32, #tile.space<local>>
func.func @schedule(%n: index, %x: f32) attributes {tile.kernel, tile.target = "sm_90a", nv.phase = #nv.phase<bound>, nv.threads = 128 : i64, nv.tile_program} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = tile.alloc "v" : !l
  scf.for %k = %c0 to %n step %c1 {
    // expected-error @below {{`tile.store` is a statement of a pipelined loop and has no `tile.scheduled`}}
    tile.store %x, %v[] : f32, !l
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// -----

// Functions that are no kernels are not checked.
func.func @helper() {
  return
}
