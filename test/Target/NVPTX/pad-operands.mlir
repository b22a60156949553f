// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-pad-operands --canonicalize --split-input-file | FileCheck %s
// RUN: penstock-opt %s --tile-attach-target=target=sm_120a --nv-pad-operands --canonicalize --split-input-file | FileCheck %s

// 128 values of 6 bits are 96 bytes of the tensor, but 128 of the tile. The offset of the copy counts
// values then: (k + 1) * 96 bytes are (k + 1) * 128 of them.

!A = memref<?x?xi8, strided<[?, 1]>, #tile.space<global>>
!B = memref<?x?xf8E4M3FN, strided<[?, 1]>, #tile.space<global>>
!a = memref<128x96xi8, #tile.space<shared>>
!b = memref<128x128xf8E4M3FN, #tile.space<shared>>
!t = memref<128x128xf8E4M3FN, strided<[1, 128]>, #tile.space<shared>>
!s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
!d = memref<128x128xf32, #tile.space<local>>
// CHECK-LABEL: func.func @padded(
// CHECK-DAG: %[[C:.*]] = arith.constant 128 : index
// CHECK-DAG: tile.alloc "As" : memref<128x128xi8
// CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %c1
// CHECK: %[[AT:.*]] = arith.muli %[[NEXT]], %[[C]]
// CHECK: tile.copy %arg0[%c0, %[[AT]]] to %As padding padded_f6e2m3
// CHECK: tile.gemm {{.*}} packing_a padded_f6e2m3 :
func.func @padded(%A: !A {tile.packed = "f6e2m3_packed"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %c48 = arith.constant 48 : index
  %As = tile.alloc "As" : !a
  %Bs = tile.alloc "Bs" : !b
  %S = tile.alloc "S" : !s
  %acc = tile.alloc "acc" : !d
  %Bt = memref.transpose %Bs (i, j) -> (j, i) : !b to !t
  scf.for %k = %c0 to %n step %c1 {
    %next = arith.addi %k, %c1 : index
    %at = arith.muli %c96, %next : index
    tile.copy %A[%c0, %at] to %As : !A to !a
    tile.gemm %As, %Bt into %acc scales(%S, %S) packing_a f6e2m3 : !a, !t, !d scales(!s, !s)
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// -----

// TMA begins at whole boxes only: half a box, or anything.

!A = memref<?x?xi8, strided<[?, 1]>, #tile.space<global>>
!B = memref<?x?xf8E4M3FN, strided<[?, 1]>, #tile.space<global>>
!a = memref<128x96xi8, #tile.space<shared>>
!b = memref<128x128xf8E4M3FN, #tile.space<shared>>
!t = memref<128x128xf8E4M3FN, strided<[1, 128]>, #tile.space<shared>>
!s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
!d = memref<128x128xf32, #tile.space<local>>
// CHECK-LABEL: func.func @half_box(
// CHECK: tile.alloc "As" : memref<128x96xi8
// CHECK: tile.copy
// CHECK-NOT: nv.padding
// CHECK: tile.gemm {{.*}} packing_a f6e2m3 {nv.engine_reason = "scales are applied to bf16 tiles, because TMA does not pad `As` (128x96 i8, shared): an offset of a copy to it is not known to be a multiple of 128 values"} :
func.func @half_box(%A: !A {tile.packed = "f6e2m3_packed"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %c48 = arith.constant 48 : index
  %As = tile.alloc "As" : !a
  %Bs = tile.alloc "Bs" : !b
  %S = tile.alloc "S" : !s
  %acc = tile.alloc "acc" : !d
  %Bt = memref.transpose %Bs (i, j) -> (j, i) : !b to !t
  scf.for %k = %c0 to %n step %c1 {
    %at = arith.muli %k, %c48 : index
    tile.copy %A[%c0, %at] to %As : !A to !a
    tile.gemm %As, %Bt into %acc scales(%S, %S) packing_a f6e2m3 : !a, !t, !d scales(!s, !s)
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// CHECK-LABEL: func.func @any_offset(
// CHECK: tile.alloc "As" : memref<128x96xi8
// CHECK: tile.copy
// CHECK-NOT: nv.padding
// CHECK: tile.gemm {{.*}} packing_a f6e2m3 {nv.engine_reason = "scales are applied to bf16 tiles, because TMA does not pad `As` (128x96 i8, shared): an offset of a copy to it is not known to be a multiple of 128 values"} :
func.func @any_offset(%A: !A {tile.packed = "f6e2m3_packed"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %c48 = arith.constant 48 : index
  %As = tile.alloc "As" : !a
  %Bs = tile.alloc "Bs" : !b
  %S = tile.alloc "S" : !s
  %acc = tile.alloc "acc" : !d
  %Bt = memref.transpose %Bs (i, j) -> (j, i) : !b to !t
  scf.for %k = %c0 to %n step %c1 {
    %at = arith.addi %k, %c96 : index
    tile.copy %A[%c0, %at] to %As : !A to !a
    tile.gemm %As, %Bt into %acc scales(%S, %S) packing_a f6e2m3 : !a, !t, !d scales(!s, !s)
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// -----

// Threads read the tile, too: they would have to know about its padding.

!A = memref<?x?xi8, strided<[?, 1]>, #tile.space<global>>
!B = memref<?x?xf8E4M3FN, strided<[?, 1]>, #tile.space<global>>
!a = memref<128x96xi8, #tile.space<shared>>
!b = memref<128x128xf8E4M3FN, #tile.space<shared>>
!t = memref<128x128xf8E4M3FN, strided<[1, 128]>, #tile.space<shared>>
!s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
!d = memref<128x128xf32, #tile.space<local>>
// CHECK-LABEL: func.func @read_by_threads(
// CHECK: tile.alloc "As" : memref<128x96xi8
// CHECK: tile.copy
// CHECK-NOT: nv.padding
// CHECK: tile.gemm {{.*}} packing_a f6e2m3 {nv.engine_reason = "scales are applied to bf16 tiles, because TMA does not pad `As` (128x96 i8, shared): not only copies and matmuls with scales use it"} :
func.func @read_by_threads(%A: !A {tile.packed = "f6e2m3_packed"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %c48 = arith.constant 48 : index
  %As = tile.alloc "As" : !a
  %Bs = tile.alloc "Bs" : !b
  %S = tile.alloc "S" : !s
  %acc = tile.alloc "acc" : !d
  %Bt = memref.transpose %Bs (i, j) -> (j, i) : !b to !t
  scf.for %k = %c0 to %n step %c1 {
    %at = arith.muli %k, %c96 : index
    tile.copy %A[%c0, %at] to %As : !A to !a
    tile.gemm %As, %Bt into %acc scales(%S, %S) packing_a f6e2m3 : !a, !t, !d scales(!s, !s)
    %byte = tile.load %As[%c0, %k] : !a -> i8
    tile.store %byte, %As[%c0, %c0] : i8, !a
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// -----

// The loop is not pipelined: threads copy.

!A = memref<?x?xi8, strided<[?, 1]>, #tile.space<global>>
!B = memref<?x?xf8E4M3FN, strided<[?, 1]>, #tile.space<global>>
!a = memref<128x96xi8, #tile.space<shared>>
!b = memref<128x128xf8E4M3FN, #tile.space<shared>>
!t = memref<128x128xf8E4M3FN, strided<[1, 128]>, #tile.space<shared>>
!s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
!d = memref<128x128xf32, #tile.space<local>>
// CHECK-LABEL: func.func @without_schedule(
// CHECK: tile.alloc "As" : memref<128x96xi8
// CHECK: tile.copy
// CHECK-NOT: nv.padding
// CHECK: tile.gemm {{.*}} packing_a f6e2m3 {nv.engine_reason = "scales are applied to bf16 tiles, because TMA does not pad `As` (128x96 i8, shared): a copy to it is outside of pipelined loops"} :
func.func @without_schedule(%A: !A {tile.packed = "f6e2m3_packed"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %c48 = arith.constant 48 : index
  %As = tile.alloc "As" : !a
  %Bs = tile.alloc "Bs" : !b
  %S = tile.alloc "S" : !s
  %acc = tile.alloc "acc" : !d
  %Bt = memref.transpose %Bs (i, j) -> (j, i) : !b to !t
  scf.for %k = %c0 to %n step %c1 {
    %at = arith.muli %k, %c96 : index
    tile.copy %A[%c0, %at] to %As : !A to !a
    tile.gemm %As, %Bt into %acc scales(%S, %S) packing_a f6e2m3 : !a, !t, !d scales(!s, !s)
  } 
  return
}

// -----

// The kernel writes the tensor, which TMA reads on another path.

!A = memref<?x?xi8, strided<[?, 1]>, #tile.space<global>>
!B = memref<?x?xf8E4M3FN, strided<[?, 1]>, #tile.space<global>>
!a = memref<128x96xi8, #tile.space<shared>>
!b = memref<128x128xf8E4M3FN, #tile.space<shared>>
!t = memref<128x128xf8E4M3FN, strided<[1, 128]>, #tile.space<shared>>
!s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
!d = memref<128x128xf32, #tile.space<local>>
// CHECK-LABEL: func.func @written(
// CHECK: tile.alloc "As" : memref<128x96xi8
// CHECK: tile.copy
// CHECK-NOT: nv.padding
// CHECK: tile.gemm {{.*}} packing_a f6e2m3 {nv.engine_reason = "scales are applied to bf16 tiles, because TMA does not pad `As` (128x96 i8, shared): the kernel writes the tensor that it is copied from"} :
func.func @written(%A: !A {tile.packed = "f6e2m3_packed"}, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %c48 = arith.constant 48 : index
  %As = tile.alloc "As" : !a
  %Bs = tile.alloc "Bs" : !b
  %S = tile.alloc "S" : !s
  %acc = tile.alloc "acc" : !d
  %Bt = memref.transpose %Bs (i, j) -> (j, i) : !b to !t
  scf.for %k = %c0 to %n step %c1 {
    %at = arith.muli %k, %c96 : index
    tile.copy %A[%c0, %at] to %As : !A to !a
    tile.gemm %As, %Bt into %acc scales(%S, %S) packing_a f6e2m3 : !a, !t, !d scales(!s, !s)
    %zero = arith.constant 0 : i8
    tile.store %zero, %A[%c0, %k] : i8, !A
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// -----

// 4-bit values by f8 are padded, two of them are not.

!A = memref<?x?xi8, strided<[?, 1]>, #tile.space<global>>
!B = memref<?x?xf8E4M3FN, strided<[?, 1]>, #tile.space<global>>
!a = memref<128x64xi8, #tile.space<shared>>
!b = memref<128x128xf8E4M3FN, #tile.space<shared>>
!u = memref<64x128xi8, strided<[1, 64]>, #tile.space<shared>>
!t = memref<128x128xf8E4M3FN, strided<[1, 128]>, #tile.space<shared>>
!s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
!d = memref<128x128xf32, #tile.space<local>>
// CHECK-LABEL: func.func @four_bits(
// CHECK: tile.copy {{.*}} padding padded_f4e2m1
// CHECK: tile.gemm {{.*}} packing_a padded_f4e2m1 :
func.func @four_bits(%A: !A, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %As = tile.alloc "As" : !a
  %Bs = tile.alloc "Bs" : !b
  %S = tile.alloc "S" : !s
  %acc = tile.alloc "acc" : !d
  %Bt = memref.transpose %Bs (i, j) -> (j, i) : !b to !t
  scf.for %k = %c0 to %n step %c1 {
    %at = arith.muli %k, %c64 : index
    tile.copy %A[%c0, %at] to %As : !A to !a
    tile.gemm %As, %Bt into %acc scales(%S, %S) : !a, !t, !d scales(!s, !s)
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}

// CHECK-LABEL: func.func @only_four_bits(
// CHECK-NOT: nv.padding
// CHECK-NOT: packing
// CHECK: tile.gemm
func.func @only_four_bits(%A: !A, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %As = tile.alloc "As" : !a
  %S = tile.alloc "S" : !s
  %acc = tile.alloc "acc" : !d
  %At = memref.transpose %As (i, j) -> (j, i) : !a to !u
  scf.for %k = %c0 to %n step %c1 {
    %at = arith.muli %k, %c64 : index
    tile.copy %A[%c0, %at] to %As : !A to !a
    tile.gemm %As, %At into %acc scales(%S, %S) : !a, !u, !d scales(!s, !s)
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}
