// What verifiers refuse. The C++ front end's messages are pinned, with the
// user's lines, by test/diagnostics.
// RUN: penstock-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{PS1213: `stage` is given without `order`}}
#s = #tile.schedule<stage = [0, 1]>

// -----

// expected-error @+1 {{PS1713: the exact solver needs `solver_seconds` of at least 1}}
#s = #tile.schedule<solver_seconds = -1>

// -----

// expected-error @+1 {{PS1214: `stage` and `order` state a schedule; they cannot be combined with that of the exact solver}}
#s = #tile.schedule<stage = [0, 1], order = [0, 1], solver_seconds = 1>

// -----

// expected-error @+1 {{PS1215: `num_stages` is 0}}
#s = #tile.schedule<num_stages = 0>

// -----

// expected-error @+1 {{`stage` is given twice}}
#s = #tile.schedule<stage = [0], stage = [1]>

// -----

func.func @packed_type() attributes {tile.kernel} {
  %a = tile.alloc "a" : memref<8x4xf32, #tile.space<shared>>
  %b = tile.alloc "b" : memref<1x2x16x2xf32, #tile.space<shared>>
  %c = tile.alloc "c" : memref<8x16xf32, #tile.space<local>>
  // expected-error @+2 {{PS1762: a packed operand of `gemm` has elements of f16, bf16 or i8, not f32}}
  // expected-note @+1 {{help: other types are multiplied from two-dimensional tiles}}
  tile.gemm %a, %b into %c : memref<8x4xf32, #tile.space<shared>>,
    memref<1x2x16x2xf32, #tile.space<shared>>, memref<8x16xf32, #tile.space<local>>
  return
}

// -----

func.func @packed_shape() attributes {tile.kernel} {
  %a = tile.alloc "a" : memref<8x4xi8, #tile.space<shared>>
  %b = tile.alloc "b" : memref<1x2x16x2xi8, #tile.space<shared>>
  %c = tile.alloc "c" : memref<8x16xi32, #tile.space<local>>
  // expected-error @+2 {{PS1762: the packed operand `b` (1x2x16x2 i8, shared) of `gemm` must end in 16x4}}
  // expected-note @+1 {{help: pack(..) arranges a K x N tensor as N / 16 x K / 4 x 16 x 4}}
  tile.gemm %a, %b into %c : memref<8x4xi8, #tile.space<shared>>,
    memref<1x2x16x2xi8, #tile.space<shared>>, memref<8x16xi32, #tile.space<local>>
  return
}

// -----

func.func @packed_inner() attributes {tile.kernel} {
  %a = tile.alloc "a" : memref<8x4xi8, #tile.space<shared>>
  %b = tile.alloc "b" : memref<1x2x16x4xi8, #tile.space<shared>>
  %c = tile.alloc "c" : memref<8x16xi32, #tile.space<local>>
  // expected-error @+2 {{PS1102: the inner sizes of `gemm` differ: `a` (8x4 i8, shared) times `b` (1x2x16x4 i8, shared)}}
  // expected-note @+1 {{help: the first operand is M x K; did you mean `transposed(a)`?}}
  tile.gemm %a, %b into %c : memref<8x4xi8, #tile.space<shared>>,
    memref<1x2x16x4xi8, #tile.space<shared>>, memref<8x16xi32, #tile.space<local>>
  return
}

// -----

func.func @packed_slice() attributes {tile.kernel} {
  %a = tile.alloc "a" : memref<8x4xi8, #tile.space<shared>>
  %wide = tile.alloc "wide" : memref<1x1x32x4xi8, #tile.space<shared>>
  %b = memref.subview %wide[0, 0, 0, 0] [1, 1, 16, 4] [1, 1, 2, 1] : memref<1x1x32x4xi8, #tile.space<shared>>
    to memref<1x1x16x4xi8, strided<[128, 128, 8, 1]>, #tile.space<shared>>
  %c = tile.alloc "c" : memref<8x16xi32, #tile.space<local>>
  // expected-error @+2 {{PS1762: the packed operand `wide` (1x1x16x4 i8, shared) of `gemm` is not contiguous in its last three dimensions}}
  // expected-note @+1 {{help: multiply by a whole tile}}
  tile.gemm %a, %b into %c : memref<8x4xi8, #tile.space<shared>>,
    memref<1x1x16x4xi8, strided<[128, 128, 8, 1]>, #tile.space<shared>>, memref<8x16xi32, #tile.space<local>>
  return
}

