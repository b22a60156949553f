// RUN: penstock-opt %s --split-input-file --tile-attach-target=target=sm_80 --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s

// Operands of mma.sync come from shared memory by ldmatrix.x4: 16 rows of A, and two blocks of 8
// columns of B.

#s = #tile.space<shared>
#l = #tile.space<local>

// Four warps multiply 64 x 64 each, 4 x 8 MMAs for each of 4 steps of k. A row takes 128 bytes, so
// that 16 rows are 2048 bytes, and B begins where A ends, at 16384 bytes. Steps are 32 bytes of
// a swizzle span: the first address XOR 32, 64 and 96. The loads of a step precede the MMAs of the
// step before.

// CHECK-LABEL: func.func @square
// CHECK-DAG: %[[K1:.*]] = arith.constant 32 : i32
// CHECK: "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,r,~{memory}" %[[A:[0-9]+]] :
// CHECK: "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4+2048];", {{.*}} %[[A]] :
// CHECK: [$4+4096];", {{.*}} %[[A]] :
// CHECK: [$4+6144];", {{.*}} %[[A]] :
// CHECK: [$4+16384];", {{.*}} %[[B:[0-9]+]] :
// CHECK: [$4+18432];", {{.*}} %[[B]] :
// CHECK: [$4+20480];", {{.*}} %[[B]] :
// CHECK: [$4+22528];", {{.*}} %[[B]] :
// CHECK-NOT: mma.sync
// CHECK: %[[A1:.*]] = arith.xori %[[A]], %[[K1]] : i32
// CHECK: [$4];", {{.*}} %[[A1]] :
// CHECK-COUNT-7: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-NOT: ldmatrix
// CHECK-COUNT-32: mma.sync.aligned.m16n8k16
// CHECK-NOT: mma.sync
// CHECK-COUNT-8: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-NOT: ldmatrix
// CHECK-COUNT-32: mma.sync.aligned.m16n8k16
// CHECK-NOT: mma.sync
// CHECK-COUNT-8: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-NOT: ldmatrix
// CHECK-COUNT-64: mma.sync.aligned.m16n8k16
// CHECK-NOT: mma.sync
func.func @square() attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %zero = arith.constant 0.0 : f16
  %A = tile.alloc "A" : memref<128x64xf16, #s>
  %B = tile.alloc "B" : memref<128x64xf16, #s>
  %acc = tile.alloc "acc" : memref<128x128xf32, #l>
  tile.fill %A, %zero : memref<128x64xf16, #s>, f16
  tile.fill %B, %zero : memref<128x64xf16, #s>, f16
  nv.sync
  %Bt = memref.transpose %B (i, j) -> (j, i) : memref<128x64xf16, #s> to memref<64x128xf16, strided<[1, 64]>, #s>
  tile.gemm %A, %Bt into %acc overwrite : memref<128x64xf16, #s>, memref<64x128xf16, strided<[1, 64]>, #s>, memref<128x128xf32, #l>
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>

// Rows of B run along its columns: .trans, where steps of 16 rows are 2048 bytes and two blocks of
// columns are 32 bytes of a swizzle span. Each of four warps has 16 rows and all 24 columns; the
// third block of these is alone. A begins where B ends, at 4096 bytes. Loads of 2 steps.

// CHECK-LABEL: func.func @odd
// CHECK-DAG: %[[NEXT:.*]] = arith.constant 32 : i32
// CHECK: "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4+4096];"
// CHECK: "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,r,~{memory}" %[[B:[0-9]+]] :
// CHECK: %[[LAST:.*]] = arith.xori %[[B]], %[[NEXT]] : i32
// CHECK: "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {$0, $1}, [$2];", "=r,=r,r,~{memory}" %[[LAST]] :
// CHECK: "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4+4096];"
// CHECK: "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0, $1, $2, $3}, [$4+2048];", "=r,=r,=r,=r,r,~{memory}" %[[B]] :
// CHECK: "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {$0, $1}, [$2+2048];", "=r,=r,r,~{memory}" %[[LAST]] :
// CHECK-NOT: ldmatrix
// CHECK-COUNT-6: mma.sync.aligned.m16n8k16
// CHECK-NOT: mma.sync
func.func @odd() attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %zero = arith.constant 0.0 : f16
  %A = tile.alloc "A" : memref<64x32xf16, #s>
  %all = tile.alloc "B" : memref<32x64xf16, #s>
  %acc = tile.alloc "acc" : memref<64x24xf32, #l>
  tile.fill %A, %zero : memref<64x32xf16, #s>, f16
  tile.fill %all, %zero : memref<32x64xf16, #s>, f16
  nv.sync
  %B = memref.subview %all[0, 0] [32, 24] [1, 1] : memref<32x64xf16, #s> to memref<32x24xf16, strided<[64, 1]>, #s>
  tile.gemm %A, %B into %acc overwrite : memref<64x32xf16, #s>, memref<32x24xf16, strided<[64, 1]>, #s>, memref<64x24xf32, #l>
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>

