; Upstream bug: dead store elimination removes the first of two equal tcgen05.mma that accumulate.
; RUN: opt -passes=dse -S %s | FileCheck %s
;
; Fails when LLVM keeps both: then this reason for inline PTX in docs/architecture.md is gone. The
; accumulator is declared `writeonly`, although `i1 true` (enable-input-d) reads it.

target triple = "nvptx64-nvidia-cuda"

declare void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6), i64, i64, i32, i1, i32 immarg,
                                           i32 immarg, i32 immarg)

; CHECK-LABEL: define void @twice
; CHECK-COUNT-1: call void @llvm.nvvm.tcgen05.mma.shared
; CHECK-NOT: call void @llvm.nvvm.tcgen05.mma.shared
; CHECK: ret void
define void @twice(ptr addrspace(6) %acc, i64 %a, i64 %b, i32 %instruction) {
  call void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6) %acc, i64 %a, i64 %b, i32 %instruction,
                                          i1 true, i32 0, i32 1, i32 0)
  call void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6) %acc, i64 %a, i64 %b, i32 %instruction,
                                          i1 true, i32 0, i32 1, i32 0)
  ret void
}
