// RUN: penstock-opt %s --tile-attach-target=target=sm_100a --tile-lower-launch --canonicalize --cse --nv-assign-layouts --nv-plan-memory --nv-lower-threads | FileCheck %s

// Left operands in tensor memory: 64 elements of 16 bits are 32 columns.

#s = #tile.space<shared>
#l = #tile.space<local>
#t = #tile.space<tensor>

// CHECK-LABEL: func.func @k(
// CHECK: tcgen05.alloc.cta_group::1
// CHECK: tcgen05.st.sync.aligned.32x32b.x32.b32 [$0], {$1, $2,
// CHECK: tcgen05.wait::st.sync.aligned
// 128 bytes of each row, 32 at a time.
// CHECK-COUNT-4: tcgen05.cp.cta_group::1.128x256b [$0], $1;
// CHECK-NOT: tcgen05.cp
// CHECK-COUNT-4: @issuer tcgen05.mma.cta_group::1.kind::f16 [$0], [$1], b, $3, more;
// CHECK-NOT: tcgen05.mma
func.func @k() attributes {tile.kernel, nv.threads = 128 : i64} {
  %yes = arith.constant true
  %zero = arith.constant 0.0 : f16
  %As = tile.alloc "As" : memref<128x64xf16, #s>
  %Bs = tile.alloc "Bs" : memref<64x64xf16, #s>
  %P = tile.alloc "P" : memref<128x64xf16, #l>
  %acc = nv.tcgen05.alloc "acc" : memref<128x64xf32, #t>
  %Pt = nv.tcgen05.alloc "Pt" : memref<128x64xf16, #t>
  tile.fill %P, %zero : memref<128x64xf16, #l>, f16
  nv.tcgen05.store %P to %Pt : memref<128x64xf16, #l>, memref<128x64xf16, #t>
  nv.tcgen05.wait_store
  nv.warps 0, 1 {
    nv.tcgen05.copy %As to %Pt : memref<128x64xf16, #s>, memref<128x64xf16, #t>
    nv.tcgen05.mma %Pt, %Bs into %acc accumulate %yes
      : memref<128x64xf16, #t>, memref<64x64xf16, #s>, memref<128x64xf32, #t>
  }
  nv.sync
  nv.tcgen05.dealloc %acc : memref<128x64xf32, #t>
  nv.tcgen05.dealloc %Pt : memref<128x64xf16, #t>
  return
}