// 16 rows cannot be divided: four warps share 40 columns, of which the first two have 16, the third
// 8 and the last none. A block that only some warps have is loaded alone, and under a condition.

// CHECK-LABEL: func.func @beyond
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: scf.if
// CHECK-NEXT: "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {$0, $1}, [$2{{.*}}];"
// CHECK: mma.sync
// CHECK: scf.if
// CHECK-NEXT: "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {$0, $1}, [$2{{.*}}];"
// CHECK: mma.sync
// CHECK-NOT: ldmatrix
func.func @beyond() attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %zero = arith.constant 0.0 : f16
  %A = tile.alloc "A" : memref<16x16xf16, #s>
  %B = tile.alloc "B" : memref<40x16xf16, #s>
  %acc = tile.alloc "acc" : memref<16x40xf32, #l>
  tile.fill %A, %zero : memref<16x16xf16, #s>, f16
  tile.fill %B, %zero : memref<40x16xf16, #s>, f16
  nv.sync
  %Bt = memref.transpose %B (i, j) -> (j, i) : memref<40x16xf16, #s> to memref<16x40xf16, strided<[1, 16]>, #s>
  tile.gemm %A, %Bt into %acc overwrite : memref<16x16xf16, #s>, memref<16x40xf16, strided<[1, 16]>, #s>, memref<16x40xf32, #l>
  return
}

// -----

#s = #tile.space<shared>
#l = #tile.space<local>

// A loop over slots leaves the address in a slot as it is: the slot's start is added to each
// address after the XOR, which can move before the loop.

// CHECK-LABEL: func.func @slots
// CHECK: arith.addi %[[LANE:[0-9]+]], %[[START:[0-9]+]] : i32{{[[:space:]]+}}%{{.*}} "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4+8192];{{.*}} %[[B:[0-9]+]] :
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4+10240];{{.*}} %[[B]] :
// CHECK: %[[LANE1:.*]] = arith.xori %[[LANE]], %c32_i32
// CHECK-NEXT: %[[B1:.*]] = arith.addi %[[LANE1]], %[[START]]
// CHECK-NEXT: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4+8192];{{.*}} %[[B1]] :
// CHECK: %[[LANE2:.*]] = arith.xori %[[LANE]], %c64_i32
// CHECK-NEXT: arith.addi %[[LANE2]], %[[START]]
// CHECK: %[[LANE3:.*]] = arith.xori %[[LANE]], %c96_i32
// CHECK-NEXT: arith.addi %[[LANE3]], %[[START]]
func.func @slots(%slot: index) attributes {tile.kernel, nv.tile_program, nv.threads = 128 : i64} {
  %A = tile.alloc "A" : memref<64x64xf16, #s>
  %B = tile.alloc "B" : memref<2x64x64xf16, #s>
  %acc = tile.alloc "acc" : memref<64x64xf32, #l>
  %one = memref.subview %B[%slot, 0, 0] [1, 64, 64] [1, 1, 1] : memref<2x64x64xf16, #s> to memref<64x64xf16, strided<[64, 1], offset: ?>, #s>
  %Bt = memref.transpose %one (i, j) -> (j, i) : memref<64x64xf16, strided<[64, 1], offset: ?>, #s> to memref<64x64xf16, strided<[1, 64], offset: ?>, #s>
  tile.gemm %A, %Bt into %acc overwrite : memref<64x64xf16, #s>, memref<64x64xf16, strided<[1, 64], offset: ?>, #s>, memref<64x64xf32, #l>
  return
}
