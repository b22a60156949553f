// RUN: penstock-opt %s --split-input-file --verify-diagnostics --nv-check-barriers=report=true

// A warp that loads and one that reads, around a ring of two slots.

#s = #tile.space<shared>
#g = #tile.space<global>

// expected-remark @+1 {{barriers are right for every number of iterations, the use of tiles for 0 to 6 iterations}}
func.func @ring(%A: memref<?x?xf16, strided<[?, 1]>, #g> {tile.name = "A", tile.access = "in"})
    attributes {tile.kernel, tile.signature = "A[M,K]", nv.threads = 64 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1 : i32
  %bytes = arith.constant 16384 : index
  %K = memref.dim %A, %c1 : memref<?x?xf16, strided<[?, 1]>, #g>
  %tiles = arith.ceildivsi %K, %c64 : index
  %As = tile.alloc "As" : memref<2x128x64xf16, #s>
  %full = nv.mbarrier.alloc "full" [1, 1] : !nv.barriers<2>
  %empty = nv.mbarrier.alloc "empty" [32, 32] : !nv.barriers<2>
  nv.warps 0, 1 {
    scf.for %k = %c0 to %tiles step %c1 {
      %slot = arith.remsi %k, %c2 : index
      %round = arith.divsi %k, %c2 : index
      %number = arith.index_cast %round : index to i32
      %used = arith.andi %number, %one : i32
      %phase = arith.xori %used, %one : i32
      nv.mbarrier.wait %empty[%slot], %phase : !nv.barriers<2>
      nv.elect {
        nv.mbarrier.arrive %full[%slot] expect %bytes : !nv.barriers<2>
      }
      %to = memref.subview %As[%slot, 0, 0] [1, 128, 64] [1, 1, 1] : memref<2x128x64xf16, #s> to memref<128x64xf16, strided<[64, 1], offset: ?>, #s>
      %column = arith.muli %k, %c64 : index
      nv.tma.load %A[%c0, %column] to %to, %full[%slot] : memref<?x?xf16, strided<[?, 1]>, #g>, memref<128x64xf16, strided<[64, 1], offset: ?>, #s>, !nv.barriers<2>
    }
  }
  nv.warps 1, 1 {
    %sum = tile.alloc "sum" : memref<128x64xf16, #tile.space<local>>
    scf.for %k = %c0 to %tiles step %c1 {
      %slot = arith.remsi %k, %c2 : index
      %round = arith.divsi %k, %c2 : index
      %number = arith.index_cast %round : index to i32
      %phase = arith.andi %number, %one : i32
      nv.mbarrier.wait %full[%slot], %phase : !nv.barriers<2>
      %from = memref.subview %As[%slot, 0, 0] [1, 128, 64] [1, 1, 1] : memref<2x128x64xf16, #s> to memref<128x64xf16, strided<[64, 1], offset: ?>, #s>
      tile.copy %from to %sum : memref<128x64xf16, strided<[64, 1], offset: ?>, #s> to memref<128x64xf16, #tile.space<local>>
      nv.mbarrier.arrive %empty[%slot] : !nv.barriers<2>
    }
  }
  return
}

// -----

#s = #tile.space<shared>
#g = #tile.space<global>

// What is expected is not what comes.

func.func @bytes(%A: memref<?x?xf16, strided<[?, 1]>, #g> {tile.name = "A", tile.access = "in"})
    attributes {tile.kernel, nv.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %phase = arith.constant 0 : i32
  %bytes = arith.constant 8192 : index
  %As = tile.alloc "As" : memref<128x64xf16, #s>
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  nv.elect {
    // expected-error @+2 {{PS1613: `full` is told to expect 8192 bytes in all, and copies bring 16384}}
    // expected-note @+1 {{help: announce}}
    nv.mbarrier.arrive %full[%c0] expect %bytes : !nv.barriers<1>
  }
  // expected-note @+1 {{the last copy that arrives on it}}
  nv.tma.load %A[%c0, %c0] to %As, %full[%c0] : memref<?x?xf16, strided<[?, 1]>, #g>, memref<128x64xf16, #s>, !nv.barriers<1>
  nv.mbarrier.wait %full[%c0], %phase : !nv.barriers<1>
  return
}

// -----

#g = #tile.space<global>

// No thread arrives.

func.func @never() attributes {tile.kernel, nv.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %phase = arith.constant 0 : i32
  %done = nv.mbarrier.alloc "done" [1] : !nv.barriers<1>
  // expected-error @+3 {{PS1611: this wait never ends: `done` has 0 of 1 arrivals}}
  // expected-note @+2 {{label: by warp 0, for the phase of parity 0}}
  // expected-note @+1 {{help: each phase needs 1 arrival; a consumer starts with phase 0}}
  nv.mbarrier.wait %done[%c0], %phase : !nv.barriers<1>
  return
}

// -----

#g = #tile.space<global>

// Which barrier is waited on comes from memory.

func.func @data(%T: memref<?xi32, strided<[1]>, #g> {tile.name = "T", tile.access = "in"})
    attributes {tile.kernel, nv.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %phase = arith.constant 1 : i32
  %free = nv.mbarrier.alloc "free" [1, 1] : !nv.barriers<2>
  %loaded = tile.load %T[%c0] : memref<?xi32, strided<[1]>, #g> -> i32
  %slot = arith.index_cast %loaded : i32 to index
  // expected-warning @+2 {{PS1617: not all of the barriers were checked: which barrier this is depends on data}}
  // expected-note @+1 {{help: barriers, phases and trip counts}}
  nv.mbarrier.wait %free[%slot], %phase : !nv.barriers<2>
  return
}

// -----

// What would take too long is not followed: many barriers, many steps.

// expected-remark @+1 {{barriers and the use of tiles are right for 0 to 34 iterations}}
func.func @many_barriers(%A: memref<?xf16, strided<[1]>, #tile.space<global>> {tile.name = "A", tile.access = "in"})
    attributes {tile.kernel, tile.signature = "A[K]", nv.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %phase = arith.constant 1 : i32
  %K = memref.dim %A, %c0 : memref<?xf16, strided<[1]>, #tile.space<global>>
  %free = nv.mbarrier.alloc "free" [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1] : !nv.barriers<40>
  scf.for %k = %c0 to %K step %c1 {
    nv.mbarrier.wait %free[%c0], %phase : !nv.barriers<40>
  }
  return
}

// -----

// expected-warning @+2 {{PS1617: not all of the barriers were checked: its roles take more than 20000 steps}}
// expected-note @+1 {{help: barriers, phases and trip counts}}
func.func @many_steps() attributes {tile.kernel, nv.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %many = arith.constant 50000 : index
  %phase = arith.constant 1 : i32
  %free = nv.mbarrier.alloc "free" [1] : !nv.barriers<1>
  scf.for %k = %c0 to %many step %c1 {
    nv.mbarrier.wait %free[%c0], %phase : !nv.barriers<1>
  }
  return
}

// -----

// Sizes that the kernel excludes are not tried: the wait for the one copy would not
// end in a second iteration. Of sizes for which loops run equally often, one is
// tried that is allowed.

#g = #tile.space<global>

// expected-remark @+1 {{barriers and the use of tiles are right for 0 to 1 iterations where its requirements allow them}}
func.func @once(%A: memref<?x?xf16, strided<[?, 1]>, #g> {tile.name = "A", tile.access = "in"})
    attributes {tile.kernel, tile.signature = "A[M,K]", nv.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %phase = arith.constant 0 : i32
  %bytes = arith.constant 16384 : index
  %K = memref.dim %A, %c1 : memref<?x?xf16, strided<[?, 1]>, #g>
  %one = arith.cmpi eq, %K, %c64 : index
  tile.assert %one, "one tile"
  %tiles = arith.ceildivsi %K, %c64 : index
  %As = tile.alloc "As" : memref<128x64xf16, #tile.space<shared>>
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  nv.elect {
    nv.mbarrier.arrive %full[%c0] expect %bytes : !nv.barriers<1>
  }
  nv.tma.load %A[%c0, %c0] to %As, %full[%c0] : memref<?x?xf16, strided<[?, 1]>, #g>, memref<128x64xf16, #tile.space<shared>>, !nv.barriers<1>
  scf.for %k = %c0 to %tiles step %c1 {
    %wanted = arith.index_cast %k : index to i32
    nv.mbarrier.wait %full[%c0], %wanted : !nv.barriers<1>
  }
  return
}

// -----

#g = #tile.space<global>

// expected-warning @+2 {{its requirements exclude the sizes that were tried}}
// expected-note @+1 {{help: barriers, phases and trip counts}}
func.func @never(%A: memref<?x?xf16, strided<[?, 1]>, #g> {tile.name = "A", tile.access = "in"})
    attributes {tile.kernel, tile.signature = "A[M,K]", nv.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %phase = arith.constant 1 : i32
  %K = memref.dim %A, %c1 : memref<?x?xf16, strided<[?, 1]>, #g>
  %negative = arith.cmpi slt, %K, %c0 : index
  tile.assert %negative, "no size at all"
  %free = nv.mbarrier.alloc "free" [1] : !nv.barriers<1>
  scf.for %k = %c0 to %K step %c1 {
    nv.mbarrier.wait %free[%c0], %phase : !nv.barriers<1>
  }
  return
}

// -----

// Loops over two sizes, one inside of the other: combinations of both are followed. The
// same barrier serves all rounds, so the phase goes on from one to the next.

#g = #tile.space<global>

// expected-remark @+1 {{barriers and the use of tiles are right for 0 to 4 iterations, in up to 4 rounds of the loop around them}}
func.func @nested(%A: memref<?x?xf16, strided<[?, 1]>, #g> {tile.name = "A", tile.access = "in"})
    attributes {tile.kernel, tile.signature = "A[M,K]", nv.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1_i32 = arith.constant 1 : i32
  %M = memref.dim %A, %c0 : memref<?x?xf16, strided<[?, 1]>, #g>
  %K = memref.dim %A, %c1 : memref<?x?xf16, strided<[?, 1]>, #g>
  %turn = nv.mbarrier.alloc "turn" [32] : !nv.barriers<1>
  %zero = arith.constant 0 : i32
  %end = scf.for %m = %c0 to %M step %c1 iter_args(%first = %zero) -> (i32) {
    %last = scf.for %k = %c0 to %K step %c1 iter_args(%phase = %first) -> (i32) {
      nv.mbarrier.arrive %turn[%c0] : !nv.barriers<1>
      nv.mbarrier.wait %turn[%c0], %phase : !nv.barriers<1>
      %next = arith.xori %phase, %c1_i32 : i32
      scf.yield %next : i32
    }
    scf.yield %last : i32
  }
  return
}

// -----

// The phase starts again in each round, which is right for one round. In the second, warp
// 1 takes the first phase of `go` for the one it waits for, and ends the second phase of
// `come` while warp 0 still waits for the first.

#g = #tile.space<global>

func.func @nested_restart(%A: memref<?x?xf16, strided<[?, 1]>, #g> {tile.name = "A", tile.access = "in"})
    attributes {tile.kernel, tile.signature = "A[M,K]", nv.threads = 64 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1_i32 = arith.constant 1 : i32
  %M = memref.dim %A, %c0 : memref<?x?xf16, strided<[?, 1]>, #g>
  %K = memref.dim %A, %c1 : memref<?x?xf16, strided<[?, 1]>, #g>
  %go = nv.mbarrier.alloc "go" [32] : !nv.barriers<1>
  %come = nv.mbarrier.alloc "come" [32] : !nv.barriers<1>
  %zero = arith.constant 0 : i32
  scf.for %m = %c0 to %M step %c1 {
    %last = scf.for %k = %c0 to %K step %c1 iter_args(%phase = %zero) -> (i32) {
      nv.warps 0, 1 {
        nv.mbarrier.arrive %go[%c0] : !nv.barriers<1>
        // expected-error @+3 {{PS1611: this wait never ends: `come` has 0 of 32 arrivals, with K = 1, M = 2}}
        // expected-note @+2 {{label: by warp 0}}
        // expected-note @+1 {{help: each phase needs 32 arrivals}}
        nv.mbarrier.wait %come[%c0], %phase : !nv.barriers<1>
      }
      nv.warps 1, 1 {
        nv.mbarrier.wait %go[%c0], %phase : !nv.barriers<1>
        nv.mbarrier.arrive %come[%c0] : !nv.barriers<1>
      }
      %next = arith.xori %phase, %c1_i32 : i32
      scf.yield %next : i32
    }
  }
  return
}
