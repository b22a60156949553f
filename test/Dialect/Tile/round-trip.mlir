// Every operation prints as it is written, and what is printed can be read.
// RUN: penstock-opt %s | penstock-opt | FileCheck %s

!global = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!ids = memref<?xi32, strided<[1]>, #tile.space<global>>
!shared = memref<128x64xf16, #tile.space<shared>>
!acc = memref<128x128xf32, #tile.space<local>>
!vec = memref<128xf32, #tile.space<local>>

// CHECK-LABEL: func.func @everything
func.func @everything(%A: !global {tile.access = "in", tile.name = "A"},
                      %C: !global {tile.access = "out", tile.name = "C"},
                      %ids: !ids {tile.access = "inout"}, %s: f32)
    attributes {tile.kernel, tile.signature = "A[M,K] -> C[M,N], ids[n], s"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f16
  %m = memref.dim %A, %c0 : !global
  // CHECK: %{{.*}}:2 = tile.grid %{{.*}}, %{{.*}} swizzle 8 : index, index
  %b:2 = tile.grid %m, %c8 swizzle 8 : index, index
  // CHECK: tile.divmod %{{.*}}, %{{.*}}
  %q, %r = tile.divmod %b#0, %m
  // CHECK: %As = tile.alloc "As" versions 3 : memref<128x64xf16, #tile.space<shared>>
  %As = tile.alloc "As" versions 3 : !shared
  %Bs = tile.alloc "Bs" : !shared
  // CHECK: tile.alloc : memref<128x128xf32, #tile.space<local>>
  %acc = tile.alloc : !acc
  %v = tile.alloc : !vec
  // CHECK: tile.fill %{{.*}}, %{{.*}} : memref<128x128xf32, #tile.space<local>>, f32
  tile.fill %acc, %s : !acc, f32
  // CHECK: scf.for
  scf.for %k = %c0 to %c8 step %c1 {
    // CHECK: tile.bind "row" %{{.*}} : index
    %row = tile.bind "row" %k : index
    // CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}] to %As fill %{{.*}} : f16 async "loadA"
    tile.copy %A[%row, %c0] to %As fill %zero : f16 async "loadA" : !global to !shared
    // CHECK: tile.wait ["loadA"] lag 1
    tile.wait ["loadA"] lag 1
    %Bt = memref.transpose %Bs (d0, d1) -> (d1, d0)
      : !shared to memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
    // CHECK: tile.gemm %As, %{{.*}} into %{{.*}} overwrite async "mma"
    tile.gemm %As, %Bt into %acc overwrite async "mma"
      : !shared, memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>, !acc
    // CHECK: tile.statement "softmax" {
    tile.statement "softmax" {
      // CHECK: tile.reduce max %{{.*}} along 1 into %{{.*}} accumulate
      tile.reduce max %acc along 1 into %v accumulate : !acc, !vec
      // CHECK: tile.map %{{.*}} ins(%{{.*}}, %{{.*}}) dims {{\[\[}}0, 1], [0]]
      tile.map %acc ins(%acc, %v) dims [[0, 1], [0]] {
      ^bb0(%x: f32, %t: f32):
        // CHECK: tile.element_index 1
        %j = tile.element_index 1
        %d = arith.subf %x, %t : f32
        tile.yield %d : f32
      } : !acc ins(!acc, !vec)
    }
  // CHECK: tile.schedule = #tile.schedule<stage = [0, 0, 1, 1], order = [0, 1, 2, 3]>
  } {tile.schedule = #tile.schedule<stage = [0, 0, 1, 1], order = [0, 1, 2, 3]>}
  // CHECK: tile.parallel [128] {
  tile.parallel [128] {
  ^bb0(%i: index):
    // CHECK: tile.load %{{.*}}[%{{.*}}]
    %id = tile.load %ids[%i] : !ids -> i32
    // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}]
    tile.store %id, %ids[%i] : i32, !ids
    // CHECK: tile.atomic add %{{.*}}, %{{.*}}[%{{.*}}]
    %old = tile.atomic add %one, %ids[%i] : i32, !ids -> i32
  }
  // CHECK: tile.wait_for_previous
  tile.wait_for_previous
  // CHECK: tile.launch_dependents
  tile.launch_dependents
  // CHECK: tile.print "v = {}" %{{.*}} : memref<128xf32, #tile.space<local>>
  tile.print "v = {}" %v : !vec
  %ok = arith.cmpi slt, %c0, %c1 : index
  // CHECK: tile.assert %{{.*}}, "never"
  tile.assert %ok, "never"
  // CHECK: tile.copy %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}]
  tile.copy %acc to %C[%b#0, %b#1] : !acc to !global
  // CHECK: #tile.schedule<num_stages = 3>
  scf.for %k = %c0 to %c8 step %c1 {
  } {tile.schedule = #tile.schedule<num_stages = 3>}
  // CHECK: #tile.schedule<num_stages = 2, solver_seconds = 10>
  scf.for %k = %c0 to %c8 step %c1 {
  } {tile.schedule = #tile.schedule<num_stages = 2, solver_seconds = 10>}
  return
}

// Which statements the lists speak of is not looked at before the schedule is
// resolved.
// CHECK-LABEL: func.func @raw_schedule
func.func @raw_schedule(%n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: #tile.schedule<stage = [0, 0, 1], order = [0, 1, 2], async_stages = [0], async_producers = [1, 1, 0], async_producer_groups = [0, 0, -1]>
  scf.for %k = %c0 to %n step %c1 {
  } {tile.schedule = #tile.schedule<async_producer_groups = [0, 0, -1], async_producers = [1, 1, 0],
                                    async_stages = [0], order = [0, 1, 2], stage = [0, 0, 1]>}
  return
}

// Scales of both operands; bytes are pairs of f4 values.
// CHECK-LABEL: func.func @scales
// CHECK-SAME: tile.packed = "f4e2m1x2"
func.func @scales(%A: memref<?x?xi8, strided<[?, 1]>, #tile.space<global>> {tile.packed = "f4e2m1x2"})
    attributes {tile.kernel} {
  // CHECK: tile.alloc "As" {tile.packed = "f4e2m1x2"} : memref<128x64xi8
  %As = tile.alloc "As" {tile.packed = "f4e2m1x2"} : memref<128x64xi8, #tile.space<shared>>
  %At = memref.transpose %As (i, j) -> (j, i) : memref<128x64xi8, #tile.space<shared>>
    to memref<64x128xi8, strided<[1, 64]>, #tile.space<shared>>
  %S = tile.alloc "S" : memref<1x2x32x16xf8E4M3FN, #tile.space<shared>>
  %acc = tile.alloc "acc" : memref<128x128xf32, #tile.space<local>>
  // CHECK: tile.gemm %As, %{{.*}} into %acc overwrite scales(%S, %S) : {{.*}} scales(memref<1x2x32x16xf8E4M3FN, #tile.space<shared>>, memref<1x2x32x16xf8E4M3FN, #tile.space<shared>>)
  tile.gemm %As, %At into %acc overwrite scales(%S, %S) : memref<128x64xi8, #tile.space<shared>>,
    memref<64x128xi8, strided<[1, 64]>, #tile.space<shared>>, memref<128x128xf32, #tile.space<local>>
    scales(memref<1x2x32x16xf8E4M3FN, #tile.space<shared>>, memref<1x2x32x16xf8E4M3FN, #tile.space<shared>>)
  return
}

// Values of 6 bits and of 4 bits: 96 and 64 bytes hold 128 of them.
// CHECK-LABEL: func.func @packings
func.func @packings(%B: memref<?x?xi8, strided<[?, 1]>, #tile.space<global>> {tile.packed = "f6e3m2_packed"})
    attributes {tile.kernel} {
  %As = tile.alloc "As" {tile.packed = "f6e2m3_packed"} : memref<128x96xi8, #tile.space<shared>>
  %Bs = tile.alloc "Bs" {tile.packed = "f4e2m1x2"} : memref<128x64xi8, #tile.space<shared>>
  %Bt = memref.transpose %Bs (i, j) -> (j, i) : memref<128x64xi8, #tile.space<shared>>
    to memref<64x128xi8, strided<[1, 64]>, #tile.space<shared>>
  %S = tile.alloc "S" : memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
  %acc = tile.alloc "acc" : memref<128x128xf32, #tile.space<local>>
  // CHECK: tile.gemm %As, %{{.*}} into %acc scales(%S, %S) packing_a f6e2m3 packing_b f4e2m1 :
  tile.gemm %As, %Bt into %acc scales(%S, %S) packing_a f6e2m3 packing_b f4e2m1
    : memref<128x96xi8, #tile.space<shared>>,
    memref<64x128xi8, strided<[1, 64]>, #tile.space<shared>>, memref<128x128xf32, #tile.space<local>>
    scales(memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>, memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>)
  return
}
