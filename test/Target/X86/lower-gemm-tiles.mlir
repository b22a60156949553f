// RUN: penstock-opt %s --tile-lower-gemm=tiles=true -split-input-file | FileCheck %s
// RUN: penstock-opt %s --tile-lower-gemm="tiles=true tiles-f16=true" -split-input-file | FileCheck %s --check-prefix=F16

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

// K is not a multiple of 64: A is packed with zeros after its rows. 40 x 33 has blocks
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

// Not all processors with AMX have a tile instruction for f16.
// CHECK-LABEL: func.func @f16
// CHECK-NOT: llvm.x86
// CHECK: vector.fma
// F16-LABEL: func.func @f16
// F16: call @penstock_pack_panels
// F16: "llvm.x86.tdpfp16ps"
// F16-NOT: vector.fma
// F16-LABEL: func.func @in_tensors
func.func @f16(%runtime: !llvm.ptr) attributes {tile.kernel} {
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.gemm %a, %b into %c : !a, !b, !c
  return
}

// -----

!C = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!A = memref<?x?xbf16, strided<[?, 1]>, #tile.space<global>>
!B = memref<?x?x?x?xbf16, strided<[?, ?, ?, 1]>, #tile.space<global>>
!a = memref<32x64xbf16, #tile.space<shared>>
!b = memref<2x32x16x2xbf16, #tile.space<shared>>
!c = memref<32x32xf32, #tile.space<local>>

// Operands are read, or packed from, the tensors that they are copied from, unless they are
// at an edge.
// The first iteration clears the sums in registers; memory is cleared if there is none. Further
// ones load them from a block of 4 KB, with 64 bytes between rows; all but the last one store them
// there. The last one stores them in the tensor; they are copied at an edge, or if there is no
// iteration. How far an iteration is from the end is unsigned, because it may not fit otherwise.
// If there is only one, rows of A change slowest and B streams, and A is read in its tensor where
// its rows are near each other. So few rows prefetch nothing.
// CHECK-LABEL: func.func @in_tensors
// CHECK: tile.alloc : memref<1x4096xi8
// CHECK: scf.if
// CHECK-NEXT: tile.fill
// CHECK-NEXT: }
// CHECK: scf.for %[[K:[a-z0-9_]+]] =
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %[[K]]
// CHECK: %[[LAST:.*]] = arith.cmpi ule, %[[LEFT]]
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[K]]
// CHECK: %[[ONLY:.*]] = arith.andi %[[FIRST]], %[[LAST]]
// CHECK: %[[NEAR:.*]] = arith.cmpi ule, %{{.*}}, %c2048
// CHECK: arith.andi %{{.*}}, %[[ONLY]]
// CHECK: scf.if {{.*}} -> (index, index, index, index)
// CHECK-NOT: call
// CHECK: } else {
// CHECK: scf.if {{.*}} -> (index, index, index)
// CHECK: } else {
// CHECK-NEXT: tile.copy %{{.*}} to %{{.*}} : memref<?x?xbf16
// CHECK: call @penstock_pack_tiles
// CHECK: scf.if {{.*}} -> (index, index, index, index, index)
// CHECK: } else {
// CHECK-NEXT: tile.copy %{{.*}} to %{{.*}} : memref<?x?x?x?xbf16
// CHECK-COUNT-6: arith.select %[[ONLY]]
// CHECK: scf.for %[[OUTER:[a-z0-9_]+]] =
// CHECK: scf.for %[[INNER:[a-z0-9_]+]] =
// CHECK: arith.select %[[ONLY]], %[[OUTER]], %[[INNER]]
// CHECK: arith.select %[[ONLY]], %[[INNER]], %[[OUTER]]
// CHECK: %[[ROW:.*]] = arith.select %[[LAST]], %{{.*}}, %[[PACKED_ROW:.*]] : i64
// CHECK-COUNT-4: arith.select %[[LAST]], %{{.*}} : !llvm.ptr
// CHECK: scf.if
// CHECK-COUNT-4: "llvm.x86.tilezero"
// CHECK: } else {
// CHECK-COUNT-4: "llvm.x86.tileloadd64"{{.*}}, %[[PACKED_ROW]])
// CHECK: scf.if %[[ONLY]]
// CHECK: "llvm.x86.tileloaddt164"
// CHECK-NEXT: arith.constant
// CHECK: "llvm.x86.tileloadd64"
// CHECK: } else {
// CHECK: "llvm.x86.tileloadd64"
// CHECK: "llvm.x86.tileloaddt164"
// CHECK-NOT: llvm.intr.prefetch
// CHECK-COUNT-4: "llvm.x86.tilestored64"{{.*}}, %[[ROW]])
// CHECK: scf.if
// CHECK-NEXT: tile.copy %{{.*}} to %{{.*}} : memref<32x32xf32
func.func @in_tensors(%A: !A {tile.access = "in"}, %B: !B {tile.access = "in"}, %C: !C {tile.access = "out"},
                      %n: index, %runtime: !llvm.ptr)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.fill %c, %zero : !c, f32
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %A[%c0, %k] to %a : !A to !a
    tile.copy %B[%c0, %k, %c0, %c0] to %b : !B to !b
    tile.gemm %a, %b into %c : !a, !b, !c
  }
  %second = arith.muli %n, %c1 : index
  tile.copy %c to %C[%c0, %second] : !c to !C
  return
}

