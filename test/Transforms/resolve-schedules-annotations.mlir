// RUN: penstock-opt %s -split-input-file -verify-diagnostics --tile-resolve-schedules

// What stated lists hold is checked with the loop: only that tells which entries
// belong to statements.

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<128xf32, #tile.space<shared>>

// Entries of scalars that are computed anew are ignored, whatever they are: here a
// stage of -1 and an order that a statement has, too.
func.func @ignored(%A: !t {tile.access = "in", tile.name = "A"}, %n: index, %B: !t {tile.access = "out", tile.name = "B"}) attributes {tile.kernel} {
  %s = tile.alloc "s" : !s
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  scf.for %k = %c0 to %n step %c1 {
    %1 = arith.muli %k, %c128 : index
    %base = tile.bind "base" %1 : index
    tile.copy %A[%base] to %s : !t to !s
    tile.copy %s to %B[%base] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [-1, 0, 0], order = [1, 0, 1], async_producers = [7, 1, 0], async_producer_groups = [-9, 0, -1]>}
  return
}

// -----

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<128xf32, #tile.space<shared>>

func.func @order(%A: !t {tile.access = "in", tile.name = "A"}, %n: index, %B: !t {tile.access = "out", tile.name = "B"}) attributes {tile.kernel} {
  %s = tile.alloc "s" : !s
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    // expected-note@+2 {{`copy A -> s` is here}}
    // expected-note@+1 {{label: stage 0, order 1}}
    tile.copy %A[%k] to %s : !t to !s
    // expected-error@+2 {{PS1212: `copy A -> s` and `copy s -> B` both have order 1}}
    // expected-note@+1 {{give each statement its own}}
    tile.copy %s to %B[%k] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [1, 1]>}
  return
}

// -----

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<128xf32, #tile.space<shared>>

func.func @stage(%A: !t {tile.access = "in", tile.name = "A"}, %n: index, %B: !t {tile.access = "out", tile.name = "B"}) attributes {tile.kernel} {
  %s = tile.alloc "s" : !s
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    // expected-error@+1 {{PS1211: stage -1 of `copy A -> s` is not between 0 and 1000}}
    tile.copy %A[%k] to %s : !t to !s
    tile.copy %s to %B[%k] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [-1, 1], order = [0, 1]>}
  return
}

// -----

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<128xf32, #tile.space<shared>>

func.func @producers(%A: !t {tile.access = "in", tile.name = "A"}, %n: index, %B: !t {tile.access = "out", tile.name = "B"}) attributes {tile.kernel} {
  %s = tile.alloc "s" : !s
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error@+1 {{PS1229: async_producers holds 2 for `copy A -> s`; it must be 0 or 1}}
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %A[%k] to %s : !t to !s
    tile.copy %s to %B[%k] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1], async_producers = [2, 0]>}
  return
}

// -----

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<128xf32, #tile.space<shared>>

func.func @groups(%A: !t {tile.access = "in", tile.name = "A"}, %n: index, %B: !t {tile.access = "out", tile.name = "B"}) attributes {tile.kernel} {
  %s = tile.alloc "s" : !s
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    // expected-error@+1 {{PS1229: the commit group of `copy A -> s` is less than -1}}
    tile.copy %A[%k] to %s : !t to !s
    tile.copy %s to %B[%k] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1], async_producer_groups = [-2, -1]>}
  return
}

// -----

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<128xf32, #tile.space<shared>>

func.func @stages(%A: !t {tile.access = "in", tile.name = "A"}, %n: index, %B: !t {tile.access = "out", tile.name = "B"}) attributes {tile.kernel} {
  %s = tile.alloc "s" : !s
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error@+1 {{PS1229: stage 3 is to be asynchronous and has no copy}}
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %A[%k] to %s : !t to !s
    tile.copy %s to %B[%k] : !s to !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1], async_stages = [3]>}
  return
}

// -----

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<128xf32, #tile.space<shared>>

// A load without a name that only the next statement uses needs no entry, and may have
// one.
func.func @loads(%A: !t {tile.access = "in", tile.name = "A"}, %n: index, %B: !t {tile.access = "out", tile.name = "B"}) attributes {tile.kernel} {
  %s = tile.alloc "s" : !s
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %A[%k] to %s : !t to !s
    %v = tile.load %s[%c0] : !s -> f32
    tile.store %v, %B[%k] : f32, !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %A[%k] to %s : !t to !s
    %v = tile.load %s[%c0] : !s -> f32
    tile.store %v, %B[%k] : f32, !t
  } {tile.schedule = #tile.schedule<stage = [0, 1, 1], order = [0, 1, 2]>}
  return
}

// -----

!t = memref<?xf32, strided<[1]>, #tile.space<global>>
!s = memref<128xf32, #tile.space<shared>>

// The copy stands between the load and its use, so the load is a statement.
func.func @apart(%A: !t {tile.access = "in", tile.name = "A"}, %n: index, %B: !t {tile.access = "out", tile.name = "B"}) attributes {tile.kernel} {
  %s = tile.alloc "s" : !s
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.fill %s, %zero : !s, f32
  // expected-error@+2 {{PS1200: stage has 2 entries; the loop has 3 scheduled statements}}
  // expected-note@+1 {{give one entry per scheduled statement}}
  scf.for %k = %c0 to %n step %c1 {
    // expected-note@+1 {{statement 1: }}
    %v = tile.load %s[%c0] : !s -> f32
    // expected-note@+1 {{statement 2: }}
    tile.copy %A[%k] to %s : !t to !s
    // expected-note@+1 {{statement 3: }}
    tile.store %v, %B[%k] : f32, !t
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  return
}
