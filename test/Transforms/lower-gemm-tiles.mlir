// RUN: penstock-opt %s --tile-lower-gemm=tiles=true -split-input-file | FileCheck %s

!a = memref<64x128xbf16, #tile.space<shared>>
!b = memref<128x64xbf16, #tile.space<shared>>
!c = memref<64x64xf32, #tile.space<local>>

// 2 x 2 tiles of the accumulator stay in registers over K. A is read in place, with a hint
// that it is not needed again; B is packed. The configuration is released.
// CHECK-LABEL: func.func @bf16
// CHECK-NOT: penstock_pack_rows
// CHECK: call @penstock_pack_panels
// CHECK: call_intrinsic "llvm.x86.ldtilecfg"
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-4: call_intrinsic "llvm.x86.tileloadd64"
// CHECK: scf.for
// CHECK: "llvm.x86.tileloadd64"
// CHECK: "llvm.x86.tileloaddt164"
// CHECK: "llvm.x86.tdpbf16ps"
// CHECK: "llvm.x86.tileloadd64"
// CHECK: "llvm.x86.tdpbf16ps"
// CHECK: "llvm.x86.tileloaddt164"
// CHECK-COUNT-2: "llvm.x86.tdpbf16ps"
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK-NOT: ldtilecfg
// CHECK: "llvm.x86.tilerelease"
func.func @bf16(%runtime: !llvm.ptr) attributes {tile.kernel} {
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.gemm %a, %b into %c : !a, !b, !c
  return
}

// -----

!a = memref<40x60xi8, #tile.space<shared>>
!b = memref<60x33xi8, #tile.space<shared>>
!c = memref<40x33xi32, #tile.space<local>>

// K is not a multiple of 64: A is packed with zeros behind its rows. 40 x 33 has blocks
// of 32 x 32, 8 x 32, 32 x 1 and 8 x 1, each with its configuration.
// CHECK-LABEL: func.func @edges
// CHECK: call @penstock_pack_rows
// CHECK: call @penstock_pack_panels
// CHECK-COUNT-4: "llvm.x86.ldtilecfg"
// CHECK: "llvm.x86.tilezero"
// CHECK: "llvm.x86.tdpbssd"
// CHECK-NOT: "llvm.x86.ldtilecfg"
func.func @edges(%runtime: !llvm.ptr) attributes {tile.kernel} {
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.gemm %a, %b into %c overwrite : !a, !b, !c
  return
}

// -----

!a = memref<16x64xi8, #tile.space<shared>>
!b = memref<1x16x16x4xi8, #tile.space<shared>>
!c = memref<16x16xi32, #tile.space<local>>

// A packed operand is read in place.
// CHECK-LABEL: func.func @packed
// CHECK-NOT: penstock_pack
// CHECK: "llvm.x86.tdpbusd"
func.func @packed(%runtime: !llvm.ptr) attributes {tile.kernel} {
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.gemm %a, %b into %c unsigned_a : !a, !b, !c
  return
}

// -----

!a = memref<16x64xf16, #tile.space<shared>>
!b = memref<64x16xf16, #tile.space<shared>>
!c = memref<16x16xf32, #tile.space<local>>

// These processors have no tile instruction for f16.
// CHECK-LABEL: func.func @f16
// CHECK-NOT: llvm.x86
// CHECK: vector.fma
func.func @f16(%runtime: !llvm.ptr) attributes {tile.kernel} {
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.gemm %a, %b into %c : !a, !b, !c
  return
}
