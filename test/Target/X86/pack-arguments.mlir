// RUN: penstock-opt %s --penstock-pack-arguments | FileCheck %s

llvm.func @f(%x: i64, %y: f32) attributes {penstock.pack} {
  llvm.return
}

// CHECK-LABEL: llvm.func @f.packed(%arg0: !llvm.ptr)
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> i64
// CHECK: llvm.getelementptr %arg0[8]
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK: llvm.call @f

// The first two arguments of a request are its iteration and its chain.
llvm.func @k(%x: i64, %chain: i64, %y: f32, %handle: !llvm.ptr) {
  // CHECK-LABEL: llvm.func @k(
  // CHECK: llvm.alloca
  // CHECK: llvm.mlir.addressof @g.packed
  // CHECK: llvm.call @penstock_async_issue(%arg3, %{{.*}}, %arg0, %arg1,
  // CHECK-NEXT: llvm.return
  llvm.call @g(%x, %chain, %y, %handle) {penstock.async = 0 : i64} : (i64, i64, f32, !llvm.ptr) -> ()
  llvm.return
}

llvm.func @g(%x: i64, %chain: i64, %y: f32, %handle: !llvm.ptr) attributes {penstock.pack} {
  llvm.return
}
