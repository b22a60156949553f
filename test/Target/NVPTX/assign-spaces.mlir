// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --nv-choose-threads --nv-assign-spaces --split-input-file | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-choose-threads --nv-assign-spaces --split-input-file | FileCheck %s --check-prefixes=CHECK,BLACKWELL

// The left operand of wgmma stays in registers if threads compute it.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @computed
// HOPPER: tile.alloc "P" : memref<64x64xf16, #tile.space<local>>
// BLACKWELL: tile.alloc "P" : memref<64x64xf16, #tile.space<shared>>
func.func @computed() attributes {tile.kernel} {
  %zero = arith.constant 0.0 : f16
  %P = tile.alloc "P" : memref<64x64xf16, #l>
  %V = tile.alloc "V" : memref<64x64xf16, #s>
  %acc = tile.alloc "acc" : memref<64x64xf32, #l>
  tile.fill %P, %zero : memref<64x64xf16, #l>, f16
  tile.gemm %P, %V into %acc : memref<64x64xf16, #l>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  return
}

// -----

// A copied tile lies in shared memory; engines do not write registers.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @copied
// CHECK: tile.alloc "P" : memref<64x64xf16, #tile.space<shared>>
func.func @copied(%a: memref<?x?xf16, strided<[?, 1]>, #g>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %P = tile.alloc "P" : memref<64x64xf16, #l>
  %V = tile.alloc "V" : memref<64x64xf16, #s>
  %acc = tile.alloc "acc" : memref<64x64xf32, #l>
  tile.copy %a[%c0, %c0] to %P : memref<?x?xf16, strided<[?, 1]>, #g> to memref<64x64xf16, #l>
  tile.gemm %P, %V into %acc : memref<64x64xf16, #l>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  return
}

// -----

// wgmma multiplies 64 rows, and takes 16-bit elements only from registers.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @few_rows
// CHECK: tile.alloc "P" : memref<32x64xf16, #tile.space<shared>>
// CHECK: tile.alloc "Q" : memref<64x64xf8E4M3FN, #tile.space<shared>>
func.func @few_rows() attributes {tile.kernel} {
  %zero = arith.constant 0.0 : f16
  %small = arith.constant 0.0 : f8E4M3FN
  %P = tile.alloc "P" : memref<32x64xf16, #l>
  %V = tile.alloc "V" : memref<64x64xf16, #s>
  %acc = tile.alloc "acc" : memref<32x64xf32, #l>
  %Q = tile.alloc "Q" : memref<64x64xf8E4M3FN, #l>
  %W = tile.alloc "W" : memref<64x64xf8E4M3FN, #s>
  %sum = tile.alloc "sum" : memref<64x64xf32, #l>
  tile.fill %P, %zero : memref<32x64xf16, #l>, f16
  tile.gemm %P, %V into %acc : memref<32x64xf16, #l>, memref<64x64xf16, #s>, memref<32x64xf32, #l>
  tile.fill %Q, %small : memref<64x64xf8E4M3FN, #l>, f8E4M3FN
  tile.gemm %Q, %W into %sum : memref<64x64xf8E4M3FN, #l>, memref<64x64xf8E4M3FN, #s>, memref<64x64xf32, #l>
  return
}
