// RUN: penstock-opt %s --penstock-native | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: penstock-opt %s --penstock-native=vector-bits=256 | FileCheck %s --check-prefixes=CHECK,NARROW

// exp2, erf and tanh become arithmetic; tensors do not alias.
// CHECK-NOT: @{{fmaf|erff|tanhf}}
// CHECK-LABEL: llvm.func @k.packed(%{{.*}}: !llvm.ptr)
// CHECK-LABEL: llvm.func @k(
// CHECK-SAME: llvm.noalias
// CHECK-NOT: llvm.intr.exp2
// CHECK: llvm.intr.fma
// AVX-512 multiplies by powers of 2; elsewhere ldexp would be a call.
// WIDE: llvm.call_intrinsic "llvm.ldexp.f32.i32"
// NARROW-NOT: ldexp
func.func @k(%A: memref<?xf32, strided<[1]>, #tile.space<global>>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %s = tile.alloc "s" : memref<16xf32, #tile.space<local>>
  tile.copy %A[%c0] to %s : memref<?xf32, strided<[1]>, #tile.space<global>> to memref<16xf32, #tile.space<local>>
  tile.map %s ins(%s) dims [[0]] {
  ^bb0(%x: f32):
    %p = math.exp2 %x : f32
    %e = math.erf %p : f32
    %y = math.tanh %e : f32
    tile.yield %y : f32
  } : memref<16xf32, #tile.space<local>> ins(memref<16xf32, #tile.space<local>>)
  tile.copy %s to %A[%c0] : memref<16xf32, #tile.space<local>> to memref<?xf32, strided<[1]>, #tile.space<global>>
  return
}
