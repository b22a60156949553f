// RUN: penstock-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{a block of 100 threads is not possible}}
func.func @threads() attributes {tile.kernel, nv.threads = 100 : i64} {
  // expected-note @-1 {{threads come in warps of 32}}
  return
}

// -----

func.func @warps() attributes {tile.kernel, nv.threads = 128 : i64} {
  // expected-error @+2 {{warps 3 to 4 are not all in a block of 4 warps}}
  // expected-note @+1 {{b.threads(..) states the number of threads}}
  nv.warps 3, 2 {
  }
  return
}

// -----

func.func @count() attributes {tile.kernel, nv.threads = 128 : i64} {
  // expected-error @+2 {{a barrier that waits for 0 arrivals}}
  // expected-note @+1 {{between 1 and 2^20 - 1}}
  %b = nv.mbarrier.alloc [0] : !nv.barriers<1>
  return
}

// -----

func.func @index() attributes {tile.kernel, nv.threads = 128 : i64} {
  %c3 = arith.constant 3 : index
  %b = nv.mbarrier.alloc [1, 1, 1] : !nv.barriers<3>
  // expected-error @+1 {{barrier 3 does not exist; there are 3}}
  nv.mbarrier.arrive %b[%c3] : !nv.barriers<3>
  return
}

// -----

#s = #tile.space<shared>
func.func @shape(%A: memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>)
    attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %b = nv.mbarrier.alloc [1] : !nv.barriers<1>
  %As = tile.alloc "As" : memref<128x12xf16, #s>
  // expected-error @+2 {{the rows of `As` (128x12 f16, shared) are not multiples of 16 bytes}}
  // expected-note @+1 {{engines copy 16 bytes at a time}}
  nv.tma.load %A[%c0, %c0] to %As, %b[%c0]
    : memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>, memref<128x12xf16, #s>, !nv.barriers<1>
  return
}

// -----

#s = #tile.space<shared>
func.func @box(%A: memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>)
    attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %b = nv.mbarrier.alloc [1] : !nv.barriers<1>
  %As = tile.alloc "As" : memref<512x64xf16, #s>
  // expected-error @+1 {{`As` (512x64 f16, shared) is no box for TMA}}
  nv.tma.load %A[%c0, %c0] to %As, %b[%c0]
    : memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>, memref<512x64xf16, #s>, !nv.barriers<1>
  return
}

// -----

func.func @columns() attributes {tile.kernel, nv.threads = 128 : i64} {
  // expected-error @+1 {{has 1024 columns; tensor memory has 512}}
  %acc = nv.tcgen05.alloc : memref<128x1024xf32, #tile.space<tensor>>
  return
}

// -----

#s = #tile.space<shared>
func.func @product() attributes {tile.kernel, nv.threads = 128 : i64} {
  %yes = arith.constant true
  %As = tile.alloc "As" : memref<128x64xf16, #s>
  %Bs = tile.alloc "Bs" : memref<32x128xf16, #s>
  %acc = nv.tcgen05.alloc "acc" : memref<128x128xf32, #tile.space<tensor>>
  // expected-error @+1 {{do not fit}}
  nv.tcgen05.mma %As, %Bs into %acc accumulate %yes : memref<128x64xf16, #s>,
    memref<32x128xf16, #s>, memref<128x128xf32, #tile.space<tensor>>
  return
}

// -----

#s = #tile.space<shared>
func.func @warpgroup() attributes {tile.kernel, nv.threads = 128 : i64} {
  %yes = arith.constant true
  %As = tile.alloc "As" : memref<64x64xf16, #s>
  %acc = tile.alloc "acc" : memref<64x64xf32, #tile.space<local>>
  nv.warps 1, 1 {
    // expected-error @+2 {{`wgmma.mma` is executed by 1 warps from warp 1 on}}
    // expected-note @+1 {{it takes whole warpgroups}}
    nv.wgmma.mma %As, %As into %acc accumulate %yes : memref<64x64xf16, #s>,
      memref<64x64xf16, #s>, memref<64x64xf32, #tile.space<local>>
  }
  return
}

// -----

func.func @unpaired() attributes {tile.kernel, nv.threads = 128 : i64} {
  // expected-error @+2 {{`pair.sync` stands in a kernel without pairs}}
  // expected-note @+1 {{call b.pair() first}}
  nv.pair.sync
  return
}

// -----

func.func @paired() attributes {tile.kernel, nv.pair, nv.threads = 128 : i64} {
  nv.warps 0, 1 {
    // expected-error @+1 {{is executed by all threads of both blocks}}
    nv.pair.sync
  }
  return
}

// -----

func.func @elected() attributes {tile.kernel, nv.threads = 128 : i64} {
  nv.elect {
    // expected-error @+2 {{is executed by whole warps and stands inside of `elect_one`}}
    // expected-note @+1 {{move it out}}
    nv.sync
  }
  return
}
