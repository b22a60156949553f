// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --nv-choose-threads --nv-assign-spaces --split-input-file | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: penstock-opt %s --tile-attach-target=target=sm_80 --nv-choose-threads --nv-assign-spaces --split-input-file | FileCheck %s --check-prefixes=CHECK,AMPERE
// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-choose-threads --nv-assign-spaces --split-input-file | FileCheck %s --check-prefixes=CHECK,BLACKWELL

// The left operand of wgmma and mma.sync stays in registers if threads compute it.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @computed
// AMPERE: tile.alloc "P" : memref<64x64xf16, #tile.space<local>>
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

// -----

// mma.sync takes what is computed from registers. What is computed from shared memory is stored
// there: warps would share no columns of the right operand.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @from_registers_or_memory
// AMPERE: tile.alloc "P" : memref<64x64xf16, #tile.space<local>>
// AMPERE: tile.alloc "W" : memref<64x64xf16, #tile.space<shared>>
// HOPPER: tile.alloc "P" : memref<64x64xf16, #tile.space<local>>
// HOPPER: tile.alloc "W" : memref<64x64xf16, #tile.space<local>>
func.func @from_registers_or_memory() attributes {tile.kernel} {
  %zero = arith.constant 0.0 : f32
  %S = tile.alloc "S" : memref<64x64xf32, #l>
  %P = tile.alloc "P" : memref<64x64xf16, #l>
  %packed = tile.alloc "packed" : memref<64x64xi8, #s>
  %W = tile.alloc "W" : memref<64x64xf16, #l>
  %V = tile.alloc "V" : memref<64x64xf16, #s>
  %acc = tile.alloc "acc" : memref<64x64xf32, #l>
  tile.fill %S, %zero : memref<64x64xf32, #l>, f32
  tile.map %P ins(%S) dims [[0, 1]] {
  ^bb0(%s: f32):
    %p = arith.truncf %s : f32 to f16
    tile.yield %p : f16
  } : memref<64x64xf16, #l> ins(memref<64x64xf32, #l>)
  tile.gemm %P, %V into %acc : memref<64x64xf16, #l>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  tile.map %W ins(%packed) dims [[0, 1]] {
  ^bb0(%i: i8):
    %w = arith.sitofp %i : i8 to f16
    tile.yield %w : f16
  } : memref<64x64xf16, #l> ins(memref<64x64xi8, #s>)
  tile.gemm %W, %V into %acc : memref<64x64xf16, #l>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  return
}

// -----

// Four warps have no whole rows of 32, and elements of 8 bits are taken in another order.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @other_orders
// AMPERE: tile.alloc "P" : memref<32x64xf16, #tile.space<shared>>
// AMPERE: tile.alloc "Q" : memref<64x64xi8, #tile.space<shared>>
func.func @other_orders() attributes {tile.kernel} {
  %zero = arith.constant 0.0 : f16
  %none = arith.constant 0 : i8
  %P = tile.alloc "P" : memref<32x64xf16, #l>
  %V = tile.alloc "V" : memref<64x64xf16, #s>
  %acc = tile.alloc "acc" : memref<32x64xf32, #l>
  %Q = tile.alloc "Q" : memref<64x64xi8, #l>
  %W = tile.alloc "W" : memref<64x64xi8, #s>
  %sum = tile.alloc "sum" : memref<64x64xi32, #l>
  tile.fill %P, %zero : memref<32x64xf16, #l>, f16
  tile.gemm %P, %V into %acc : memref<32x64xf16, #l>, memref<64x64xf16, #s>, memref<32x64xf32, #l>
  tile.fill %Q, %none : memref<64x64xi8, #l>, i8
  tile.gemm %Q, %W into %sum : memref<64x64xi8, #l>, memref<64x64xi8, #s>, memref<64x64xi32, #l>
  return
}
