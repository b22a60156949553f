; Upstream bug: values of tcgen05.ld are used before tcgen05.wait::ld, which does not name them.
; RUN: llc -mcpu=sm_100a -mattr=+ptx88 -O3 %s -o - | FileCheck %s
;
; Fails when LLVM keeps uses after the wait: then this reason for inline PTX in docs/architecture.md
; is gone. PTX leaves the registers undefined until the wait; pairs of them are packed before it.

target triple = "nvptx64-nvidia-cuda"

declare <8 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x8(ptr addrspace(6), i1)
declare void @llvm.nvvm.tcgen05.wait.ld()

; CHECK: tcgen05.ld.sync.aligned.32x32b.x8.b32 {[[FIRST:%r[0-9]+]], [[SECOND:%r[0-9]+]],
; CHECK-NOT: tcgen05.wait
; CHECK: mov.b64 %{{[a-z0-9]+}}, {[[FIRST]], [[SECOND]]};
; CHECK: tcgen05.wait::ld.sync.aligned;
define ptx_kernel void @sum(ptr addrspace(6) %tile, ptr addrspace(1) %result) {
  %words = call <8 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x8(ptr addrspace(6) %tile, i1 false)
  call void @llvm.nvvm.tcgen05.wait.ld()
  %values = bitcast <8 x i32> %words to <8 x float>
  %sum = call reassoc float @llvm.vector.reduce.fadd.v8f32(float 0.0, <8 x float> %values)
  store float %sum, ptr addrspace(1) %result
  ret void
}