// -----

func.func @unsigned() attributes {tile.kernel} {
  %a = tile.alloc "a" : memref<8x4xbf16, #tile.space<shared>>
  %b = tile.alloc "b" : memref<4x8xbf16, #tile.space<shared>>
  %c = tile.alloc "c" : memref<8x8xf32, #tile.space<local>>
  // expected-error @+2 {{unsigned_a applies to i8 operands, not to bf16}}
  // expected-note @+1 {{help: leave .unsigned_a out}}
  tile.gemm %a, %b into %c unsigned_a : memref<8x4xbf16, #tile.space<shared>>,
    memref<4x8xbf16, #tile.space<shared>>, memref<8x8xf32, #tile.space<local>>
  return
}

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

// expected-error @+1 {{expected `num_stages`, `stage`, `order`, `async_stages`, `async_producers`, `async_producer_groups` or `solver_seconds`}}
#s = #tile.schedule<depth = 3>

// -----

func.func @waits(%n: index, %c: i1) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    // expected-error @+2 {{PS1770: `wait_for_previous` must be outside of loops, conditions and statements}}
    // expected-note @+1 {{help: call it once, before the loop or condition}}
    tile.wait_for_previous
  }
  return
}

// -----

func.func @triggers(%c: i1) attributes {tile.kernel} {
  scf.if %c {
    // expected-error @+2 {{PS1770: `launch_dependents` must be outside of loops, conditions and statements}}
    // expected-note @+1 {{help: call it once, before the loop or condition}}
    tile.launch_dependents
  }
  return
}

// -----

func.func @packed_floats() attributes {tile.kernel} {
  // expected-error @+1 {{`tile.packed` belongs on a `tile.alloc` of i8 and names a packed element, e.g. "f4e2m1x2"}}
  %a = tile.alloc "a" {tile.packed = "i4x2"} : memref<8x4xf16, #tile.space<shared>>
  return
}

// -----

!a = memref<128x128xf8E4M3FN, #tile.space<shared>>
!t = memref<128x128xf8E4M3FN, strided<[1, 128]>, #tile.space<shared>>
!s = memref<1x2x32x16xf8E4M3FN, #tile.space<shared>>
func.func @scale_element(%a: !a, %s: !s, %c: memref<128x128xf32, #tile.space<local>>) {
  %t = memref.transpose %a (i, j) -> (j, i) : !a to !t
  // expected-error @+2 {{PS1764: `gemm` cannot multiply a tile (128x128 f8 e4m3, shared) with scales a tile (1x2x32x16 f8 e4m3, shared)}}
  // expected-note @+1 {{help: f8, f4e2m1x2, f6e2m3_packed and f6e3m2_packed take scales of f8e8m0, two operands of f4e2m1x2 also of f8e4m3}}
  tile.gemm %a, %t into %c scales(%s, %s) : !a, !t, memref<128x128xf32, #tile.space<local>> scales(!s, !s)
  return
}

// -----

// f6 has scales of powers of two only.
!a = memref<128x96xi8, #tile.space<shared>>
!t = memref<96x128xi8, strided<[1, 96]>, #tile.space<shared>>
!s = memref<1x2x32x16xf8E4M3FN, #tile.space<shared>>
func.func @six_bit_scale(%a: !a, %s: !s, %c: memref<128x128xf32, #tile.space<local>>) {
  %t = memref.transpose %a (i, j) -> (j, i) : !a to !t
  // expected-error @+2 {{PS1764: `gemm` cannot multiply a tile (128x96 i8, shared) with scales a tile (1x2x32x16 f8 e4m3, shared)}}
  // expected-note @+1 {{two operands of f4e2m1x2 also of f8e4m3}}
  tile.gemm %a, %t into %c scales(%s, %s) packing_a f6e2m3 packing_b f6e2m3 : !a, !t, memref<128x128xf32, #tile.space<local>> scales(!s, !s)
  return
}

// -----