// -----

!C = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!a = memref<32x64xbf16, #tile.space<shared>>
!b = memref<2x32x16x2xbf16, #tile.space<shared>>
!c = memref<32x32xf32, #tile.space<local>>

// The sums are needed again after they have been stored, and other operations of the loop
// find them in the accumulator.
// CHECK-LABEL: func.func @running_sums
// CHECK-NOT: 4096xi8
// CHECK: scf.for
// CHECK: "llvm.x86.tilestored64"
// CHECK-NOT: scf.if
// CHECK: tile.copy
func.func @running_sums(%C: !C {tile.access = "out"}, %n: index, %runtime: !llvm.ptr) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.fill %c, %zero : !c, f32
  scf.for %k = %c0 to %n step %c1 {
    tile.gemm %a, %b into %c : !a, !b, !c
    tile.copy %c to %C[%k, %c0] : !c to !C
  }
  return
}

// -----

!A = memref<?x?xbf16, strided<[?, 1]>, #tile.space<global>>
!a = memref<32x64xbf16, #tile.space<shared>>
!b = memref<64x32xbf16, #tile.space<shared>>
!c = memref<32x32xf32, #tile.space<local>>

// A tensor that the kernel may write, and a tile that is read twice, are copied.
// CHECK-LABEL: func.func @copied
// CHECK-COUNT-2: tile.copy
// CHECK-NOT: scf.if
// CHECK: "llvm.x86.tdpbf16ps"
func.func @copied(%A: !A {tile.access = "inout"}, %B: !A {tile.access = "in"}, %runtime: !llvm.ptr)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.copy %A[%c0, %c0] to %a : !A to !a
  tile.copy %B[%c0, %c0] to %b : !A to !b
  tile.gemm %a, %b into %c overwrite : !a, !b, !c
  tile.copy %b to %A[%c0, %c0] : !b to !A
  return
}

// -----

!A = memref<?x?x?xbf16, strided<[?, ?, 1]>, #tile.space<global>>
!T = memref<?x?x?xbf16, strided<[?, ?, 1]>, #tile.space<global>>
!a = memref<32x64xbf16, #tile.space<shared>>
!b = memref<64x32xbf16, #tile.space<shared>>
!c = memref<32x32xf32, #tile.space<local>>

// A matrix of a tensor with three dimensions is read there, too, if it has the contiguous one. B
// does not: it is copied.
// CHECK-LABEL: func.func @layers
// CHECK: tile.copy %{{.*}} dims [0, 1]
// CHECK: scf.if {{.*}} -> (index, index, index)
// CHECK: } else {
// CHECK-NEXT: tile.copy %{{.*}} dims [0, 2]
// CHECK-NOT: tile.copy
func.func @layers(%A: !A {tile.access = "in"}, %B: !T {tile.access = "in"}, %h: index, %runtime: !llvm.ptr)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.copy %A[%c0, %h, %c0] to %a dims [0, 2] : !A to !a
  tile.copy %B[%c0, %c0, %h] to %b dims [0, 1] : !T to !b
  tile.gemm %a, %b into %c overwrite : !a, !b, !c
  return
}

// -----

