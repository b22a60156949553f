// RUN: penstock-opt %s --tile-attach-target=target=sm_90a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s

// A left operand in registers: four of them for each instruction, and only B can be
// transposed.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @k(
// The fence orders accumulators, and registers with two elements each.
// CHECK: wgmma.fence.sync.aligned;", "{{(=f,)+(=r,)+0,1,}}
// 64 are four steps of 16.
// The four steps are one statement. Each takes the next four words of the left operand and the
// next descriptor of the right one; only the first may overwrite sums.
// CHECK: "{ .reg .pred more, always; setp.ne.b32 more, $64, 0; setp.eq.b32 always, 0, 0;
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {$0, {{[^}]*}}$31}, {$65, $66, $67, $68}, $69, more, 1, 1, 1;
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {$0, {{[^}]*}}$31}, {$70, $71, $72, $73}, $74, always, 1, 1, 1;
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {$0, {{[^}]*}}$31}, {$75, $76, $77, $78}, $79, always, 1, 1, 1;
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {$0, {{[^}]*}}$31}, {$80, $81, $82, $83}, $84, always, 1, 1, 1; }"
// Sums are written before the operands of later steps are read.
// CHECK-SAME: "=&f,=&f
// CHECK-NOT: wgmma.mma_async
func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
  %yes = arith.constant true
  %zero = arith.constant 0.0 : f16
  %sum = arith.constant 0.0 : f32
  %Bs = tile.alloc "Bs" : memref<64x64xf16, #s>
  %P = tile.alloc "P" : memref<64x64xf16, #l>
  %acc = tile.alloc "acc" : memref<64x64xf32, #l>
  tile.fill %P, %zero : memref<64x64xf16, #l>, f16
  tile.fill %acc, %sum : memref<64x64xf32, #l>, f32
  nv.wgmma.fence
  nv.wgmma.mma %P, %Bs into %acc accumulate %yes
    : memref<64x64xf16, #l>, memref<64x64xf16, #s>, memref<64x64xf32, #l>
  nv.wgmma.commit_group
  nv.wgmma.wait_group 0
  return
}
