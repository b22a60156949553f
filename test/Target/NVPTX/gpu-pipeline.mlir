// RUN: penstock-opt %s --penstock-gpu=target=sm_90a | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: penstock-opt %s --penstock-gpu=target=sm_89 | FileCheck %s --check-prefixes=CHECK,ADA
// RUN: not penstock-opt %s --penstock-gpu=target=sm_70 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: unknown GPU `sm_70`

// All that the compiler does for a GPU, from text: the code of one thread, and what
// launching it needs.

#g = #tile.space<global>
#l = #tile.space<local>

// CHECK: module attributes {
// CHECK-SAME: nv.launch = {
// HOPPER-SAME: architecture = "sm_90a"
// ADA-SAME: architecture = "sm_89"
// CHECK-SAME: name = "add_one"
// CHECK-SAME: threads = 128
// CHECK: llvm.func @add_one
// CHECK-NOT: tile.
func.func @add_one(%x: memref<?xf32, strided<[1]>, #g>) attributes {tile.kernel, tile.signature = "x[N]"} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %c128 = arith.constant 128 : index
  %n = memref.dim %x, %c0 : memref<?xf32, strided<[1]>, #g>
  %blocks = arith.ceildivsi %n, %c128 : index
  %i = tile.grid %blocks : index
  %at = arith.muli %i, %c128 : index
  %t = tile.alloc : memref<128xf32, #l>
  tile.copy %x[%at] to %t : memref<?xf32, strided<[1]>, #g> to memref<128xf32, #l>
  tile.copy %t to %x[%at] : memref<128xf32, #l> to memref<?xf32, strided<[1]>, #g>
  return
}
