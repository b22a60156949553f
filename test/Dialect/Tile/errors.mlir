// What verifiers refuse. The C++ front end's messages are pinned, with the
// user's lines, by test/diagnostics.
// RUN: penstock-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{PS1213: `stage` is given without `order`}}
#s = #tile.schedule<stage = [0, 1]>

// -----

// expected-error @+1 {{PS1215: `num_stages` is 0}}
#s = #tile.schedule<num_stages = 0>

// -----

// expected-error @+1 {{`stage` is given twice}}
#s = #tile.schedule<stage = [0], stage = [1]>

// -----

func.func @gemm() attributes {tile.kernel} {
  %a = tile.alloc "a" : memref<8x4xf16, #tile.space<shared>>
  %b = tile.alloc "b" : memref<8x4xf16, #tile.space<shared>>
  %c = tile.alloc "c" : memref<8x8xf32, #tile.space<local>>
  // expected-error @+2 {{PS1102: the inner sizes of `gemm` differ: `a` (8x4 f16, shared) times `b` (8x4 f16, shared)}}
  // expected-note @+1 {{help: the second operand is K x N; did you mean `transposed(b)`?}}
  tile.gemm %a, %b into %c : memref<8x4xf16, #tile.space<shared>>,
    memref<8x4xf16, #tile.space<shared>>, memref<8x8xf32, #tile.space<local>>
  return
}

// -----

func.func @alloc() attributes {tile.kernel} {
  // expected-error @+1 {{PS1101: a tile is allocated in the shared or local space}}
  %a = tile.alloc : memref<8x4xf16, #tile.space<global>>
  return
}

// -----

func.func @input(%A: memref<?xf32, strided<[1]>, #tile.space<global>> {tile.access = "in"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc "a" : memref<8xf32, #tile.space<local>>
  // expected-error @+2 {{PS1106: `copy` writes to}}
  // expected-note @+1 {{help: declare the argument as Out<..> or InOut<..>}}
  tile.copy %a to %A[%c0] : memref<8xf32, #tile.space<local>> to memref<?xf32, strided<[1]>, #tile.space<global>>
  return
}

// -----

func.func @parallel() attributes {tile.kernel} {
  %a = tile.alloc "a" : memref<8xf32, #tile.space<local>>
  %z = arith.constant 0.0 : f32
  tile.parallel [8] {
  ^bb0(%i: index):
    // expected-error @+2 {{PS1117: `fill` is in a parallel body}}
    // expected-note @+1 {{help: use load, store, atomic and scalars here}}
    tile.fill %a, %z : memref<8xf32, #tile.space<local>>, f32
  }
  return
}

// -----

// expected-error @+1 {{PS0105: `tile.schedule` belongs on an `scf.for`}}
func.func @misplaced() attributes {tile.kernel, tile.schedule = #tile.schedule<num_stages = 2>} {
  return
}

// -----

// expected-error @+1 {{PS1229: copies are marked as asynchronous, and `stage` and `order` are not stated}}
#s = #tile.schedule<num_stages = 2, async_stages = [0]>

// -----

// expected-error @+1 {{expected `num_stages`, `stage`, `order`, `async_stages`, `async_producers`, `async_producer_groups`, `resolved` or `inferred`}}
#s = #tile.schedule<depth = 3>