!A = memref<?x?xi8, strided<[?, 1]>, #tile.space<global>>
!B = memref<?x?x?x?xi8, strided<[?, ?, ?, 1]>, #tile.space<global>>
!a = memref<128x128xi8, #tile.space<shared>>
!b = memref<16x32x16x4xi8, #tile.space<shared>>
!c = memref<128x256xi32, #tile.space<local>>

// 128 rows and 256 columns are 32 blocks, each of which takes two steps along K. While panels are
// used, 8 steps prefetch the next two panels, 4 of the 32 lines of each: those of the next 32 columns
// or, at the end, 2048 bytes further in the first ones, where K continues. Nothing is prefetched if
// there is only one iteration.
// CHECK-LABEL: func.func @prefetches
// CHECK: scf.if
// CHECK: "llvm.x86.tileloaddt164"
// CHECK-NOT: llvm.intr.prefetch
// CHECK: } else {
// CHECK: "llvm.x86.tdpbssd"
// CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %c32
// CHECK: %[[MORE:.*]] = arith.cmpi ult, %[[NEXT]], %c256
// CHECK: arith.select %[[MORE]], %{{.*}}, %c2048
// CHECK-COUNT-8: "llvm.intr.prefetch"({{.*}}hint = 2 : i32, rw = 0
// CHECK-NOT: llvm.intr.prefetch
// CHECK: "llvm.x86.tdpbssd"
func.func @prefetches(%A: !A {tile.access = "in"}, %B: !B {tile.access = "in"}, %n: index, %runtime: !llvm.ptr)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.fill %c, %zero : !c, i32
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %A[%c0, %k] to %a : !A to !a
    tile.copy %B[%c0, %k, %c0, %c0] to %b : !B to !b
    tile.gemm %a, %b into %c : !a, !b, !c
  }
  tile.print "c = {}" %c : !c
  return
}

// -----

!A = memref<?x?xi8, strided<[?, 1]>, #tile.space<global>>
!B = memref<?x?x?x?xi8, strided<[?, ?, ?, 1]>, #tile.space<global>>
!C = memref<?x?x?xi32, strided<[?, ?, 1]>, #tile.space<global>>
!a = memref<64x512xi8, #tile.space<shared>>
!b = memref<2x128x16x4xi8, #tile.space<shared>>
!c = memref<64x32xi32, #tile.space<local>>

// 8 steps along K store the 32 rows of the block before, 4 in each step, two lines in each row: past
// the caches if the tensor has 4 MB and the rows of the result begin at lines. The last iteration
// stores sums in memory of their own first, 128 bytes between rows. After the last block its rows
// are stored, too, before any store that another thread may wait for. Each step prefetches 8 lines
// of the next block of sums, unless the only iteration has all of K.
// CHECK-LABEL: func.func @stores_later
// CHECK: %[[FINISHED:.*]] = tile.alloc : memref<4096xi8
// CHECK: %[[LAST:.*]] = arith.cmpi ule
// CHECK: %[[ONLY:.*]] = arith.andi %{{.*}}, %[[LAST]]
// CHECK: memref.dim {{.*}} : memref<?x?x?xi32
// CHECK: %[[LARGE:.*]] = arith.cmpi uge, %{{.*}}, %c4194304
// CHECK: llvm.ptrtoint
// CHECK: %[[ALIGNED:.*]] = arith.cmpi eq
// CHECK: %[[SUITS:.*]] = arith.andi %[[LARGE]], %[[ALIGNED]]
// CHECK: %[[BYPASSES:.*]] = arith.andi %[[SUITS]], %{{.*}}
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[NONE:.*]] = arith.andi
// CHECK: %[[BEFORE:.*]] = arith.xori %[[NONE]], %true
// CHECK: %[[ROW:.*]] = arith.select %[[LAST]], %{{.*}}, %{{.*}} : i64
// CHECK: scf.if %[[ONLY]]
// CHECK-NOT: llvm.intr.prefetch
// CHECK: %[[STORES:.*]] = arith.andi %[[BEFORE]], %[[LAST]]
// CHECK: scf.if %[[STORES]]
// CHECK: scf.if %[[BYPASSES]]
// CHECK-COUNT-8: llvm.store {{.*}} {alignment = 64 : i64, nontemporal} : vector<16xi32>
// CHECK: } else {
// CHECK-COUNT-8: llvm.store {{.*}} {alignment = 4 : i64} : vector<16xi32>
// CHECK: } else {
// CHECK-COUNT-8: "llvm.intr.prefetch"({{.*}}hint = 3 : i32, rw = 0
// CHECK: scf.if %[[BYPASSES]]
// CHECK-COUNT-4: "llvm.x86.tilestored64"{{.*}}, %[[ROW]])
// CHECK: scf.if %[[LAST]]
// CHECK: scf.for
// CHECK: scf.if %[[BYPASSES]]
// CHECK-COUNT-8: nontemporal
// CHECK: scf.if %[[BYPASSES]]
// CHECK-NEXT: "llvm.x86.sse.sfence"
func.func @stores_later(%A: !A {tile.access = "in"}, %B: !B {tile.access = "in"}, %C: !C {tile.access = "out"},
                        %n: index, %runtime: !llvm.ptr)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  tile.fill %c, %zero : !c, i32
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %A[%c0, %k] to %a : !A to !a
    tile.copy %B[%c0, %k, %c0, %c0] to %b : !B to !b
    tile.gemm %a, %b into %c : !a, !b, !c
  }
  tile.copy %c to %C[%n, %c0, %c0] dims [1, 2] : !c to !C
  return
}

