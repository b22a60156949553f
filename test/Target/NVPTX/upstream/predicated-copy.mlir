// Upstream bug: the string builder of predicated TMA copies drops .cta_group::2.
// RUN: mlir-opt --convert-nvvm-to-llvm %s | mlir-translate --mlir-to-llvmir \
// RUN:   | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_100a -mattr=+ptx88 | FileCheck %s
//
// Fails when MLIR writes the qualifier: then this reason for inline PTX in docs/architecture.md is
// gone. Without a predicate the operation becomes an intrinsic, which has it.

// CHECK-LABEL: .func predicated
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global
// CHECK-NOT: cta_group
// CHECK: ret;
llvm.func @predicated(%map: !llvm.ptr, %to: !llvm.ptr<7>, %barrier: !llvm.ptr<3>, %x: i32, %y: i32,
                      %elected: i1) {
  nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %barrier, box[%x, %y]
    predicate = %elected
    {mode = #nvvm.tma_load_mode<tile>, group = #nvvm.cta_group<cta_2>} : !llvm.ptr<7>, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: .func plain
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global{{.*}}.cta_group::2
// CHECK: ret;
llvm.func @plain(%map: !llvm.ptr, %to: !llvm.ptr<7>, %barrier: !llvm.ptr<3>, %x: i32, %y: i32) {
  nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %barrier, box[%x, %y]
    {mode = #nvvm.tma_load_mode<tile>, group = #nvvm.cta_group<cta_2>} : !llvm.ptr<7>, !llvm.ptr
  llvm.return
}
