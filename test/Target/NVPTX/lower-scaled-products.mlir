// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads --split-input-file | FileCheck %s

// Products with scales. A 128 x 4 block of scales is 512 bytes of shared memory, and 4 columns of
// tensor memory. Bits 4 and 29 of the instruction descriptor count the bytes of a word of scales;
// bit 23 says that they are powers of two, bit 27 that there are 128 rows.

#s = #tile.space<shared>
#t = #tile.space<tensor>

// 128 values of f8 are four instructions, which take one scale of each row: bytes 0 to 3.
// 0x08a00000: 128 rows, 128 columns (16 << 17), powers of two.
// CHECK-LABEL: func.func @mxf8(
// CHECK-DAG: arith.constant 144703488 : i32
// CHECK-DAG: arith.constant 681574416 : i32
// CHECK-DAG: arith.constant 1218445344 : i32
// CHECK-DAG: arith.constant 1755316272 : i32
// CHECK-COUNT-2: @issuer tcgen05.cp.cta_group::1.32x128b.warpx4 [$0], from;
// CHECK-NOT: tcgen05.cp
// CHECK-COUNT-4: @issuer tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [$0], a, b, $3, [$4], [$5], more;
// CHECK-NOT: tcgen05.mma
func.func @mxf8() attributes {tile.kernel, nv.threads = 128 : i64} {
  %yes = arith.constant true
  %As = tile.alloc "As" : memref<128x128xf8E4M3FN, #s>
  %Bs = tile.alloc "Bs" : memref<128x128xf8E4M3FN, #s>
  %Bt = memref.transpose %Bs (i, j) -> (j, i)
    : memref<128x128xf8E4M3FN, #s> to memref<128x128xf8E4M3FN, strided<[1, 128]>, #s>
  %Ss = tile.alloc "Ss" : memref<1x1x32x16xf8E8M0FNU, #s>
  %SA = nv.tcgen05.alloc "SA" : memref<1x1x32x16xf8E8M0FNU, #t>
  %SB = nv.tcgen05.alloc "SB" : memref<1x1x32x16xf8E8M0FNU, #t>
  %acc = nv.tcgen05.alloc "acc" : memref<128x128xf32, #t>
  nv.warps 0, 1 {
    nv.tcgen05.copy %Ss to %SA : memref<1x1x32x16xf8E8M0FNU, #s>, memref<1x1x32x16xf8E8M0FNU, #t>
    nv.tcgen05.copy %Ss to %SB : memref<1x1x32x16xf8E8M0FNU, #s>, memref<1x1x32x16xf8E8M0FNU, #t>
    nv.tcgen05.mma %As, %Bt into %acc accumulate %yes scales(%SA, %SB)
      : memref<128x128xf8E4M3FN, #s>, memref<128x128xf8E4M3FN, strided<[1, 128]>, #s>,
        memref<128x128xf32, #t> scales(memref<1x1x32x16xf8E8M0FNU, #t>, memref<1x1x32x16xf8E8M0FNU, #t>)
  }
  nv.sync
  nv.tcgen05.dealloc %SA : memref<1x1x32x16xf8E8M0FNU, #t>
  nv.tcgen05.dealloc %SB : memref<1x1x32x16xf8E8M0FNU, #t>
  nv.tcgen05.dealloc %acc : memref<128x128xf32, #t>
  return
}

// -----

#s = #tile.space<shared>
#t = #tile.space<tensor>