// -----

!A = memref<?x?xbf16, strided<[?, 1]>, #tile.space<global>>
!a = memref<64x64xbf16, #tile.space<shared>>
!rows = memref<16x64xbf16, strided<[64, 1], offset: ?>, #tile.space<shared>>
!b = memref<32x64xbf16, #tile.space<shared>>
!bt = memref<64x32xbf16, strided<[1, 64]>, #tile.space<shared>>
!c = memref<64x32xf32, #tile.space<local>>
!part = memref<16x32xf32, strided<[32, 1], offset: ?>, #tile.space<local>>

// B is packed before the loop over rows of A, from its tensor, because nothing changes it there.
// CHECK-LABEL: func.func @packed_once
// CHECK: scf.for
// CHECK: scf.if {{.*}} -> (index, index, index)
// CHECK: tile.copy {{.*}} to {{.*}} : memref<?x?xbf16
// CHECK: call @penstock_pack_panels
// CHECK: scf.for
// CHECK-NOT: call @penstock_pack
// CHECK: "llvm.x86.tdpbf16ps"
// CHECK-NOT: call @penstock_pack
func.func @packed_once(%B: !A {tile.access = "in"}, %n: index, %runtime: !llvm.ptr) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %B[%c0, %k] to %b : !A to !b
    scf.for %i = %c0 to %c64 step %c16 {
      %rows = memref.subview %a[%i, 0] [16, 64] [1, 1] : !a to !rows
      %part = memref.subview %c[%i, 0] [16, 32] [1, 1] : !c to !part
      %bt = memref.transpose %b (d0, d1) -> (d1, d0) : !b to !bt
      tile.gemm %rows, %bt into %part : !rows, !bt, !part
    }
  }
  return
}

// -----

!a = memref<64x64xbf16, #tile.space<shared>>
!rows = memref<16x64xbf16, strided<[64, 1], offset: ?>, #tile.space<shared>>
!b = memref<64x32xbf16, #tile.space<shared>>
!c = memref<64x32xf32, #tile.space<local>>
!part = memref<16x32xf32, strided<[32, 1], offset: ?>, #tile.space<local>>

// Here the loop changes it.
// CHECK-LABEL: func.func @packed_each_time
// CHECK-NOT: call @penstock_pack
// CHECK: scf.for
// CHECK: call @penstock_pack_panels
// CHECK: "llvm.x86.tdpbf16ps"
// CHECK: tile.fill
func.func @packed_each_time(%x: bf16, %runtime: !llvm.ptr) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc "a" : !a
  %b = tile.alloc "b" : !b
  %c = tile.alloc "c" : !c
  scf.for %i = %c0 to %c64 step %c16 {
    %rows = memref.subview %a[%i, 0] [16, 64] [1, 1] : !a to !rows
    %part = memref.subview %c[%i, 0] [16, 32] [1, 1] : !c to !part
    tile.gemm %rows, %b into %part : !rows, !b, !part
    tile.fill %b, %x : !b, bf16
  }
  return
}
