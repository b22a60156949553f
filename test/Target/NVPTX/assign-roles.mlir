// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --tile-resolve-schedules --nv-assign-roles --split-input-file | FileCheck %s --check-prefix=ROLES
// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --tile-resolve-schedules --nv-assign-roles --nv-write-plans --split-input-file | FileCheck %s

// A load role beside the compute warps, which go on after the loop; no barrier of the
// block is needed.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
!T = memref<?x?xf16, strided<[?, 1]>, #g>

// ROLES-LABEL: func.func @wgmma
// ROLES: tile.copy {{.*}}nv.role = #nv.role<load>
// ROLES: tile.gemm
// ROLES-NOT: nv.role
// ROLES: return

// CHECK-LABEL: func.func @wgmma
// CHECK-SAME: nv.threads = 160
// CHECK-NOT: nv.sync
// CHECK: nv.warps 4, 1
// CHECK: scf.for
// CHECK: nv.mbarrier.wait
// CHECK: nv.tma.load
// CHECK: {nv.role = #nv.role<load>}
// CHECK: nv.warps 0, 4
// CHECK: tile.fill
// CHECK: scf.for
// CHECK: nv.mbarrier.wait
// CHECK: nv.wgmma.mma
// CHECK: nv.wgmma.commit_group
// CHECK: nv.wgmma.wait_group 1
// CHECK: nv.mbarrier.arrive
// CHECK: nv.plan
// CHECK: tile.map
// CHECK-NOT: nv.sync
// CHECK: return
func.func @wgmma(%x: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %X = tile.alloc "X" : memref<64x64xf16, #s>
  %acc = tile.alloc "acc" : memref<64x64xf32, #l>
  tile.fill %acc, %zero : memref<64x64xf32, #l>, f32
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%c0, %k] to %X {nv.engine = #nv.engine<tma.load>} : !T to memref<64x64xf16, #s>
    tile.gemm %X, %X into %acc {nv.engine = #nv.engine<wgmma>} : memref<64x64xf16, #s>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  tile.map %acc ins(%acc) dims [[0, 1]] {
  ^bb0(%v: f32):
    %w = arith.addf %v, %v : f32
    tile.yield %w : f32
  } : memref<64x64xf32, #l> ins(memref<64x64xf32, #l>)
  return
}

// -----

// Where the compute warps have nothing to do in the loop, the roles are two of them.

#g = #tile.space<global>
#s = #tile.space<shared>
#t = #tile.space<tensor>
#l = #tile.space<local>
!T = memref<?x?xf16, strided<[?, 1]>, #g>

// ROLES-LABEL: func.func @tcgen05
// ROLES: tile.copy {{.*}}nv.role = #nv.role<load>
// ROLES: tile.gemm {{.*}}nv.role = #nv.role<mma>

// CHECK-LABEL: func.func @tcgen05
// CHECK-SAME: nv.threads = 128
// CHECK: nv.warps 0, 1
// CHECK: nv.tma.load
// CHECK: {nv.role = #nv.role<load>}
// CHECK: nv.warps 1, 1
// CHECK: nv.tcgen05.mma
// CHECK: nv.tcgen05.commit
// CHECK: {nv.role = #nv.role<mma>}
// CHECK-NEXT: nv.sync
// CHECK: nv.tcgen05.load
func.func @tcgen05(%x: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : memref<128x64xf16, #s>
  %Y = tile.alloc "Y" : memref<64x64xf16, #s>
  %cells = nv.tcgen05.alloc "acc" : memref<128x64xf32, #t>
  %acc = tile.alloc "acc" : memref<128x64xf32, #l>
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%c0, %k] to %X {nv.engine = #nv.engine<tma.load>} : !T to memref<128x64xf16, #s>
    tile.copy %x[%c0, %k] to %Y {nv.engine = #nv.engine<tma.load>} : !T to memref<64x64xf16, #s>
    tile.gemm %X, %Y into %cells {nv.engine = #nv.engine<tcgen05.mma>} : memref<128x64xf16, #s>, memref<64x64xf16, #s>, memref<128x64xf32, #t>
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  tile.copy %cells to %acc {nv.engine = #nv.engine<tcgen05.ld>} : memref<128x64xf32, #t> to memref<128x64xf32, #l>
  return
}

// -----

// Which box is copied depends on what the compute warps have computed: one group of warps.

#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
!T = memref<?x?xf16, strided<[?, 1]>, #g>

// ROLES-LABEL: func.func @depends
// ROLES-NOT: nv.role

// CHECK-LABEL: func.func @depends
// CHECK-SAME: nv.threads = 128
// CHECK-NOT: nv.warps
func.func @depends(%x: !T, %n: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %X = tile.alloc "X" : memref<64x64xf16, #s>
  %at = tile.alloc "at" : memref<8xi32, #s>
  %acc = tile.alloc "acc" : memref<64x64xf32, #l>
  %first = tile.load %at[%c0] : memref<8xi32, #s> -> i32
  %row = arith.index_cast %first : i32 to index
  scf.for %k = %c0 to %n step %c1 {
    tile.copy %x[%row, %k] to %X {nv.engine = #nv.engine<tma.load>} : !T to memref<64x64xf16, #s>
    tile.gemm %X, %X into %acc {nv.engine = #nv.engine<wgmma>} : memref<64x64xf16, #s>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  } {tile.schedule = #tile.schedule<num_stages = 2>}
  return
}