// 128 bytes of f4 are 256 values: four instructions with four scales of each row, bytes 0 to 3 of
// one block after the other, so that all have one descriptor. The 256 rows of A are two parts.
// 0x08200480: e2m1 (1 << 7, 1 << 10), 128 columns, 128 rows.
// CHECK-LABEL: func.func @nvf4(
// CHECK-DAG: arith.constant 136316032 : i32
// CHECK-COUNT-12: @issuer tcgen05.cp.cta_group::1.32x128b.warpx4 [$0], from;
// CHECK-NOT: tcgen05.cp
// CHECK-COUNT-8: @issuer tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [$0], a, b, $3, [$4], [$5], more;
// CHECK-NOT: tcgen05.mma
func.func @nvf4() attributes {tile.kernel, nv.threads = 128 : i64} {
  %yes = arith.constant true
  %As = tile.alloc "As" : memref<256x128xi8, #s>
  %Bs = tile.alloc "Bs" : memref<128x128xi8, #s>
  %Bt = memref.transpose %Bs (i, j) -> (j, i)
    : memref<128x128xi8, #s> to memref<128x128xi8, strided<[1, 128]>, #s>
  %Ss = tile.alloc "Ss" : memref<2x4x32x16xf8E4M3FN, #s>
  %Ts = tile.alloc "Ts" : memref<1x4x32x16xf8E4M3FN, #s>
  %SA = nv.tcgen05.alloc "SA" : memref<2x4x32x16xf8E4M3FN, #t>
  %SB = nv.tcgen05.alloc "SB" : memref<1x4x32x16xf8E4M3FN, #t>
  %acc = nv.tcgen05.alloc "acc" : memref<256x128xf32, #t>
  nv.warps 0, 1 {
    nv.tcgen05.copy %Ss to %SA : memref<2x4x32x16xf8E4M3FN, #s>, memref<2x4x32x16xf8E4M3FN, #t>
    nv.tcgen05.copy %Ts to %SB : memref<1x4x32x16xf8E4M3FN, #s>, memref<1x4x32x16xf8E4M3FN, #t>
    nv.tcgen05.mma %As, %Bt into %acc accumulate %yes scales(%SA, %SB)
      : memref<256x128xi8, #s>, memref<128x128xi8, strided<[1, 128]>, #s>, memref<256x128xf32, #t>
        scales(memref<2x4x32x16xf8E4M3FN, #t>, memref<1x4x32x16xf8E4M3FN, #t>)
  }
  nv.sync
  nv.tcgen05.dealloc %SA : memref<2x4x32x16xf8E4M3FN, #t>
  nv.tcgen05.dealloc %SB : memref<1x4x32x16xf8E4M3FN, #t>
  nv.tcgen05.dealloc %acc : memref<256x128xf32, #t>
  return
}

// -----

#s = #tile.space<shared>
#t = #tile.space<tensor>

// Values of 6 bits and of f8, of which 16 take 16 bytes: four instructions for 128 of them. TMA pads
// by tensor maps of type 15 (16U6_ALIGN16B), with boxes of 128 values; rows of the tensor are whole
// boxes of 96 bytes, 32 bytes apart.
// 0x08a00180: e2m3 (3 << 7) by e4m3 (0), 128 columns, powers of two, 128 rows.
// CHECK: box = [128, 128], data_type = 15
// CHECK-SAME: row_aligned = [{argument = 0 : i64, bytes = 32 : i64, multiple = 96 : i64}]
// CHECK-LABEL: func.func @mxf6(
// CHECK-DAG: arith.constant 144703872 : i32
// CHECK: cp.async.bulk.tensor.2d
// CHECK-COUNT-4: @issuer tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [$0], a, b, $3, [$4], [$5], more;
// CHECK-NOT: tcgen05.mma
func.func @mxf6(%A: memref<?x?xi8, strided<[?, 1]>, #tile.space<global>> {tile.packed = "f6e2m3_packed"})
    attributes {tile.kernel, nv.threads = 128 : i64} {
  %yes = arith.constant true
  %c0 = arith.constant 0 : index
  %As = tile.alloc "As" : memref<128x128xi8, #s>
  %Bs = tile.alloc "Bs" : memref<128x128xf8E4M3FN, #s>
  %Bt = memref.transpose %Bs (i, j) -> (j, i)
    : memref<128x128xf8E4M3FN, #s> to memref<128x128xf8E4M3FN, strided<[1, 128]>, #s>
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  %SA = nv.tcgen05.alloc "SA" : memref<1x1x32x16xf8E8M0FNU, #t>
  %SB = nv.tcgen05.alloc "SB" : memref<1x1x32x16xf8E8M0FNU, #t>
  %acc = nv.tcgen05.alloc "acc" : memref<128x128xf32, #t>
  nv.warps 0, 1 {
    nv.tma.load %A[%c0, %c0] to %As, %full[%c0] padding padded_f6e2m3
      : memref<?x?xi8, strided<[?, 1]>, #tile.space<global>>, memref<128x128xi8, #s>, !nv.barriers<1>
    nv.tcgen05.mma %As, %Bt into %acc accumulate %yes scales(%SA, %SB) packing_a padded_f6e2m3
      : memref<128x128xi8, #s>, memref<128x128xf8E4M3FN, strided<[1, 128]>, #s>,
        memref<128x128xf32, #t> scales(memref<1x1x32x16xf8E8M0FNU, #t>, memref<1x1x32x16xf8E8M0FNU, #t>)
  }
  nv.sync
  nv.tcgen05.dealloc %SA : memref<1x1x32x16xf8E8M0FNU, #t>
  nv.tcgen05.dealloc %SB : memref<1x1x32x16xf8E8M0FNU, #t>
  nv.tcgen05.dealloc %acc : memref<128x128xf32, #t>
  return
}