// 96 bytes are 128 values of 6 bits, but 192 of 4.
!a = memref<128x96xi8, #tile.space<shared>>
!t = memref<96x128xi8, strided<[1, 96]>, #tile.space<shared>>
!s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
func.func @mixed_values(%a: !a, %s: !s, %c: memref<128x128xf32, #tile.space<local>>) {
  %t = memref.transpose %a (i, j) -> (j, i) : !a to !t
  // expected-error @+2 {{the inner sizes of `gemm` differ}}
  // expected-note @+1 {{the first operand has 128 values of k, the second 192}}
  tile.gemm %a, %t into %c scales(%s, %s) packing_a f6e2m3 : !a, !t, memref<128x128xf32, #tile.space<local>> scales(!s, !s)
  return
}

// -----

!a = memref<128x96xi8, #tile.space<shared>>
!t = memref<96x128xi8, strided<[1, 96]>, #tile.space<shared>>
func.func @packed_without_scales(%a: !a, %c: memref<128x128xi32, #tile.space<local>>) {
  %t = memref.transpose %a (i, j) -> (j, i) : !a to !t
  // expected-error @+1 {{PS1764: a product of packed values without scales}}
  tile.gemm %a, %t into %c packing_a f6e2m3 packing_b f6e2m3 : !a, !t, memref<128x128xi32, #tile.space<local>>
  return
}

// -----

!a = memref<128x128xf8E4M3FN, #tile.space<shared>>
!t = memref<128x128xf8E4M3FN, strided<[1, 128]>, #tile.space<shared>>
!s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
func.func @scaled_async(%a: !a, %s: !s, %c: memref<128x128xf32, #tile.space<local>>) {
  %t = memref.transpose %a (i, j) -> (j, i) : !a to !t
  // expected-error @+2 {{PS1764: tf32, unsigned_a and async do not apply to a product with scales}}
  // expected-note @+1 {{help: leave them out}}
  tile.gemm %a, %t into %c async "x" scales(%s, %s) : !a, !t, memref<128x128xf32, #tile.space<local>> scales(!s, !s)
  return
}

// -----

!a = memref<64x128xf8E4M3FN, #tile.space<shared>>
!t = memref<128x64xf8E4M3FN, strided<[1, 128]>, #tile.space<shared>>
!s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
func.func @scaled_rows(%a: !a, %s: !s, %c: memref<64x64xf32, #tile.space<local>>) {
  %t = memref.transpose %a (i, j) -> (j, i) : !a to !t
  // expected-error @+2 {{PS1764: a product with scales has 64 rows and 128 values of k}}
  // expected-note @+1 {{help: rows and columns are multiples of 128, values of k of 128}}
  tile.gemm %a, %t into %c scales(%s, %s) : !a, !t, memref<64x64xf32, #tile.space<local>> scales(!s, !s)
  return
}

// -----

// `rows` are the extents of the rows of a matrix that a tensor is copied to.
!X = memref<?x?x?xf16, strided<[?, ?, 1]>, #tile.space<global>>
!m = memref<128x64xf16, #tile.space<shared>>
func.func @rows(%X: !X, %i: index) attributes {tile.kernel} {
  %t = tile.alloc "t" : !m
  // expected-error @+2 {{`rows` does not give the rows of a tile that is copied from or to a tensor}}
  // expected-note @+1 {{name two or more extents, whose product is the number of rows of a tile of rank 2}}
  tile.copy %X[%i, %i, %i] to %t rows [8, 8] : !X to !m
  return
}

// -----

!m = memref<128x64xf16, #tile.space<shared>>
func.func @rows_of_tiles() attributes {tile.kernel} {
  %t = tile.alloc "t" : !m
  %u = tile.alloc "u" : !m
  // expected-error @+2 {{`rows` does not give the rows of a tile}}
  // expected-note @+1 {{name two or more extents}}
  tile.copy %t to %u rows [8, 16] : !m to !m
  return
}

// -----

// A box has as many dimensions as the tensor, at most.
!X = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!m = memref<128x64xf16, #tile.space<shared>>
func.func @rows_of_rank(%X: !X, %i: index) attributes {tile.kernel} {
  %t = tile.alloc "t" : !m
  // expected-error @+2 {{`t` (128x64 f16, shared) has a higher rank than}}
  // expected-note @+1 {{copy into a tile of the tensor's rank}}
  tile.copy %X[%i, %i] to %t rows [8, 16] : !X to !m
  return
}
