// RUN: penstock-opt %s --tile-expand-scaled-products --canonicalize --split-input-file | FileCheck %s
// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --tile-expand-scaled-products --canonicalize --split-input-file | FileCheck %s --check-prefix=GPU

// Each operand is multiplied by its scales into a tile of bf16 with k last, and the product has no
// scales.

!s = memref<1x2x32x16xf8E8M0FNU, #tile.space<shared>>
!d = memref<128x128xf32, #tile.space<local>>

// 128 bytes are 256 values: element (r, i) is half i mod 2 of byte i / 2, its scale that of block
// i / 32.
// GPUs multiply a subnormal f32 by 2^126, others convert an integer.
// GPU-LABEL: func.func @f4
// GPU: %[[BIAS:.*]] = arith.constant 8.50705917E+37 : f32
// GPU: tile.map
// GPU: %[[F:.*]] = arith.bitcast {{.*}} : i32 to f32
// GPU: arith.mulf %[[F]], %[[BIAS]] : f32
// CHECK-LABEL: func.func @f4
// CHECK-DAG: %[[B:.*]] = tile.alloc "Bs scaled" : memref<128x256xbf16, #tile.space<shared>>
// CHECK-DAG: %[[A:.*]] = tile.alloc "As scaled" : memref<128x256xbf16, #tile.space<local>>
// CHECK: tile.map %[[A]] dims []
// CHECK: tile.load %As{{.*}} : memref<128x128xi8
// CHECK: arith.sitofp
// CHECK: tile.load %SA{{.*}} : memref<1x2x32x16xf8E8M0FNU
// CHECK: arith.mulf
// CHECK: arith.truncf {{.*}} : f32 to bf16
// CHECK: tile.map %[[B]] dims []
// CHECK: %[[T:.*]] = memref.transpose %[[B]] (d0, d1) -> (d1, d0)
// CHECK: tile.gemm %[[A]], %[[T]] into %acc :
// CHECK-NOT: scales
func.func @f4() attributes {tile.kernel} {
  %As = tile.alloc "As" : memref<128x128xi8, #tile.space<shared>>
  %Bs = tile.alloc "Bs" : memref<128x128xi8, #tile.space<shared>>
  %SA = tile.alloc "SA" : !s
  %SB = tile.alloc "SB" : !s
  %acc = tile.alloc "acc" : !d
  %Bt = memref.transpose %Bs (i, j) -> (j, i) : memref<128x128xi8, #tile.space<shared>>
    to memref<128x128xi8, strided<[1, 128]>, #tile.space<shared>>
  tile.gemm %As, %Bt into %acc scales(%SA, %SB) : memref<128x128xi8, #tile.space<shared>>,
    memref<128x128xi8, strided<[1, 128]>, #tile.space<shared>>, !d scales(!s, !s)
  return
}

// -----

// In a loop with stated stages, the number of statements stays; `overwrite` stays, too.

!s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
!a = memref<128x128xf8E5M2, #tile.space<shared>>
!t = memref<128x128xf8E5M2, strided<[1, 128]>, #tile.space<shared>>
!d = memref<128x128xf32, #tile.space<local>>

// CHECK-LABEL: func.func @stated
// CHECK: scf.for
// CHECK-NEXT: tile.fill
// CHECK-NEXT: tile.statement "gemm"
// CHECK: tile.map
// CHECK: tile.map
// CHECK: tile.gemm {{.*}} overwrite :
// CHECK: tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>
func.func @stated(%n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant 1.0 : f8E5M2
  %As = tile.alloc "As" : !a
  %SA = tile.alloc "SA" : !s
  %acc = tile.alloc "acc" : !d
  %Bt = memref.transpose %As (i, j) -> (j, i) : !a to !t
  scf.for %k = %c0 to %n step %c1 {
    tile.fill %As, %x : !a, f8E5M2
    tile.gemm %As, %Bt into %acc overwrite scales(%SA, %SA) : !a, !t, !d scales(!s, !s)
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  return
}
