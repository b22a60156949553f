// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-choose-threads --nv-take-over-blocks | FileCheck %s
// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --nv-choose-threads --nv-take-over-blocks | FileCheck %s --check-prefix=HOPPER
// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --nv-choose-threads --nv-take-over-blocks --nv-request-blocks | FileCheck %s --check-prefix=ASKS

// Tiles and what all blocks have in common stay in front of the loop.

// HOPPER-NOT: nv.takes_over
// CHECK-LABEL: func.func @k
// CHECK: %[[GRID:.*]] = tile.grid
// CHECK: tile.alloc
// CHECK: %[[TWICE:.*]] = arith.addi
// CHECK: scf.for %[[ROUND:.*]] =
// CHECK-NEXT: %[[GRANTED:.*]], %[[OWN:.*]] = nv.clc.work %[[ROUND]], %[[GRID]]
// CHECK-NEXT: scf.if %[[GRANTED]] {
// CHECK-NEXT: tile.fill
// CHECK-NEXT: tile.print "{} {}" %[[OWN]], %[[TWICE]]
// CHECK: } {nv.takes_over}

// One warp asks when all threads have read the answer before; all wait for the next at the end.
// ASKS-LABEL: func.func @k
// ASKS-DAG: %[[READ:.*]] = nv.mbarrier.alloc "read" [128]
// ASKS-DAG: %[[ANSWERED:.*]] = nv.mbarrier.alloc "answered" [1]
// ASKS: scf.while
// ASKS: nv.warps 0, 1 {
// ASKS: nv.mbarrier.wait %[[READ]]
// ASKS: nv.mbarrier.arrive %[[ANSWERED]]
// ASKS: nv.clc.request %{{.*}}, %[[ANSWERED]]
// ASKS: tile.print
// ASKS: nv.mbarrier.wait %[[ANSWERED]]
// ASKS-NEXT: nv.clc.answer
// ASKS-NEXT: nv.fence.proxy_async
// ASKS: nv.mbarrier.arrive %[[READ]]
func.func @k(%n: index) attributes {tile.kernel} {
  %zero = arith.constant 0.0 : f32
  %block = tile.grid %n launch_control : index
  %t = tile.alloc "t" : memref<64xf32, #tile.space<local>>
  %twice = arith.addi %n, %n : index
  tile.fill %t, %zero : memref<64xf32, #tile.space<local>>, f32
  tile.print "{} {}" %block, %twice : index, index
  return
}

// A cluster: each block expects the answer, the first one asks when the warps of both have read.
// ASKS-LABEL: func.func @cluster
// ASKS-DAG: %[[READ:.*]] = nv.mbarrier.alloc "read" [8]
// ASKS-DAG: %[[ANSWERED:.*]] = nv.mbarrier.alloc "answered" [1]
// ASKS: %[[RANK:.*]] = nv.cluster.rank
// ASKS: scf.while
// ASKS: nv.mbarrier.arrive %[[ANSWERED]]
// ASKS: %[[FIRST:.*]] = arith.cmpi eq, %[[RANK]]
// ASKS: scf.if %[[FIRST]] {
// ASKS: nv.mbarrier.wait %[[READ]]{{.*}} cluster
// ASKS: nv.clc.request {{.*}} multicast %c3_i32
// ASKS: %{{.*}}, %[[BLOCK:.*]] = nv.clc.answer
// ASKS: nv.warp.sync
// ASKS: nv.mbarrier.arrive %[[READ]]{{.*}} of %{{.*}} each_warp
// ASKS: arith.addi %[[BLOCK]], %[[RANK]]
func.func @cluster(%n: index) attributes {tile.kernel, nv.cluster = 2 : i64} {
  %block = tile.grid %n cluster [2] launch_control : index
  tile.print "{}" %block : index
  return
}
