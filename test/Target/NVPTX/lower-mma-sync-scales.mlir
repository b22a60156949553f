// RUN: penstock-opt %s --split-input-file --tile-attach-target=target=sm_120a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s

// Block-scaled mma.sync. The scales of a row and of four blocks of k are a word of shared memory, and
// the words of four rows, 32 apart, are neighbors.

#s = #tile.space<shared>
#l = #tile.space<local>

// Four warps multiply 64 x 64 each: their rows have two words in each lane, and their columns two.
// 128 values of k are four steps, which select bytes 0 to 3 of these words. Blocks of 16 rows select
// the lower or upper two lanes of each quad, blocks of 8 columns one lane.
// CHECK-LABEL: func.func @mxf8
// CHECK: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
// CHECK: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
// CHECK-NOT: -> vector<2xi32>
// CHECK-COUNT-16: "ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-NOT: ldmatrix
// CHECK: "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13}, $14, {0, 0}, $15, {0, 0};", "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f,r,r"
// CHECK: $14, {0, 1}, $15, {0, 0};"
// CHECK: $14, {0, 0}, $15, {0, 0};"
// CHECK: $14, {0, 1}, $15, {0, 0};"
// CHECK: $14, {0, 0}, $15, {0, 1};"
// CHECK-COUNT-27: mma.sync
// CHECK: $14, {1, 0}, $15, {1, 0};"
// CHECK-COUNT-31: mma.sync
// CHECK: $14, {2, 0}, $15, {2, 0};"
// CHECK-COUNT-31: mma.sync
// CHECK: $14, {3, 0}, $15, {3, 0};"
// CHECK-COUNT-30: mma.sync
// CHECK: $14, {3, 1}, $15, {3, 3};"
// CHECK-NOT: mma.sync
func.func @mxf8() attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %As = tile.alloc "As" : memref<128x128xf8E4M3FN, #s>
  %Bs = tile.alloc "Bs" : memref<128x128xf8E5M2, #s>
  %SA = tile.alloc "SA" : memref<1x1x32x16xf8E8M0FNU, #s>
  %SB = tile.alloc "SB" : memref<1x1x32x16xf8E8M0FNU, #s>
  %acc = tile.alloc "acc" : memref<128x128xf32, #l>
  %Bt = memref.transpose %Bs (i, j) -> (j, i)
    : memref<128x128xf8E5M2, #s> to memref<128x128xf8E5M2, strided<[1, 128]>, #s>
  tile.gemm %As, %Bt into %acc overwrite scales(%SA, %SB)
    : memref<128x128xf8E4M3FN, #s>, memref<128x128xf8E5M2, strided<[1, 128]>, #s>, memref<128x128xf32, #l>
      scales(memref<1x1x32x16xf8E8M0FNU, #s>, memref<1x1x32x16xf8E8M0FNU, #s>)
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>

// 64 bytes of f4 are 128 values and two steps, with two scales of each row: bytes 0 and 1, then 2
// and 3.
// CHECK-LABEL: func.func @mxf4
// CHECK-COUNT-2: -> vector<2xi32>
// CHECK-NOT: -> vector<2xi32>
// CHECK-COUNT-32: "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 {{.*}} $14, {0, {{[01]}}}, $15, {0, {{[0-3]}}};"
// CHECK-COUNT-32: "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 {{.*}} $14, {2, {{[01]}}}, $15, {2, {{[0-3]}}};"
// CHECK-NOT: mma.sync
func.func @mxf4() attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %As = tile.alloc "As" : memref<128x64xi8, #s>
  %Bs = tile.alloc "Bs" : memref<128x64xi8, #s>
  %SA = tile.alloc "SA" : memref<1x1x32x16xf8E8M0FNU, #s>
  %SB = tile.alloc "SB" : memref<1x1x32x16xf8E8M0FNU, #s>
  %acc = tile.alloc "acc" : memref<128x128xf32, #l>
  %Bt = memref.transpose %Bs (i, j) -> (j, i)
    : memref<128x64xi8, #s> to memref<64x128xi8, strided<[1, 64]>, #s>
  tile.gemm %As, %Bt into %acc overwrite scales(%SA, %SB)
    : memref<128x64xi8, #s>, memref<64x128xi8, strided<[1, 64]>, #s>, memref<128x128xf32, #l>
      scales(memref<1x1x32x16xf8E8M0FNU, #s>, memref<1x1x32x16xf8E8M0FNU, #s>)
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>

// The same bytes with four scales of each row for a step: each step has its own words. Words of the
// next step are loaded before this one is multiplied.
// CHECK-LABEL: func.func @nvf4
// CHECK-COUNT-4: -> vector<2xi32>
// CHECK-COUNT-64: "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 {{.*}} $14, {0, {{[01]}}}, $15, {0, {{[0-3]}}};"
// CHECK-NOT: mma.sync
// CHECK-NOT: -> vector<2xi32>
func.func @nvf4() attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %As = tile.alloc "As" : memref<128x64xi8, #s>
  %Bs = tile.alloc "Bs" : memref<128x64xi8, #s>
  %SA = tile.alloc "SA" : memref<1x2x32x16xf8E4M3FN, #s>
  %SB = tile.alloc "SB" : memref<1x2x32x16xf8E4M3FN, #s>
  %acc = tile.alloc "acc" : memref<128x128xf32, #l>
  %Bt = memref.transpose %Bs (i, j) -> (j, i)
    : memref<128x64xi8, #s> to memref<64x128xi8, strided<[1, 64]>, #s>
  tile.gemm %As, %Bt into %acc overwrite scales(%SA, %SB)
    : memref<128x64xi8, #s>, memref<64x128xi8, strided<[1, 64]>, #s>, memref<128x128xf32, #l>
      scales(memref<1x2x32x16xf8E4M3FN, #s>, memref<1x2x32x16xf8E4M3FN, #s>)
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>

// TMA has padded 6-bit and 4-bit values to a byte each; ldmatrix unpacks them. Those of 4 bits move
// from bits 0 to 3 of a byte to bits 2 to 5.
// CHECK-LABEL: func.func @padded
// CHECK-DAG: %[[FOUR:.*]] = arith.constant 4 : i32
// CHECK: "ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b6x16_p32 {$0, $1, $2, $3}, [$4];"
// CHECK: %[[WORDS:.*]] = llvm.inline_asm has_side_effects "ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64 {$0, $1, $2, $3}, [$4{{.*}}];"
// CHECK: %[[WORD:.*]] = llvm.extractvalue %[[WORDS]][0]
// CHECK: arith.muli %[[WORD]], %[[FOUR]]
// CHECK: "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e2m1.f32.ue8m0
// CHECK-NOT: .b16
func.func @padded() attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %As = tile.alloc "As" : memref<128x128xi8, #s>
  %Bs = tile.alloc "Bs" : memref<128x128xi8, #s>
  %SA = tile.alloc "SA" : memref<1x1x32x16xf8E8M0FNU, #s>
  %SB = tile.alloc "SB" : memref<1x1x32x16xf8E8M0FNU, #s>
  %acc = tile.alloc "acc" : memref<128x128xf32, #l>
  %Bt = memref.transpose %Bs (i, j) -> (j, i)
    : memref<128x128xi8, #s> to memref<128x128xi8, strided<[1, 128]>, #s>
  tile.gemm %As, %Bt into %acc overwrite scales(%SA, %SB) packing_a padded_f6e3m2 packing_b padded_f4e2m1
    : memref<128x128xi8, #s>, memref<128x128xi8, strided<[1, 128]>, #s>, memref<128x128xf32, #l>
      scales(memref<1x1x32x16xf8E8M0FNU, #s>, memref<1x1x32x16xf8E8M0FNU, #s>)
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>

// Eight warps have whole rows, 16 each: half of a word's 32 rows. The last 16 of the last warp would
// be beyond the tile, so lanes are limited to row 127. All warps have the same 128 columns, whose
// scales are four words.
// CHECK-LABEL: func.func @whole_rows
// CHECK-DAG: %[[LAST:.*]] = arith.constant 127 : i32
// CHECK: arith.minsi %{{.*}}, %[[LAST]] : i32
// CHECK-NOT: arith.minsi
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK-NOT: ldmatrix.sync.aligned.m8n8.x2
// CHECK-COUNT-64: $14, {{[{][0-3], 0[}]}}, $15,
// CHECK-NOT: mma.sync
func.func @whole_rows() attributes {tile.kernel, nv.tile_program, nv.threads = 256 : i64} {
  %As = tile.alloc "As" : memref<128x128xf8E4M3FN, #s>
  %Bs = tile.alloc "Bs" : memref<128x128xf8E4M3FN, #s>
  %S = tile.alloc "S" : memref<1x1x32x16xf8E8M0FNU, #s>
  %acc = tile.alloc "acc" : memref<128x128xf32, #l>
  %most = tile.alloc "most" : memref<128xf32, #l>
  %Bt = memref.transpose %Bs (i, j) -> (j, i)
    : memref<128x128xf8E4M3FN, #s> to memref<128x128xf8E4M3FN, strided<[1, 128]>, #s>
  tile.gemm %As, %Bt into %acc overwrite scales(%S, %S)
    : memref<128x128xf8E4M3FN, #s>, memref<128x128xf8E4M3FN, strided<[1, 128]>, #s>, memref<128x128xf32, #l>
      scales(memref<1x1x32x16xf8E8M0FNU, #s>, memref<1x1x32x16xf8E8M0FNU, #s>)
  tile.reduce max %acc along 1 into %most : memref<128x128xf32, #l>, memref<128xf32, #l>
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>

// Rows of 16 scales at bytes 8 to 23 of others are not words that one access reads: their bytes are
// loaded one by one.
// CHECK-LABEL: func.func @slice
// CHECK-NOT: -> vector<2xi32>
// CHECK-COUNT-8: llvm.load %{{.*}} : !llvm.ptr<3> -> i8
// CHECK: llvm.bitcast %{{.*}} : vector<4xi8> to i32
// CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
// CHECK: mma.sync
func.func @slice() attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %As = tile.alloc "As" : memref<128x128xf8E4M3FN, #s>
  %Bs = tile.alloc "Bs" : memref<128x128xf8E4M3FN, #s>
  %all = tile.alloc "all" : memref<1x1x32x32xf8E8M0FNU, #s>
  %SB = tile.alloc "SB" : memref<1x1x32x16xf8E8M0FNU, #s>
  %acc = tile.alloc "acc" : memref<128x128xf32, #l>
  %SA = memref.subview %all[0, 0, 0, 8] [1, 1, 32, 16] [1, 1, 1, 1]
    : memref<1x1x32x32xf8E8M0FNU, #s> to memref<1x1x32x16xf8E8M0FNU, strided<[1024, 1024, 32, 1], offset: 8>, #s>
  %Bt = memref.transpose %Bs (i, j) -> (j, i)
    : memref<128x128xf8E4M3FN, #s> to memref<128x128xf8E4M3FN, strided<[1, 128]>, #s>
  tile.gemm %As, %Bt into %acc overwrite scales(%SA, %SB)
    : memref<128x128xf8E4M3FN, #s>, memref<128x128xf8E4M3FN, strided<[1, 128]>, #s>, memref<128x128xf32, #l>
      scales(memref<1x1x32x16xf8E8M0FNU, strided<[1024, 1024, 32, 1], offset: 8>, #s>, memref<1x1x32x16xf8E8M0FNU, #s>)
  return
}
