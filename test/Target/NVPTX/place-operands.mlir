// RUN: penstock-opt %s --nv-place-operands --split-input-file | FileCheck %s

// A loop like that of attention. The copy has the stage and the place of what computes the
// operand. Threads still read what they have computed.

!s = memref<128x64xf16, #tile.space<shared>>
!b = memref<64x64xf16, #tile.space<shared>>
!t = memref<128x64xf32, #tile.space<tensor>>

// CHECK-LABEL: func.func @computed
// CHECK: %[[CELLS:.*]] = nv.tcgen05.alloc "P" : memref<128x64xf16, #tile.space<tensor>>
// CHECK: %[[P:.*]] = tile.alloc "P" : memref<128x64xf16, #tile.space<local>>
// CHECK: scf.for
// CHECK-NEXT: tile.fill %[[P]]{{.*}}tile.scheduled = #tile.scheduled<stage = 1, order = 1>
// CHECK-NEXT: tile.copy %[[P]] to %[[CELLS]] {nv.engine = #nv.engine<tcgen05.st>, tile.scheduled = #tile.scheduled<stage = 1, order = 2>}
// CHECK-NEXT: tile.reduce sum %[[P]]{{.*}}tile.scheduled = #tile.scheduled<stage = 1, order = 3>
// CHECK-NEXT: tile.gemm %[[CELLS]], %{{.*}} {nv.engine = #nv.engine<tcgen05.mma>, tile.scheduled = #tile.scheduled<stage = 2, order = 0>}
func.func @computed(%n: index, %one: f16) attributes {tile.kernel, tile.target = "sm_100a", nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %P = tile.alloc "P" : !s
  %sum = tile.alloc "sum" : memref<128xf16, #tile.space<local>>
  %B = tile.alloc "B" : !b
  %acc = nv.tcgen05.alloc "acc" : !t
  scf.for %k = %c0 to %n step %c1 {
    tile.fill %P, %one {tile.scheduled = #tile.scheduled<stage = 1, order = 1>} : !s, f16
    tile.reduce sum %P along 1 into %sum {tile.scheduled = #tile.scheduled<stage = 1, order = 2>} : !s, memref<128xf16, #tile.space<local>>
    tile.gemm %P, %B into %acc {nv.engine = #nv.engine<tcgen05.mma>, tile.scheduled = #tile.scheduled<stage = 2, order = 0>} : !s, !b, !t
  } {tile.schedule = #tile.schedule<stage = [1, 1, 2], order = [1, 2, 0]>}
  return
}

// -----

// Registers cannot be indexed, an engine copies to shared memory, the right operand lies there,
// and rows of other numbers than 128 lie elsewhere.

!s = memref<128x64xf16, #tile.space<shared>>
!h = memref<64x64xf16, #tile.space<shared>>
!b = memref<64x64xf16, #tile.space<shared>>
!t = memref<128x64xf32, #tile.space<tensor>>
!u = memref<64x64xf32, #tile.space<tensor>>
!g = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>

// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: nv.tcgen05.alloc
// CHECK-NOT: nv.tcgen05.alloc
// CHECK-NOT: tcgen05.st
func.func @others(%x: !g {tile.access = "in"}, %one: f16) attributes {tile.kernel, tile.target = "sm_100a", nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %indexed = tile.alloc "indexed" : !s
  %copied = tile.alloc "copied" : !s
  %right = tile.alloc "right" : !b
  %few = tile.alloc "few" : !h
  %acc = nv.tcgen05.alloc "acc" : !t
  %acc2 = nv.tcgen05.alloc "acc2" : !t
  %acc3 = nv.tcgen05.alloc "acc3" : !u
  tile.fill %indexed, %one : !s, f16
  tile.store %one, %indexed[%c0, %c0] : f16, !s
  tile.fill %right, %one : !b, f16
  tile.fill %few, %one : !h, f16
  tile.copy %x[%c0, %c0] to %copied : !g to !s
  tile.gemm %indexed, %right into %acc {nv.engine = #nv.engine<tcgen05.mma>} : !s, !b, !t
  tile.gemm %copied, %right into %acc2 {nv.engine = #nv.engine<tcgen05.mma>} : !s, !b, !t
  tile.gemm %few, %right into %acc3 {nv.engine = #nv.engine<tcgen05.mma>} : !h, !b, !u
  return
}

// -----

// There are 512 columns: 128 for the accumulator, which has one version outside of loops, 128 for
// each of three operands, none for the fourth.

!s = memref<128x256xf16, #tile.space<shared>>
!b = memref<256x128xf16, #tile.space<shared>>
!t = memref<128x128xf32, #tile.space<tensor>>

// CHECK-LABEL: func.func @room
// CHECK-COUNT-4: nv.tcgen05.alloc
// CHECK-NOT: nv.tcgen05.alloc
// CHECK: tile.gemm %{{.*}} : memref<128x256xf16, #tile.space<tensor>>
// CHECK-NEXT: tile.gemm %{{.*}} : memref<128x256xf16, #tile.space<tensor>>
// CHECK-NEXT: tile.gemm %{{.*}} : memref<128x256xf16, #tile.space<tensor>>
// CHECK-NEXT: tile.gemm %{{.*}} : memref<128x256xf16, #tile.space<shared>>
func.func @room(%one: f16) attributes {tile.kernel, tile.target = "sm_100a", nv.tile_program, nv.threads = 128 : i64} {
  %first = tile.alloc "first" : !s
  %second = tile.alloc "second" : !s
  %third = tile.alloc "third" : !s
  %fourth = tile.alloc "fourth" : !s
  %B = tile.alloc "B" : !b
  %acc = nv.tcgen05.alloc "acc" : !t
  tile.fill %first, %one : !s, f16
  tile.fill %second, %one : !s, f16
  tile.fill %third, %one : !s, f16
  tile.fill %fourth, %one : !s, f16
  tile.gemm %first, %B into %acc overwrite {nv.engine = #nv.engine<tcgen05.mma>} : !s, !b, !t
  tile.gemm %second, %B into %acc {nv.engine = #nv.engine<tcgen05.mma>} : !s, !b, !t
  tile.gemm %third, %B into %acc {nv.engine = #nv.engine<tcgen05.mma>} : !s, !b, !t
  tile.gemm %fourth, %B into %acc {nv.engine = #nv.engine<tcgen05.mma>} : !s, !b, !t
  return
}
