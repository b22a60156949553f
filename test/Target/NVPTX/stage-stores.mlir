// RUN: penstock-opt %s --nv-stage-stores --split-input-file | FileCheck %s

// Registers: the whole accumulator at once.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
!T = memref<?x?xf16, strided<[?, 1]>, #g>

// CHECK-LABEL: func.func @registers
// CHECK: %[[SLAB:.*]] = tile.alloc "acc staged" : memref<64x64xf16, #tile.space<shared>>
// CHECK: nv.wgmma.mma
// CHECK-NEXT: tile.copy %acc to %[[SLAB]]
// CHECK-NEXT: nv.fence.proxy_async
// CHECK-NEXT: nv.sync
// CHECK-NEXT: nv.tma.store %[[SLAB]] to %arg0[%c0, %c0]
// CHECK-NEXT: nv.tma.commit_group
// CHECK-NEXT: nv.tma.wait_group
// CHECK-NEXT: return
func.func @registers(%C: !T) attributes {tile.kernel, nv.tile_program, nv.aligned_rows, tile.target = "sm_90a", nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %A = tile.alloc "A" : memref<64x64xf16, #s>
  %acc = tile.alloc "acc" : memref<64x64xf32, #l>
  nv.wgmma.mma %A, %A into %acc accumulate %true : memref<64x64xf16, #s>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  tile.copy %acc to %C[%c0, %c0] : memref<64x64xf32, #l> to !T
  return
}

// -----

// Two results: while the first one is stored, the second one is staged. Both are awaited at the end.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
!T = memref<?x?xf16, strided<[?, 1]>, #g>

// CHECK-LABEL: func.func @both
// CHECK: tile.copy %acc to %[[FIRST:.*]] :
// CHECK-NEXT: nv.fence.proxy_async
// CHECK-NEXT: nv.sync
// CHECK-NEXT: nv.tma.store %[[FIRST]] to %arg0
// CHECK-NEXT: tile.copy %other to %[[SECOND:.*]] :
// CHECK-NEXT: nv.fence.proxy_async
// CHECK-NEXT: nv.sync
// CHECK-NEXT: nv.tma.store %[[SECOND]] to %arg1
// CHECK-NEXT: nv.tma.commit_group
// CHECK-NEXT: nv.tma.wait_group 0 read
// CHECK-NEXT: return
func.func @both(%C: !T, %D: !T) attributes {tile.kernel, nv.tile_program, nv.aligned_rows, tile.target = "sm_90a", nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %A = tile.alloc "A" : memref<64x64xf16, #s>
  %acc = tile.alloc "acc" : memref<64x64xf32, #l>
  %other = tile.alloc "other" : memref<64x64xf32, #l>
  nv.wgmma.mma %A, %A into %acc accumulate %true : memref<64x64xf16, #s>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  nv.wgmma.mma %A, %A into %other accumulate %true : memref<64x64xf16, #s>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  tile.copy %acc to %C[%c0, %c0] : memref<64x64xf32, #l> to !T
  tile.copy %other to %D[%c0, %c0] : memref<64x64xf32, #l> to !T
  return
}

// -----

// Tensor memory: by columns.

#g = #tile.space<global>
#t = #tile.space<tensor>
#l = #tile.space<local>
!T = memref<?x?xf16, strided<[?, 1]>, #g>

