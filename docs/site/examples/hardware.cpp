//===- hardware.cpp - Examples of the C++ reference -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>
using namespace penstock;

// example: mbarrier.alloc, Barriers::Barriers, Barriers::operator[], mbarrier.arrive,
// mbarrier.arrive_expect, mbarrier.wait, tma.load, tma.store, tma.commit_group, tma.wait_group,
// fence.proxy_async
auto ring = [](Block &b, In<f16, 2> A, Out<f16, 2> C) {
  auto m = b.grid(ceil_div(A.size(0), 128));
  b.threads(128);
  auto As = b.shared<f16>(2, 128, 64); // two slots
  Barriers full = b.mbarrier.alloc(2), empty = b.mbarrier.alloc(2, 128);
  b.warp(0, [&] {
    b.elect_one([&] {
      b.mbarrier.arrive_expect(full[0], As[0].bytes());
      b.tma.load(A.at(m * 128, 0), As[0], full[0]);
    });
  });
  b.mbarrier.wait(full[0], mbarrier::consumer_phase);
  b.mbarrier.arrive(empty[0]); // the slot has been read
  b.fence.proxy_async();       // makes the writes of threads visible to engines
  b.sync();
  b.warp(0, [&] {
    b.elect_one([&] {
      b.tma.store(As[0], C.at(m * 128, 0));
      b.tma.commit_group();
      b.tma.wait_group(0);
    });
  });
};

// example: mbarrier.try_wait
auto probe = [](Block &b, const Barriers &full) {
  Bool ready = b.mbarrier.try_wait(full[0], 0); // does not block
  b.when(!ready, [&] { b.mbarrier.wait(full[0], 0); });
};

// example: tma.reduce
auto add = [](Block &b, const Tile<f32, 2> &sums, InOut<f32, 2> C) {
  b.elect_one([&] {
    b.tma.reduce(Sum, sums, C.at(0, 0)); // C += sums
    b.tma.commit_group();
    b.tma.wait_group(0);
  });
};

// example: named_barrier.alloc, named_barrier.sync, named_barrier.arrive
auto exchange = [](Block &b) {
  b.threads(256);
  NamedBarrier written = b.named_barrier.alloc(256);
  b.warps(0, 4, [&] { b.named_barrier.arrive(written); }); // goes on
  b.warps(4, 4, [&] { b.named_barrier.sync(written); });   // waits for both
};

// example: registers.request, registers.release
auto warpgroups = [](Block &b) {
  b.threads(256);
  b.warps(0, 4, [&] { b.registers.release(40); });  // the producer
  b.warps(4, 4, [&] { b.registers.request(232); }); // the consumer
};

// example: cp_async.load, cp_async.commit_group, cp_async.wait_group
auto ampere = [](Block &b, In<f16, 2> A) {
  b.grid(1);
  b.threads(128);
  auto As = b.shared<f16>(128, 64);
  b.cp_async.load(A.at(0, 0), As);
  b.cp_async.commit_group();
  b.cp_async.wait_group(0);
  b.sync();
};

// example: cp_async.arrive
auto arriving = [](Block &b, In<f16, 2> A, const Tile<f16, 2> &As, const Barriers &full) {
  b.cp_async.load(A.at(0, 0), As);
  b.cp_async.arrive(full[0]); // when the copies of each thread have completed
};

// example: clc.request, clc.answer
auto persistent = [](Block &b, const Barriers &answered) {
  auto answer = b.shared<i32>(4);
  b.elect_one([&] {
    b.mbarrier.arrive_expect(answered[0], 16);
    b.clc.request(answer, answered[0]);
  });
  b.mbarrier.wait(answered[0], 0);
  auto next = b.clc.answer(answer);
  b.when(next.granted, [&] { b.print("also runs block {}", {next.block}); });
};

// example: tcgen05.alloc, tcgen05.mma, tcgen05.commit, tcgen05.load, tcgen05.wait_load,
// tcgen05.dealloc
auto blackwell = [](Block &b, const Tile<f16, 2> &As, const Tile<f16, 2> &Bs,
                    const Barriers &done) {
  auto acc = b.tcgen05.alloc<f32>(128, 128);
  b.warp(0, [&] {
    b.elect_one([&] {
      b.tcgen05.mma(As, transposed(Bs), acc, {.accumulate = false});
      b.tcgen05.commit(done[0]); // arrives when the MMA has completed
    });
  });
  b.mbarrier.wait(done[0], 0);
  auto rows = b.tcgen05.load(acc);
  b.tcgen05.wait_load();
  b.tcgen05.dealloc(acc);
};

// example: tcgen05.store, tcgen05.wait_store, tcgen05.copy
auto operands = [](Block &b, const Tile<f16, 2> &P, const Tile<f16, 2> &Qs) {
  auto A = b.tcgen05.alloc<f16>(128, 64), Q = b.tcgen05.alloc<f16>(128, 64);
  b.tcgen05.store(P, A); // from registers
  b.tcgen05.wait_store();
  b.elect_one([&] { b.tcgen05.copy(Qs, Q); }); // from shared memory
  b.tcgen05.dealloc(A);
  b.tcgen05.dealloc(Q);
};

// example: wgmma.fence, wgmma.mma, wgmma.commit_group, wgmma.wait_group
auto hopper = [](Block &b, const Tile<f16, 2> &As, const Tile<f16, 2> &Bs) {
  auto acc = b.local<f32>(64, 128);
  b.wgmma.fence();
  b.wgmma.mma(As, transposed(Bs), acc, {.accumulate = false});
  b.wgmma.commit_group();
  b.wgmma.wait_group(0);
};
