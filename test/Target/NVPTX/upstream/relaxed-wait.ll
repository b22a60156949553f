; Upstream bug: a relaxed mbarrier.try_wait is `argmem: read`, so loads are merged across it.
; RUN: opt -passes=gvn -S %s | FileCheck %s
;
; Fails when LLVM reads memory again: then this reason for inline PTX in docs/architecture.md is
; gone. Another thread may write the flag before it arrives on the barrier, and a fence after the
; wait cannot bring back a load that is gone.

target triple = "nvptx64-nvidia-cuda"

@flag = external addrspace(1) global i32

; CHECK-LABEL: define i32 @flags
; CHECK: %before = load i32, ptr addrspace(1) @flag
; CHECK: call i1 @llvm.nvvm.mbarrier.try.wait.parity.relaxed.scope.cta.space.cta
; CHECK-NOT: load
; CHECK: %sum = add i32 %before, %before
define i32 @flags(ptr addrspace(3) %barrier, i32 %parity) {
  %before = load i32, ptr addrspace(1) @flag
  %done = call i1 @llvm.nvvm.mbarrier.try.wait.parity.relaxed.scope.cta.space.cta(
      ptr addrspace(3) %barrier, i32 %parity)
  %after = load i32, ptr addrspace(1) @flag
  %sum = add i32 %before, %after
  %bit = zext i1 %done to i32
  %result = add i32 %sum, %bit
  ret i32 %result
}
