// RUN: penstock-opt %s -split-input-file -verify-diagnostics --tile-resolve-schedules

// Annotations under the names of other tile languages are refused, not ignored.

!t = memref<?xf32, strided<[1]>, #tile.space<global>>

func.func @raw(%A: !t {tile.access = "in"}, %n: index) attributes {tile.kernel} {
  %s = tile.alloc "s" : memref<128xf32, #tile.space<shared>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error@+2 {{PS0105: `software_pipeline_order` does not schedule a loop}}
  // expected-note@+1 {{#tile.schedule<order = ..>}}
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %A[%k] to %s : !t to memref<128xf32, #tile.space<shared>>
  } {software_pipeline_stage = [0], software_pipeline_order = [0]}
  return
}

// -----

!t = memref<?xf32, strided<[1]>, #tile.space<global>>

func.func @planned(%A: !t {tile.access = "in"}, %n: index) attributes {tile.kernel} {
  %s = tile.alloc "s" : memref<128xf32, #tile.space<shared>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error@+2 {{PS0105: `tl_pipeline_stage` does not schedule a loop}}
  // expected-note@+1 {{#tile.schedule<stage = ..>}}
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %A[%k] to %s : !t to memref<128xf32, #tile.space<shared>>
  } {tl_pipeline_stage = [0]}
  return
}

// -----

!t = memref<?xf32, strided<[1]>, #tile.space<global>>

func.func @depth(%A: !t {tile.access = "in"}, %n: index) attributes {tile.kernel} {
  %s = tile.alloc "s" : memref<128xf32, #tile.space<shared>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error@+2 {{PS0105: `num_stages` does not schedule a loop}}
  // expected-note@+1 {{#tile.schedule<num_stages = ..>}}
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %A[%k] to %s : !t to memref<128xf32, #tile.space<shared>>
  } {num_stages = 3}
  return
}
