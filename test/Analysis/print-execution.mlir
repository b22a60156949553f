// RUN: penstock-opt %s --nv-print-execution -verify-diagnostics

// Executing threads and completion as docs/reference/explicit.md lists them.
!A = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
!s = memref<64x64xf16, #tile.space<shared>>
!a = memref<4xi32, #tile.space<shared>>
!d = memref<64x64xf32, #tile.space<tensor>>
!r = memref<64x64xf32, #tile.space<local>>

func.func @threads() attributes {tile.kernel, nv.threads = 128 : i64, nv.cluster = 2 : i64} {
  // expected-remark @+1 {{by whole warps; synchronizes threads; sm_80 and later}}
  nv.sync
  // expected-remark @+1 {{by whole warps; completes immediately; sm_80 and later}}
  nv.warp.sync
  // expected-remark @+1 {{by the block; synchronizes threads; sm_90 and later}}
  nv.cluster.sync
  // expected-remark @+1 {{by each thread; completes immediately; sm_90 and later}}
  nv.fence.proxy_async
  // expected-remark @+1 {{by whole warpgroups; completes immediately; sm_90 and later}}
  nv.registers.request 232
  return
}

func.func @barriers(%phase: i32) attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  // expected-remark @+1 {{by each thread; completes immediately; sm_90 and later}}
  %full = nv.mbarrier.alloc "full" [128] : !nv.barriers<1>
  // expected-remark @+1 {{by each thread; completes immediately; sm_80 and later}}
  %ready = nv.named_barrier.alloc "ready" : !nv.named_barrier<128>
  // expected-remark @+1 {{by each thread; arrives on a barrier; sm_90 and later}}
  nv.mbarrier.arrive %full[%c0] : !nv.barriers<1>
  // expected-remark @+1 {{by each thread; waits for a barrier; sm_90 and later}}
  nv.mbarrier.wait %full[%c0], %phase : !nv.barriers<1>
  // expected-remark @+1 {{by whole warps; waits for a barrier; sm_80 and later}}
  nv.named_barrier.sync %ready : !nv.named_barrier<128>
  return
}

func.func @copies(%A: !A, %m: index) attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %As = tile.alloc "As" : !s
  // expected-remark @+1 {{by each thread}}
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  // expected-remark @+1 {{by one thread; completes on its mbarrier; reads a tensor, writes `As` in the layout of engines; sm_90 and later}}
  nv.tma.load %A[%m, %m] to %As, %full[%c0] : !A, !s, !nv.barriers<1>
  // expected-remark @+1 {{by one thread; completes in queue `bulk store`; reads `As` in the layout of engines, writes a tensor; sm_90 and later}}
  nv.tma.store %As to %A[%m, %m] : !s, !A
  // expected-remark @+1 {{by one thread; closes a group of queue `bulk store`}}
  nv.tma.commit_group
  // expected-remark @+1 {{by one thread; awaits groups of queue `bulk store`}}
  nv.tma.wait_group 0
  // expected-remark @+1 {{by whole warps; completes in queue `cp.async`; reads a tensor, writes `As` in the layout of engines; sm_80 and later}}
  nv.cp_async %A[%m, %m] to %As : !A, !s
  // expected-remark @+1 {{by each thread; closes a group of queue `cp.async`; sm_80 and later}}
  nv.cp_async.commit_group
  // expected-remark @+1 {{by each thread; awaits groups of queue `cp.async`; sm_80 and later}}
  nv.cp_async.wait_group 0
  // expected-remark @+1 {{by each thread; arrives on a barrier after queue `cp.async`; sm_90 and later}}
  nv.cp_async.arrive %full[%c0] : !nv.barriers<1>
  return
}

// The answer of launch control is 16 plain bytes: no swizzle.
func.func @launch_control() attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %answer = tile.alloc "answer" : !a
  // expected-remark @+1 {{by each thread}}
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  // expected-remark @+1 {{by one thread; completes on its mbarrier; writes `answer`; sm_100a only}}
  nv.clc.request %answer, %full[%c0] : !a, !nv.barriers<1>
  // expected-remark @+1 {{by each thread; completes immediately; reads `answer`; sm_100a only}}
  %granted, %block = nv.clc.answer %answer : !a
  return
}

func.func @blackwell(%more: i1) attributes {tile.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %As = tile.alloc "As" : !s
  %r = tile.alloc "r" : !r
  // expected-remark @+1 {{by each thread}}
  %full = nv.mbarrier.alloc "full" [1] : !nv.barriers<1>
  // expected-remark @+1 {{by each thread; completes immediately; sm_100a only}}
  %acc = nv.tcgen05.alloc "acc" : !d
  // expected-remark @+1 {{by one thread; completes in queue `tcgen05`; reads `As` in the layout of engines, reads `As` in the layout of engines, may read and writes `acc`; sm_100a only}}
  nv.tcgen05.mma %As, %As into %acc accumulate %more : !s, !s, !d
  // expected-remark @+1 {{by one thread; arrives on a barrier after queue `tcgen05`; sm_100a only}}
  nv.tcgen05.commit %full[%c0] : !nv.barriers<1>
  // expected-remark @+1 {{by whole warpgroups; completes immediately; reads `acc`, writes `r`; sm_100a only}}
  nv.tcgen05.load %acc to %r : !d, !r
  // expected-remark @+1 {{by whole warps; completes immediately; sm_100a only}}
  nv.tcgen05.wait_load
  // expected-remark @+1 {{by each thread; completes immediately; sm_100a only}}
  nv.tcgen05.fence
  // expected-remark @+1 {{by the block; completes immediately; sm_100a only}}
  nv.tcgen05.dealloc %acc : !d
  return
}

func.func @hopper(%more: i1) attributes {tile.kernel, nv.threads = 128 : i64} {
  %As = tile.alloc "As" : !s
  %acc = tile.alloc "acc" : !r
  // expected-remark @+1 {{by whole warps; completes immediately; sm_90a only}}
  nv.wgmma.fence
  // expected-remark @+1 {{by whole warpgroups; completes in queue `wgmma`; reads `As` in the layout of engines, reads `As` in the layout of engines, may read and writes `acc`; sm_90a only}}
  nv.wgmma.mma %As, %As into %acc accumulate %more : !s, !s, !r
  // expected-remark @+1 {{by whole warps; closes a group of queue `wgmma`; sm_90a only}}
  nv.wgmma.commit_group
  // expected-remark @+1 {{by whole warps; awaits groups of queue `wgmma`; sm_90a only}}
  nv.wgmma.wait_group 0
  return
}
