// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --tile-resolve-schedules --nv-write-plans --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s
// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --nv-start-kernel=aligned-rows=true --nv-bind-engines --split-input-file | FileCheck %s --check-prefix=HOPPER
// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-bind-engines --split-input-file | FileCheck %s --check-prefix=PLAIN

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>

// Three stages: the copies of two iterations are in flight while a third one is multiplied, and a
// product is awaited only before its slot is filled again.

// HOPPER-LABEL: func.func @matmul
// HOPPER: tile.copy {{.*}} {nv.engine = #nv.engine<tma.load>}
// HOPPER: tile.copy {{.*}} {nv.engine = #nv.engine<tma.load>}
// HOPPER: tile.gemm {{.*}} {nv.engine = #nv.engine<wgmma>}
// PLAIN-LABEL: func.func @matmul
// PLAIN: tile.copy {{.*}} {nv.engine = #nv.engine<threads>}
// PLAIN: tile.copy {{.*}} {nv.engine = #nv.engine<threads>}
// PLAIN: tile.gemm {{.*}} {nv.engine = #nv.engine<tcgen05.mma>}

// CHECK-LABEL: func.func @matmul
// CHECK-DAG: %[[BYTES:.*]] = arith.constant 16384 : index
// CHECK-DAG: %[[FULL:.*]] = nv.mbarrier.alloc {{.*}} [1, 1, 1] : !nv.barriers<3>
// CHECK-DAG: tile.alloc "A" : memref<3x64x64xf16, #tile.space<shared>>
// CHECK-DAG: tile.alloc "B" : memref<3x64x64xf16, #tile.space<shared>>
//     The prologue: copies of the first two iterations, if there are any. Nothing comes before
//     them, and no role has read their slots.
// CHECK-NOT: nv.fence.proxy_async
// CHECK-NOT: nv.sync
// CHECK: scf.if
// CHECK-COUNT-2: nv.tma.load
// CHECK-NOT: nv.sync
// CHECK-NOT: nv.wgmma.wait_group
// CHECK: scf.if
// CHECK-COUNT-2: nv.tma.load
// CHECK-NOT: nv.wgmma.mma
//     Groups are awaited in every step, outside of conditions.
// CHECK: scf.for
// CHECK:   nv.wgmma.wait_group 0
// CHECK:   scf.if
// CHECK:     nv.sync
// CHECK:     nv.elect {
// CHECK:       nv.mbarrier.arrive %{{.*}} expect %[[BYTES]]
// CHECK-COUNT-2: nv.tma.load
//     The product of the last stage exists in every step.
// CHECK:   }
// CHECK:   nv.mbarrier.wait
// CHECK:   nv.wgmma.fence
// CHECK:   nv.wgmma.mma
// CHECK:   nv.wgmma.commit_group
// CHECK: nv.plan = "plan
// CHECK: nv.wgmma.wait_group 0
// CHECK-NOT: nv.sync
func.func @matmul(%a: memref<?x?xf16, strided<[?, 1]>, #g>, %b: memref<?x?xf16, strided<[?, 1]>, #g>, %n: index)
    attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %A = tile.alloc "A" : memref<64x64xf16, #s>
  %B = tile.alloc "B" : memref<64x64xf16, #s>
  %acc = tile.alloc "acc" : memref<64x64xf32, #l>
  scf.for %k = %c0 to %n step %c1 {
    %0 = arith.muli %k, %c64 : index
    tile.copy %a[%c0, %0] to %A {nv.engine = #nv.engine<tma.load>} : memref<?x?xf16, strided<[?, 1]>, #g> to memref<64x64xf16, #s>
    tile.copy %b[%0, %c0] to %B {nv.engine = #nv.engine<tma.load>} : memref<?x?xf16, strided<[?, 1]>, #g> to memref<64x64xf16, #s>
    tile.gemm %A, %B into %acc {nv.engine = #nv.engine<wgmma>} : memref<64x64xf16, #s>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  } {tile.schedule = #tile.schedule<stage = [0, 0, 2], order = [0, 1, 2]>}
  return
}

// -----

// A stated schedule is kept: with the product first, its slots are filled after it.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @product_first
// CHECK-DAG: tile.alloc "A" : memref<2x64x64xf16, #tile.space<shared>>
// CHECK: scf.for
// CHECK:   nv.mbarrier.wait
// CHECK:   nv.wgmma.mma
// CHECK:   nv.wgmma.commit_group
// CHECK:   nv.wgmma.wait_group 0
// CHECK:   scf.if
// CHECK:     nv.sync
// CHECK:     nv.tma.load
func.func @product_first(%a: memref<?x?xf16, strided<[?, 1]>, #g>, %n: index)
    attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %A = tile.alloc "A" : memref<64x64xf16, #s>
  %acc = tile.alloc "acc" : memref<64x64xf32, #l>
  scf.for %k = %c0 to %n step %c1 {
    %0 = arith.muli %k, %c64 : index
    tile.copy %a[%c0, %0] to %A {nv.engine = #nv.engine<tma.load>} : memref<?x?xf16, strided<[?, 1]>, #g> to memref<64x64xf16, #s>
    tile.gemm %A, %A into %acc {nv.engine = #nv.engine<wgmma>} : memref<64x64xf16, #s>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  } {tile.schedule = #tile.schedule<stage = [0, 2], order = [1, 0]>}
  return
}

// -----

// A copy under a condition brings no bytes where the condition does not hold.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @guarded
// CHECK: scf.for
// CHECK:   %[[EVEN:.*]] = arith.cmpi eq
// CHECK:   %[[BYTES:.*]] = arith.select %[[EVEN]], %c4096, %c0
// CHECK:   nv.mbarrier.arrive %{{.*}} expect %[[BYTES]]
// CHECK:   scf.if %[[EVEN]]
// CHECK:     nv.tma.load
func.func @guarded(%x: memref<?x?xf32, strided<[?, 1]>, #g>, %n: index)
    attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %X = tile.alloc "X" : memref<32x32xf32, #s>
  %sum = tile.alloc "sum" : memref<32xf32, #l>
  scf.for %k = %c0 to %n step %c1 {
    %0 = arith.remui %k, %c2 : index
    %even = arith.cmpi eq, %0, %c0 : index
    scf.if %even {
      tile.copy %x[%c0, %k] to %X {nv.engine = #nv.engine<tma.load>} : memref<?x?xf32, strided<[?, 1]>, #g> to memref<32x32xf32, #s>
    }
    tile.reduce sum %X along 1 into %sum accumulate : memref<32x32xf32, #s>, memref<32xf32, #l>
  } {tile.schedule = #tile.schedule<stage = [0, 0], order = [0, 1]>}
  return
}

// -----

// Registers cannot be indexed: with two versions of a local tile, steps come in pairs.

#g = #tile.space<global>
#l = #tile.space<local>

// CHECK-LABEL: func.func @versions
// CHECK-DAG: %[[ONE:.*]] = tile.alloc "x" : memref<64xf32, #tile.space<local>>
// CHECK-DAG: %[[TWO:.*]] = tile.alloc "x" : memref<64xf32, #tile.space<local>>
// CHECK: scf.for {{.*}} step %c2
// CHECK:   tile.copy %arg0[{{.*}}] to %[[FIRST:.*]] {nv.planned = 0 : i64} :
// CHECK:   tile.copy %[[SECOND:.*]] to %arg1
// CHECK:   scf.if
// CHECK:     tile.copy %arg0[{{.*}}] to %[[SECOND]] {nv.planned = 0 : i64} :
// CHECK:     tile.copy %[[FIRST]] to %arg1
func.func @versions(%in: memref<?xf32, strided<[1]>, #g>, %out: memref<?xf32, strided<[1]>, #g>, %n: index)
    attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %x = tile.alloc "x" : memref<64xf32, #l>
  scf.for %k = %c0 to %n step %c1 {
    %0 = arith.muli %k, %c64 : index
    tile.copy %in[%0] to %x : memref<?xf32, strided<[1]>, #g> to memref<64xf32, #l>
    tile.copy %x to %out[%0] : memref<64xf32, #l> to memref<?xf32, strided<[1]>, #g>
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  return
}

// -----

// A loop that is entered again goes on with the phase that it ended with.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @entered_again
// CHECK: %[[TOKENS:.*]] = tile.alloc : memref<i32, #tile.space<local>>
// CHECK: tile.store %c0_i32, %[[TOKENS]]
// CHECK: scf.for
// CHECK:   %[[FIRST:.*]] = tile.load %[[TOKENS]]
// CHECK:   nv.mbarrier.arrive {{.*}} expect
// CHECK:   %[[SLOT:.*]] = arith.remui %[[FIRST]], %c2_i32
// CHECK:   scf.for {{.*}} iter_args(%[[AT:[a-z0-9]+]] = %[[SLOT]], %[[PHASE:[a-z0-9]+]] = {{.*}})
// CHECK:     %[[INDEX:.*]] = arith.index_cast %[[AT]]
// CHECK:     nv.mbarrier.wait {{.*}}[%[[INDEX]]], %[[PHASE]]
// CHECK:   %[[NEXT:.*]] = arith.addi %[[FIRST]]
// CHECK:   tile.store %[[NEXT]], %[[TOKENS]]
func.func @entered_again(%x: memref<?x?xf32, strided<[?, 1]>, #g>, %n: index)
    attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : memref<32x32xf32, #s>
  %sum = tile.alloc "sum" : memref<32xf32, #l>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %i step %c1 {
      tile.copy %x[%c0, %k] to %X {nv.engine = #nv.engine<tma.load>} : memref<?x?xf32, strided<[?, 1]>, #g> to memref<32x32xf32, #s>
      tile.reduce sum %X along 1 into %sum accumulate : memref<32x32xf32, #s>, memref<32xf32, #l>
    } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  }
  return
}

// -----

// Tensors that the kernel writes are copied by threads, which see what threads wrote.

#g = #tile.space<global>
#s = #tile.space<shared>

// HOPPER-LABEL: func.func @written
// HOPPER: tile.copy %{{.*}} to %X {nv.engine = #nv.engine<threads>}
func.func @written(%x: memref<?x?xf32, strided<[?, 1]>, #g>, %n: index)
    attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : memref<32x32xf32, #s>
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%c0, %k] to %X : memref<?x?xf32, strided<[?, 1]>, #g> to memref<32x32xf32, #s>
    tile.copy %X to %x[%c0, %k] : memref<32x32xf32, #s> to memref<?x?xf32, strided<[?, 1]>, #g>
  } {tile.schedule = #tile.schedule<stage = [0, 0], order = [0, 1]>}
  return
}

// -----

// Threads write the tile before the loop: a fence and a barrier order them with the engine. They
// read it after the loop, in which each of them has awaited all copies: no barrier follows.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @accessed_outside
// CHECK: tile.fill %A
// CHECK: nv.fence.proxy_async
// CHECK-NEXT: nv.sync
// CHECK: scf.for
// CHECK: nv.plan
// CHECK-NOT: nv.sync
// CHECK: tile.copy
func.func @accessed_outside(%a: memref<?x?xf16, strided<[?, 1]>, #g>, %n: index)
    attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f16
  %A = tile.alloc "A" : memref<64x64xf16, #s>
  %R = tile.alloc "R" : memref<64x64xf16, #l>
  tile.fill %A, %zero : memref<64x64xf16, #s>, f16
  scf.for %k = %c0 to %n step %c1 {
    %0 = arith.muli %k, %c64 : index
    tile.copy %a[%c0, %0] to %A {nv.engine = #nv.engine<tma.load>} : memref<?x?xf16, strided<[?, 1]>, #g> to memref<64x64xf16, #s>
    tile.copy %A to %R : memref<64x64xf16, #s> to memref<64x64xf16, #l>
  } {tile.schedule = #tile.schedule<stage = [0, 1], order = [0, 1]>}
  tile.copy %A to %R : memref<64x64xf16, #s> to memref<64x64xf16, #l>
  return
}

// -----

// A thread knows the end of its own copies only: all of them meet after the loop.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @own_copies
// CHECK: scf.for
// CHECK: nv.plan
// CHECK: nv.cp_async.wait_group 0
// CHECK-NEXT: nv.sync
// CHECK-NEXT: tile.copy
func.func @own_copies(%a: memref<?x?xf32, strided<[?, 1]>, #g>, %n: index)
    attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %A = tile.alloc "A" : memref<64x64xf32, #s>
  %R = tile.alloc "R" : memref<64x64xf32, #l>
  scf.for %k = %c0 to %n step %c1 {
    %0 = arith.muli %k, %c64 : index
    tile.copy %a[%c0, %0] to %A {nv.engine = #nv.engine<cp.async>} : memref<?x?xf32, strided<[?, 1]>, #g> to memref<64x64xf32, #s>
  } {tile.schedule = #tile.schedule<stage = [0], order = [0]>}
  tile.copy %A to %R : memref<64x64xf32, #s> to memref<64x64xf32, #l>
  return
}

// -----

// One fence orders registers before both products: threads access none in between.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @one_fence
// CHECK: nv.wgmma.fence
// CHECK-NEXT: nv.wgmma.mma {{.*}} into %P
// CHECK-NOT: nv.wgmma.fence
// CHECK: nv.wgmma.mma {{.*}} into %Q
// CHECK: tile.fill %P
// CHECK: nv.wgmma.fence
// CHECK: nv.wgmma.mma {{.*}} into %P
func.func @one_fence() attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %zero = arith.constant 0.0 : f32
  %A = tile.alloc "A" : memref<64x64xf16, #s>
  %P = tile.alloc "P" : memref<64x64xf32, #l>
  %Q = tile.alloc "Q" : memref<64x64xf32, #l>
  tile.gemm %A, %A into %P {nv.engine = #nv.engine<wgmma>} : memref<64x64xf16, #s>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  tile.gemm %A, %A into %Q {nv.engine = #nv.engine<wgmma>} : memref<64x64xf16, #s>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  tile.fill %P, %zero : memref<64x64xf32, #l>, f32
  tile.gemm %A, %A into %P {nv.engine = #nv.engine<wgmma>} : memref<64x64xf16, #s>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  return
}

// -----

// The second copy of an iteration follows the commit of the first. The loads have one stage, so
// that no step of theirs follows the last copy: its group is closed before the end is awaited.

// CHECK-LABEL: @last_group
// CHECK: nv.warps 4, 4
// CHECK: scf.for
// CHECK: nv.cp_async
// CHECK: nv.cp_async.commit_group
// CHECK: nv.cp_async
// CHECK: }
// CHECK: nv.cp_async.commit_group
// CHECK-NEXT: nv.cp_async.wait_group 0
!T = memref<?x?xf32, strided<[?, 1]>, #tile.space<global>>
!s = memref<32x32xf32, #tile.space<shared>>
func.func @last_group(%x: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : !s
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%c0, %k] to %X {nv.engine = #nv.engine<cp.async>, nv.role = #nv.role<load>} : !T to !s
    tile.copy %x[%k, %c0] to %X async "copied" {nv.engine = #nv.engine<cp.async>, nv.role = #nv.role<load>} : !T to !s
    tile.wait ["copied"]
  } {tile.schedule = #tile.schedule<stage = [0, 0, 1], order = [0, 1, 2]>}
  tile.copy %X to %x[%c0, %c0] : !s to !T
  return
}

// -----

// Threads execute both products, in no queue: they meet before the second one writes rows that the
// first one wrote.

// CHECK-LABEL: @products_of_threads
// CHECK: scf.for
// CHECK: tile.gemm
// CHECK: nv.sync
// CHECK: tile.gemm
!s = memref<4x4xf32, #tile.space<shared>>
!c = memref<8x4xf32, #tile.space<shared>>
func.func @products_of_threads(%n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %A = tile.alloc "A" : !s
  %B = tile.alloc "B" : !s
  %C = tile.alloc "C" : !c
  %first = memref.subview %C[0, 0] [4, 4] [1, 1] : !c to memref<4x4xf32, strided<[4, 1]>, #tile.space<shared>>
  %second = memref.subview %C[2, 0] [4, 4] [1, 1] : !c to memref<4x4xf32, strided<[4, 1], offset: 8>, #tile.space<shared>>
  scf.for %k = %c0 to %n step %c1 {
    tile.gemm %A, %B into %first async "one" : !s, !s, memref<4x4xf32, strided<[4, 1]>, #tile.space<shared>>
    tile.wait ["one"]
    tile.gemm %A, %B into %second async "two" : !s, !s, memref<4x4xf32, strided<[4, 1], offset: 8>, #tile.space<shared>>
    tile.wait ["two"]
  } {tile.schedule = #tile.schedule<stage = [0, 0, 0, 0], order = [0, 1, 2, 3]>}
  return
}
