//===- WarpgroupTest.cpp - Bugs of Hopper's kernels -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel is that of examples/hopper_matmul with small tiles and one product
// under way when a slot is given back.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

#include <penstock/pipeline.h>

using namespace bugs;

namespace {

enum class Warpgroup {
  None,
  NoFence,
  NoCommit,
  NoWaitGroup,
  NoFinalWait,
  ReleasesSlotInUse,
  ReleasesNothing,
  CountsWarps,
  CountsOneThread,
  OneThreadReleases,
  NoWaitForFull,
  TooFewBytes,
  ReadsAccumulatorInLoop,
  NoProxyFence,
  NoSyncBeforeStore,
  NoWaitForStore,
  TailOfSlots,
};

struct WarpgroupMatmul {
  Warpgroup bug = Warpgroup::None;
  int block_m = 128, block_n = 32, block_k = 32, stages = 3, consumers = 2;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  bool is(Warpgroup one) const { return bug == one; }

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n));
    auto m0 = bm * block_m, n0 = bn * block_n;
    auto tiles = ceil_div(K, block_k);

    b.threads(128 + 128 * consumers);
    auto As = b.shared<f16>(stages, block_m, block_k);
    auto Bs = b.shared<f16>(stages, block_n, block_k);
    auto Cs = b.shared<f16>(block_m, block_n);
    auto acc = b.local<f32>(block_m, block_n);
    int arrivals = is(Warpgroup::CountsWarps)       ? 4 * consumers
                   : is(Warpgroup::CountsOneThread) ? 1
                                                    : 128 * consumers;
    int64_t bytes = As[0].bytes() + (is(Warpgroup::TooFewBytes) ? 0 : Bs[0].bytes());
    TmaPipeline pipe(b, stages, bytes, arrivals);

    b.warp(0, [&] {
      PipelineState state = pipe.producer_state();
      for (Index k : b.range(tiles)) {
        pipe.producer_acquire(state); // [acquire]
        Barrier full = pipe.producer_barrier(state);
        b.tma.load(A.at(m0, k * block_k), As[state.index], full); // [load A]
        b.tma.load(B.at(n0, k * block_k), Bs[state.index], full); // [load B]
        state.advance();
      }
      if (is(Warpgroup::TailOfSlots))
        for (int i = 0; i < stages; ++i) {
          pipe.producer_acquire(state); // [tail]
          state.advance();
        }
    });
    b.warps(4, 4 * consumers, [&] {
      b.fill(acc, 0);
      PipelineState state = pipe.consumer_state(), release = state.clone();
      for (Index k : b.range(tiles)) {
        if (!is(Warpgroup::NoWaitForFull))
          pipe.consumer_wait(state); // [wait for full]
        if (!is(Warpgroup::NoFence))
          b.wgmma.fence();
        b.wgmma.mma(As[state.index], transposed(Bs[state.index]), acc); // [multiply]
        if (!is(Warpgroup::NoCommit))
          b.wgmma.commit_group();
        if (!is(Warpgroup::NoWaitGroup))
          b.wgmma.wait_group(1);
        if (is(Warpgroup::ReadsAccumulatorInLoop))
          b.store(Cs, cast<f16>(acc));                           // [read in loop]
        auto giveBack = [&] { pipe.consumer_release(release); }; // [release]
        if (is(Warpgroup::ReleasesSlotInUse))
          pipe.consumer_release(state);
        else if (!is(Warpgroup::ReleasesNothing))
          b.when(k >= 1, [&] {
            if (is(Warpgroup::OneThreadReleases))
              b.elect_one(giveBack);
            else
              giveBack();
            release.advance();
          });
        state.advance();
      }
      if (!is(Warpgroup::NoFinalWait))
        b.wgmma.wait_group(0);
      b.store(Cs, cast<f16>(acc)); // [write Cs]
      if (!is(Warpgroup::NoProxyFence))
        b.fence.proxy_async();
      if (!is(Warpgroup::NoSyncBeforeStore))
        b.sync();
      b.tma.store(Cs, C.at(m0, n0)); // [store]
      b.tma.commit_group();
      if (!is(Warpgroup::NoWaitForStore))
        b.tma.wait_group(0);
    });
  }
};

class WarpgroupBugs : public ::testing::TestWithParam<Case<Warpgroup>> {};

TEST_P(WarpgroupBugs, AreCaught) {
  expectCaught(WarpgroupMatmul{.bug = GetParam().bug}, Target::sm_90a().emulated(), GetParam(),
               __FILE__);
}

constexpr Case<Warpgroup> cases[] = {
    {Warpgroup::NoFence, "NoFence", {2112, "multiply"}},
    {Warpgroup::NoCommit, "NoCommit", {2101, "load A", "multiply"}, {1612, "load A", "multiply"}},
    {Warpgroup::NoWaitGroup,
     "NoWaitGroup",
     {2101, "load A", "multiply"},
     {1612, "load A", "multiply"}},
    {Warpgroup::NoFinalWait, "NoFinalWait", {2112, "write Cs"}},
    {Warpgroup::ReleasesSlotInUse,
     "ReleasesSlotInUse",
     {2101, "load A", "multiply"},
     {1612, "load A", "multiply"}},
    {Warpgroup::ReleasesNothing,
     "ReleasesNothing",
     {2110, "acquire"},
     {1611, "acquire", "wait for full"}},
    {Warpgroup::CountsWarps, "CountsWarps", {2110, "acquire"}, {1614, "release"}},
    {Warpgroup::CountsOneThread, "CountsOneThread", {2110, "acquire"}, {1614, "release"}},
    {Warpgroup::OneThreadReleases,
     "OneThreadReleases",
     {2110, "acquire"},
     {1611, "acquire", "wait for full"}},
    {Warpgroup::NoWaitForFull,
     "NoWaitForFull",
     {2101, "load A", "multiply"},
     {1612, "multiply", "load A"}},
    {Warpgroup::TooFewBytes,
     "TooFewBytes",
     {2101, "load B", "multiply"},
     {1613, "acquire", "load B"},
     7,
     Seen::InSomeTiming},
    {Warpgroup::ReadsAccumulatorInLoop, "ReadsAccumulatorInLoop", {2112, "read in loop"}},
    {Warpgroup::NoProxyFence, "NoProxyFence", {2102, "store", "write Cs"}},
    {Warpgroup::NoSyncBeforeStore, "NoSyncBeforeStore", {2101, "store", "write Cs"}},
    {Warpgroup::NoWaitForStore, "NoWaitForStore", {2111, "store"}},
    {Warpgroup::TailOfSlots, "TailOfSlots", {2110, "tail"}, {1613, "tail"}},
};
INSTANTIATE_TEST_SUITE_P(All, WarpgroupBugs, ::testing::ValuesIn(cases), nameOf<Warpgroup>);

TEST(Warpgroup, IsRightWithoutBug) {
  expectRight(WarpgroupMatmul{}, Target::sm_90a().emulated(), 7);
}

} // namespace