// CHECK-LABEL: func.func @columns
// CHECK-COUNT-2: tile.alloc {{.*}} : memref<128x32xf32, #tile.space<local>>
// CHECK: memref.subview {{.*}}[0, 0] [128, 32]
// CHECK-NEXT: nv.tcgen05.load
// CHECK-NEXT: nv.tcgen05.wait_load
// CHECK: tile.copy %{{.*}} to %[[FIRST:.*]] :
// CHECK: nv.sync
// CHECK: nv.tma.store %[[FIRST]] to {{.*}}[%c0, %c0]
// CHECK-NEXT: nv.tma.commit_group
// CHECK: memref.subview {{.*}}[0, 32] [128, 32]
// Threads write the second tile while the first one is read.
// CHECK: tile.copy %{{.*}} to %[[SECOND:.*]] :
// CHECK-NEXT: nv.fence.proxy_async
// CHECK-NEXT: nv.tma.wait_group 0 read
// CHECK-NEXT: nv.sync
// CHECK: nv.tma.store %[[SECOND]] to
// CHECK-NOT: nv.sync
// CHECK-NOT: memref<128x64xf32, #tile.space<local>>
// CHECK: return
func.func @columns(%C: !T) attributes {tile.kernel, nv.tile_program, nv.aligned_rows, tile.target = "sm_100a", nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %cells = nv.tcgen05.alloc "acc" : memref<128x64xf32, #t>
  %acc = tile.alloc "acc" : memref<128x64xf32, #l>
  nv.tcgen05.load %cells to %acc : memref<128x64xf32, #t>, memref<128x64xf32, #l>
  nv.tcgen05.wait_load
  tile.copy %acc to %C[%c0, %c0] : memref<128x64xf32, #l> to !T
  return
}

// -----

// The accumulator is free once its last columns are in registers, not when they have been stored.
// Of three pieces, the last one is where the next tile begins.

#g = #tile.space<global>
#t = #tile.space<tensor>
#l = #tile.space<local>
!T = memref<?x?xf16, strided<[?, 1]>, #g>

// CHECK-LABEL: func.func @again
// CHECK: scf.for
// CHECK-COUNT-3: nv.tcgen05.load
// CHECK-NEXT: nv.tcgen05.wait_load
// CHECK-NEXT: nv.tcgen05.fence
// CHECK-NEXT: nv.mbarrier.arrive
// CHECK-NEXT: tile.copy
// CHECK-NEXT: nv.fence.proxy_async
// CHECK-NEXT: nv.tma.wait_group 0 read
// CHECK-NEXT: nv.sync
// CHECK: nv.tma.store
// CHECK-NEXT: nv.tma.commit_group
// CHECK-NEXT: nv.tma.wait_group 0 read
// CHECK-NEXT: nv.sync
// CHECK-NOT: nv.mbarrier.arrive
func.func @again(%C: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.aligned_rows, tile.target = "sm_100a", nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %free = nv.mbarrier.alloc "free" [4] : !nv.barriers<1>
  %cells = nv.tcgen05.alloc "acc" : memref<128x96xf32, #t>
  %acc = tile.alloc "acc" : memref<128x96xf32, #l>
  scf.for %i = %c0 to %n step %c1 {
    nv.tcgen05.load %cells to %acc : memref<128x96xf32, #t>, memref<128x96xf32, #l>
    nv.tcgen05.wait_load
    tile.copy %acc to %C[%i, %c0] : memref<128x96xf32, #l> to !T
    nv.tcgen05.fence
    nv.mbarrier.arrive %free[%c0] each_warp : !nv.barriers<1>
  }
  return
}

// -----

// A tensor that the kernel also reads is written by threads: engines take another path to memory.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
!T = memref<?x?xf16, strided<[?, 1]>, #g>

// CHECK-LABEL: func.func @read
// CHECK-NOT: nv.tma.store
func.func @read(%C: !T) attributes {tile.kernel, nv.tile_program, nv.aligned_rows, tile.target = "sm_90a", nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %A = tile.alloc "A" : memref<64x64xf16, #s>
  %acc = tile.alloc "acc" : memref<64x64xf32, #l>
  tile.copy %C[%c0, %c0] to %A : !T to memref<64x64xf16, #s>
  nv.wgmma.mma %A, %A into %acc accumulate %true : memref<64x64xf16, #s>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  tile.copy %acc to %C[%c0, %c0] : memref<64x64xf32, #l> to !T
  return
}
