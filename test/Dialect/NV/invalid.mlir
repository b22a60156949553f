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

func.func @negative() attributes {tile.kernel, nv.threads = 128 : i64} {
  // expected-error @+2 {{`warps` is asked for 2 warps from warp -9223372036854775808 on}}
  // expected-note @+1 {{it takes at least one warp, and warps are counted from 0}}
  nv.warps -9223372036854775808, 2 {
  }
  return
}

// -----

func.func @endless() attributes {tile.kernel, nv.threads = 128 : i64} {
  // expected-error @+2 {{warps 2 to 9223372036854775808 are not all in a block of 4 warps}}
  // expected-note @+1 {{b.threads(..) states the number of threads}}
  nv.warps 2, 9223372036854775807 {
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
  %As = tile.alloc "As" : memref<514x64xf16, #s>
  // expected-error @+1 {{`As` (514x64 f16, shared) is not a legal TMA box}}
  nv.tma.load %A[%c0, %c0] to %As, %b[%c0]
    : memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>, memref<514x64xf16, #s>, !nv.barriers<1>
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

func.func @unclustered() attributes {tile.kernel, nv.threads = 128 : i64} {
  // expected-error @+2 {{`cluster.sync` requires a kernel with clusters}}
  // expected-note @+1 {{call b.cluster(blocks) or b.pair() first}}
  nv.cluster.sync
  return
}

// -----

func.func @paired() attributes {tile.kernel, nv.pair, nv.threads = 128 : i64} {
  nv.warps 0, 1 {
    // expected-error @+2 {{`cluster.sync` is executed by all threads of the block}}
    // expected-note @+1 {{move it out of warps and elect_one}}
    nv.cluster.sync
  }
  return
}

// -----

// expected-error @+1 {{a cluster of 9 blocks is not possible}}
func.func @blocks() attributes {tile.kernel, nv.cluster = 9 : i64, nv.threads = 128 : i64} {
  // expected-note @-1 {{a cluster has 1 to 8 blocks}}
  return
}

// -----

func.func @mask() attributes {tile.kernel, nv.cluster = 2 : i64, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %mask = arith.constant 4 : i32
  %b = nv.mbarrier.alloc [1] : !nv.barriers<1>
  // expected-error @+2 {{a multicast to the blocks of mask 4 in a cluster of 2}}
  // expected-note @+1 {{bit i stands for block i of the cluster}}
  nv.tcgen05.commit %b[%c0] multicast %mask : !nv.barriers<1>
  return
}

// -----

func.func @rank() attributes {tile.kernel, nv.cluster = 2 : i64, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = nv.mbarrier.alloc [1] : !nv.barriers<1>
  // expected-error @+1 {{block 2 does not exist in a cluster of 2}}
  nv.mbarrier.arrive %b[%c0] of %c2 : !nv.barriers<1>
  return
}

// -----

func.func @named() attributes {tile.kernel, nv.threads = 128 : i64} {
  // expected-error @+2 {{a named barrier for 48 threads of 128}}
  // expected-note @+1 {{whole warps of the block meet there}}
  %n = nv.named_barrier.alloc : !nv.named_barrier<48>
  return
}

// -----

func.func @arriving() attributes {tile.kernel, nv.threads = 128 : i64} {
  %n = nv.named_barrier.alloc : !nv.named_barrier<128>
  // expected-error @+2 {{all 128 threads of a named barrier arrive and none waits}}
  // expected-note @+1 {{count the threads that wait as well}}
  nv.named_barrier.arrive %n : !nv.named_barrier<128>
  return
}

// -----

func.func @registers() attributes {tile.kernel, nv.threads = 128 : i64} {
  // expected-error @+2 {{`registers.release` of 20 registers for each thread}}
  // expected-note @+1 {{multiples of 8 from 24 to 256}}
  nv.registers.release 20
  return
}

// -----

func.func @warpgroups() attributes {tile.kernel, nv.threads = 256 : i64} {
  nv.warps 4, 2 {
    // expected-error @+2 {{`registers.request` is executed by 2 warps from warp 4 on}}
    // expected-note @+1 {{it takes whole warpgroups}}
    nv.registers.request 232
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

// -----

// `.sync.aligned`: all threads of the warp execute the same instruction.
func.func @elected_commit() attributes {tile.kernel, nv.threads = 128 : i64} {
  nv.elect {
    // expected-error @+2 {{`wgmma.commit_group` is executed by whole warps and stands inside of `elect_one`}}
    // expected-note @+1 {{move it out}}
    nv.wgmma.commit_group
  }
  return
}

// -----

func.func @elected_wait() attributes {tile.kernel, nv.threads = 128 : i64} {
  nv.elect {
    // expected-error @+2 {{`tcgen05.wait_load` is executed by whole warps and stands inside of `elect_one`}}
    // expected-note @+1 {{move it out}}
    nv.tcgen05.wait_load
  }
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>
func.func @wide_left() attributes {tile.kernel, nv.threads = 128 : i64} {
  %yes = arith.constant true
  %P = tile.alloc "P" : memref<64x64xf32, #l>
  %Bs = tile.alloc "Bs" : memref<64x64xf32, #s>
  %acc = tile.alloc "acc" : memref<64x64xf32, #l>
  // expected-error @+2 {{`P` (64x64 f32, local) lies in registers and has elements of 32 bits}}
  // expected-note @+1 {{16-bit elements lie in registers as the tensor core wants them}}
  nv.wgmma.mma %P, %Bs into %acc accumulate %yes : memref<64x64xf32, #l>,
    memref<64x64xf32, #s>, memref<64x64xf32, #l>
  return
}

// -----

#s = #tile.space<shared>
#t = #tile.space<tensor>
func.func @paired_left() attributes {tile.kernel, nv.pair, nv.threads = 128 : i64} {
  %yes = arith.constant true
  %P = nv.tcgen05.alloc "P" : memref<128x64xf16, #t>
  %Bs = tile.alloc "Bs" : memref<64x32xf16, #s>
  %acc = nv.tcgen05.alloc "acc" : memref<128x64xf32, #t>
  // expected-error @+2 {{the left operand `P` (128x64 f16, tensor) lies in tensor memory}}
  // expected-note @+1 {{belongs to a block that multiplies alone}}
  nv.tcgen05.mma %P, %Bs into %acc accumulate %yes : memref<128x64xf16, #t>,
    memref<64x32xf16, #s>, memref<128x64xf32, #t>
  return
}

// -----

#s = #tile.space<shared>
#t = #tile.space<tensor>
func.func @narrow_accumulator() attributes {tile.kernel, nv.threads = 128 : i64} {
  %yes = arith.constant true
  %As = tile.alloc "As" : memref<128x64xf16, #s>
  %Bs = tile.alloc "Bs" : memref<64x64xf16, #s>
  %acc = nv.tcgen05.alloc "acc" : memref<128x64xf16, #t>
  // expected-error @+1 {{the accumulator `acc` (128x64 f16, tensor) has no 32-bit elements}}
  nv.tcgen05.mma %As, %Bs into %acc accumulate %yes : memref<128x64xf16, #s>,
    memref<64x64xf16, #s>, memref<128x64xf16, #t>
  return
}

// -----

#s = #tile.space<shared>
#t = #tile.space<tensor>
func.func @rows_of_copy() attributes {tile.kernel, nv.threads = 128 : i64} {
  %As = tile.alloc "As" : memref<64x64xf32, #s>
  %cells = nv.tcgen05.alloc "cells" : memref<64x64xf32, #t>
  // expected-error @+2 {{`tcgen05.copy` of `As` (64x64 f32, shared)}}
  // expected-note @+1 {{it copies 128 rows, 32 bytes of each at a time}}
  nv.tcgen05.copy %As to %cells : memref<64x64xf32, #s>, memref<64x64xf32, #t>
  return
}

// -----

#l = #tile.space<local>
#t = #tile.space<tensor>
func.func @other_tile() attributes {tile.kernel, nv.threads = 128 : i64} {
  %P = tile.alloc "P" : memref<128x32xf32, #l>
  %cells = nv.tcgen05.alloc "cells" : memref<128x64xf32, #t>
  // expected-error @+1 {{a tile of another shape or type}}
  nv.tcgen05.store %P to %cells : memref<128x32xf32, #l>, memref<128x64xf32, #t>
  return
}

// -----

#s = #tile.space<shared>
func.func @cache(%A: memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>)
    attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %b = nv.mbarrier.alloc [1] : !nv.barriers<1>
  %As = tile.alloc "As" : memref<64x64xf16, #s>
  // expected-error @+2 {{"never" says nothing to the cache}}
  // expected-note @+1 {{evict_first, evict_normal and evict_last do}}
  nv.tma.load %A[%c0, %c0] to %As, %b[%c0] cache "never"
    : memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>, memref<64x64xf16, #s>, !nv.barriers<1>
  return
}

// -----

#s = #tile.space<shared>
func.func @combine(%A: memref<?x?xf32, strided<[?, 1]>, #tile.space<global>> {tile.access = "inout"})
    attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %As = tile.alloc "As" : memref<64x32xf32, #s>
  // expected-error @+2 {{TMA does not combine elements of `As` (64x32 f32, shared) by "max"}}
  // expected-note @+1 {{f16 and bf16 are added and compared}}
  nv.tma.store %As to %A[%c0, %c0] combine "max"
    : memref<64x32xf32, #s>, memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
  return
}

// -----

#s = #tile.space<shared>
func.func @pieces(%A: memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>)
    attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %As = tile.alloc "As" : memref<64x10xf16, #s>
  // expected-error @+2 {{the rows of `As` (64x10 f16, shared) are not multiples of 8 bytes}}
  // expected-note @+1 {{threads copy 16 bytes at a time, or with {.bytes = ..} 8 or 4}}
  nv.cp_async %A[%c0, %c0] to %As bytes 8
    : memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>, memref<64x10xf16, #s>
  return
}

// -----

!g = memref<?x?xf64, strided<[?, 1]>, #tile.space<global>>
!x = memref<7x6xf64, #tile.space<shared>>
func.func @odd_boxes(%a: !g) attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %X = tile.alloc "X" : !x
  %full = nv.mbarrier.alloc [1] : !nv.barriers<1>
  // expected-error @+2 {{`X` (7x6 f64, shared) lies in 3 boxes of 112 bytes; each must begin at a multiple of 128}}
  // expected-note @+1 {{give it a multiple of 8 rows}}
  nv.tma.load %a[%c0, %c0] to %X, %full[%c0] : !g, !x, !nv.barriers<1>
  return
}

// -----

!g = memref<?x?xf64, strided<[?, 1]>, #tile.space<global>>
!x = memref<13x6xf64, #tile.space<shared>>
!part = memref<8x6xf64, strided<[6, 1]>, #tile.space<shared>>
func.func @part_of_odd_boxes(%a: !g) attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %X = tile.alloc "X" : !x
  %rows = memref.subview %X[0, 0] [8, 6] [1, 1] : !x to !part
  %full = nv.mbarrier.alloc [1] : !nv.barriers<1>
  // expected-error @+2 {{`X` (13x6 f64, shared) lies in 3 boxes of 208 bytes; each must begin at a multiple of 128}}
  // expected-note @+1 {{give it a multiple of 8 rows}}
  nv.tma.load %a[%c0, %c0] to %rows, %full[%c0] : !g, !part, !nv.barriers<1>
  return
}

// -----

func.func @other_scales() attributes {tile.kernel, nv.threads = 128 : i64} {
  // expected-error @+2 {{`S` (1x1x16x16 f8 e8m0, tensor) does not hold scales}}
  // expected-note @+1 {{scales are rows / 128 x K / (4 * block) x 32 x 16 of f8e8m0 or f8e4m3}}
  %S = nv.tcgen05.alloc "S" : memref<1x1x16x16xf8E8M0FNU, #tile.space<tensor>>
  return
}

// -----

func.func @many_scales() attributes {tile.kernel, nv.threads = 128 : i64} {
  // expected-error @+1 {{`S` (2x65x32x16 f8 e8m0, tensor) has 520 columns; tensor memory has 512}}
  %S = nv.tcgen05.alloc "S" : memref<2x65x32x16xf8E8M0FNU, #tile.space<tensor>>
  return
}

// -----

#s = #tile.space<shared>
#t = #tile.space<tensor>
func.func @pair() attributes {tile.kernel, nv.threads = 128 : i64, nv.pair} {
  %yes = arith.constant true
  %As = tile.alloc "As" : memref<128x128xf8E5M2, #s>
  %At = memref.transpose %As (i, j) -> (j, i)
    : memref<128x128xf8E5M2, #s> to memref<128x128xf8E5M2, strided<[1, 128]>, #s>
  %S = nv.tcgen05.alloc "S" : memref<1x1x32x16xf8E8M0FNU, #t>
  %acc = nv.tcgen05.alloc "acc" : memref<128x256xf32, #t>
  // expected-error @+2 {{`tcgen05.mma` with scales of a pair of blocks, or of an operand in tensor memory, is not supported}}
  // expected-note @+1 {{multiply tiles in shared memory by one block}}
  nv.tcgen05.mma %As, %At into %acc accumulate %yes scales(%S, %S)
    : memref<128x128xf8E5M2, #s>, memref<128x128xf8E5M2, strided<[1, 128]>, #s>, memref<128x256xf32, #t>
      scales(memref<1x1x32x16xf8E8M0FNU, #t>, memref<1x1x32x16xf8E8M0FNU, #t>)
  return
}

// -----

#s = #tile.space<shared>
#t = #tile.space<tensor>
func.func @scaled_columns() attributes {tile.kernel, nv.threads = 128 : i64} {
  %yes = arith.constant true
  %As = tile.alloc "As" : memref<128x128xf8E5M2, #s>
  %Bs = tile.alloc "Bs" : memref<384x128xf8E5M2, #s>
  %Bt = memref.transpose %Bs (i, j) -> (j, i)
    : memref<384x128xf8E5M2, #s> to memref<128x384xf8E5M2, strided<[1, 128]>, #s>
  %S = nv.tcgen05.alloc "S" : memref<1x1x32x16xf8E8M0FNU, #t>
  %T = nv.tcgen05.alloc "T" : memref<3x1x32x16xf8E8M0FNU, #t>
  %acc = nv.tcgen05.alloc "acc" : memref<128x384xf32, #t>
  // expected-error @+1 {{n is 384, but scales are those of 128 or 256 columns}}
  nv.tcgen05.mma %As, %Bt into %acc accumulate %yes scales(%S, %T)
    : memref<128x128xf8E5M2, #s>, memref<128x384xf8E5M2, strided<[1, 128]>, #s>, memref<128x384xf32, #t>
      scales(memref<1x1x32x16xf8E8M0FNU, #t>, memref<3x1x32x16xf8E8M0FNU, #t>)
  return
}

// -----

!X = memref<?x?x?xf16, strided<[?, ?, 1]>, #tile.space<global>>
!s = memref<128x64xf16, #tile.space<shared>>
func.func @rows(%X: !X, %i: index) attributes {tile.kernel, nv.threads = 128 : i64} {
  %Xs = tile.alloc "Xs" : !s
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  // expected-error @+2 {{`rows` does not give the rows of `Xs` (128x64 f16, shared)}}
  // expected-note @+1 {{name two to four extents, whose product is the number of rows}}
  nv.tma.load %X[%i, %i, %i] to %Xs, %full[%i] rows [8, 8] : !X, !s, !nv.barriers<1>
  return
}

// -----

// A box has at most 256 elements along a dimension.
!X = memref<?x?x?xf16, strided<[?, ?, 1]>, #tile.space<global>>
!s = memref<512x64xf16, #tile.space<shared>>
func.func @long_rows(%X: !X, %i: index) attributes {tile.kernel, nv.threads = 128 : i64} {
  %Xs = tile.alloc "Xs" : !s
  // expected-error @+1 {{`Xs` (512x64 f16, shared) is not a legal TMA box}}
  nv.tma.store %Xs to %X[%i, %i, %i] rows [1, 512] : !s, !X
  return
}

// -----

!X = memref<?x?x?x?xf16, strided<[?, ?, ?, 1]>, #tile.space<global>>
!s = memref<128x64xf16, #tile.space<shared>>
func.func @dims_of_rows(%X: !X, %i: index) attributes {tile.kernel, nv.threads = 128 : i64} {
  %Xs = tile.alloc "Xs" : !s
  // expected-error @+2 {{`cp_async` copies rows, whose elements lie along the last dimension of}}
  // expected-note @+1 {{name 3 dimensions, the last of them 3; or copy with b.copy}}
  nv.cp_async %X[%i, %i, %i, %i] to %Xs dims [1, 1, 3] rows [8, 16] : !X, !s
  return
}

// -----

// Boxes of padded values have 128 bytes in each row.
func.func @padded_columns(%A: memref<?x?xi8, strided<[?, 1]>, #tile.space<global>>)
    attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %As = tile.alloc "As" : memref<128x96xi8, #tile.space<shared>>
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  // expected-error @+2 {{`tma.load` does not pad values to `As` (128x96 i8, shared)}}
  // expected-note @+1 {{its rows are multiples of 128 bytes}}
  nv.tma.load %A[%c0, %c0] to %As, %full[%c0] padding padded_f6e2m3
    : memref<?x?xi8, strided<[?, 1]>, #tile.space<global>>, memref<128x96xi8, #tile.space<shared>>, !nv.barriers<1>
  return
}

// -----

// The tensor core does not read densely packed values of 6 bits.
func.func @dense_six_bits(%more: i1) attributes {tile.kernel, nv.threads = 128 : i64} {
  %As = tile.alloc "As" : memref<128x96xi8, #tile.space<shared>>
  %Bt = memref.transpose %As (i, j) -> (j, i) : memref<128x96xi8, #tile.space<shared>>
    to memref<96x128xi8, strided<[1, 96]>, #tile.space<shared>>
  %S = nv.tcgen05.alloc "S" : memref<1x1x32x16xf8E8M0FNU, #tile.space<tensor>>
  %acc = nv.tcgen05.alloc "acc" : memref<128x128xf32, #tile.space<tensor>>
  nv.warps 0, 1 {
    // expected-error @+1 {{the tensor core does not multiply `As` (128x96 i8, shared)}}
    nv.tcgen05.mma %As, %Bt into %acc accumulate %more scales(%S, %S) packing_a f6e2m3 packing_b f6e2m3
      : memref<128x96xi8, #tile.space<shared>>, memref<96x128xi8, strided<[1, 96]>, #tile.space<shared>>,
        memref<128x128xf32, #tile.space<tensor>> scales(memref<1x1x32x16xf8E8M0FNU, #tile.space<tensor>>, memref<1x1x32x16xf8E8M0FNU, #tile.space<tensor>>)
  }
  return
}
