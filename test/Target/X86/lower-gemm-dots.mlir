// RUN: penstock-opt %s --tile-lower-gemm="dot-bf16=true dot-i8=true" -split-input-file | FileCheck %s

!a = memref<6x64xbf16, #tile.space<shared>>
!b = memref<64x70xbf16, #tile.space<shared>>
!c = memref<6x70xf32, #tile.space<local>>

// 70 columns are a block of four panels, and six columns of a fifth one under a mask.
// CHECK-LABEL: func.func @bf16
// CHECK: call @penstock_pack_panels
// CHECK: scf.for
// CHECK-COUNT-24: vector.load %{{.*}} : memref<6x70xf32{{.*}}>, vector<16xf32>
// CHECK-COUNT-24: "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK-COUNT-24: vector.store
// CHECK: dense<[true, true, true, true, true, true, false,
// CHECK-COUNT-6: vector.maskedload
// CHECK-COUNT-6: "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK-COUNT-6: vector.maskedstore
func.func @bf16(%runtime: !llvm.ptr) attributes {tile.kernel} {
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.gemm %a, %b into %c : !a, !b, !c
  return
}

// -----

!a = memref<6x64xi8, #tile.space<shared>>
!b = memref<64x16xi8, #tile.space<shared>>
!c = memref<6x16xi32, #tile.space<local>>

// VNNI takes unsigned by signed numbers: A is packed with its signs flipped, and the sums
// start with a correction.
// CHECK-LABEL: func.func @signed
// CHECK: %[[FLIP:.*]] = arith.constant 128 : index
// CHECK: call @penstock_pack_rows(%{{.*}}, %[[FLIP]])
// CHECK: call @penstock_offset_sums
// CHECK: "llvm.x86.avx512.vpdpbusd.512"
func.func @signed(%runtime: !llvm.ptr) attributes {tile.kernel} {
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.gemm %a, %b into %c : !a, !b, !c
  return
}

// -----

!a = memref<6x64xi8, #tile.space<shared>>
!b = memref<64x16xi8, #tile.space<shared>>
!c = memref<6x16xi32, #tile.space<local>>

// CHECK-LABEL: func.func @unsigned
// CHECK-NOT: penstock_pack_rows
// CHECK-NOT: penstock_offset_sums
// CHECK: "llvm.x86.avx512.vpdpbusd.512"
func.func @unsigned(%runtime: !llvm.ptr) attributes {tile.kernel} {
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.gemm %a, %b into %c overwrite unsigned_a : !a, !b, !c
  return
}

// -----

!a = memref<1x64xbf16, #tile.space<shared>>
!b = memref<4x32x16x2xbf16, #tile.space<shared>>
!c = memref<1x64xf32, #tile.space<local>>
!w = memref<?x?x?x?xbf16, strided<[?, ?, ?, 1]>, #tile.space<global>>

// Each of four panels is prefetched 2 KB ahead, from its end on in the panel that is read four later.
// CHECK-LABEL: func.func @one_row
// CHECK: scf.for
// CHECK: %[[IS_NEXT:.*]] = arith.cmpi uge, %[[AHEAD:[0-9]+]]
// CHECK: arith.select %[[IS_NEXT]], %{{.*}}, %[[AHEAD]]
// CHECK-COUNT-4: llvm.intr.prefetch
// CHECK-COUNT-4: "llvm.x86.avx512bf16.dpbf16ps.512"
func.func @one_row(%w: !w {tile.access = "in"}, %i: index, %runtime: !llvm.ptr) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.copy %w[%i, %c0, %c0, %c0] to %b : !w to !b
  tile.gemm %a, %b into %c : !a, !b, !c
  return
}
