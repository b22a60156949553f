//===- EpilogueTest.cpp - Bugs on the way from tensor memory to the result -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel is V1 of examples/blackwell_matmul with small tiles: one warp loads
// and multiplies in turns, and the result takes two trips through one tile.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

enum class Epilogue {
  None,
  NoWaitForProduct,
  NoPhaseFlip,
  NoProxyFence,
  NoSyncBeforeStore,
  NoSyncBeforeReuse,
  NoWaitLoad,
  NoWaitGroup,
  NoCommitGroup,
  NoWaitAtAll,
  OtherWarpWaits,
  NoDealloc,
  DeallocTwice,
  DeallocTooEarly,
  ReadsEmptyProduct,
  FenceInElectedThread,
};

struct TwoTripMatmul {
  Epilogue bug = Epilogue::None;
  int block_m = 128, block_n = 32, block_k = 32, epilogue_n = 16;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  bool is(Epilogue one) const { return bug == one; }

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n));
    auto m0 = bm * block_m, n0 = bn * block_n;

    b.threads(128);
    auto As = b.shared<f16>(block_m, block_k), Bs = b.shared<f16>(block_n, block_k);
    auto Cs = b.shared<f16>(block_m, epilogue_n);
    auto acc = b.tcgen05.alloc<f32>(block_m, block_n); // [alloc]
    auto [loaded, multiplied] = b.mbarrier.alloc<2>({1, 1});
    Var<unsigned> phase(b, 0);

    b.warp(0, [&] {
      for (Index k0 : b.range(0, K, block_k)) {
        b.elect_one([&] { b.mbarrier.arrive_expect(loaded, As.bytes() + Bs.bytes()); });
        b.tma.load(A.at(m0, k0), As, loaded); // [load A]
        b.tma.load(B.at(n0, k0), Bs, loaded);
        b.mbarrier.wait(loaded, phase);                                  // [wait for tiles]
        b.tcgen05.mma(As, transposed(Bs), acc, {.accumulate = k0 != 0}); // [multiply]
        b.tcgen05.commit(multiplied);
        if (!is(Epilogue::NoWaitForProduct))
          b.mbarrier.wait(multiplied, phase);
        if (!is(Epilogue::NoPhaseFlip))
          phase ^= 1u;
      }
    });
    b.sync();
    auto storeSlice = [&](int64_t n) {
      auto slab = b.tcgen05.load(slice(acc, {0, n}, {block_m, epilogue_n})); // [read accumulator]
      if (!is(Epilogue::NoWaitLoad))
        b.tcgen05.wait_load();
      b.store(Cs, cast<f16>(slab)); // [write Cs]
      if (is(Epilogue::FenceInElectedThread))
        b.warp(0, [&] { b.elect_one([&] { b.fence.proxy_async(); }); });
      else if (!is(Epilogue::NoProxyFence))
        b.fence.proxy_async();
      if (!is(Epilogue::NoSyncBeforeStore))
        b.sync();
      b.warp(0, [&] {
        b.tma.store(Cs, C.at(m0, n0 + n)); // [store]
        if (!is(Epilogue::NoCommitGroup) && !is(Epilogue::NoWaitAtAll))
          b.tma.commit_group();
        if (!is(Epilogue::NoWaitGroup) && !is(Epilogue::NoWaitAtAll) &&
            !is(Epilogue::OtherWarpWaits))
          b.tma.wait_group(0, {.read = true});
      });
      if (is(Epilogue::OtherWarpWaits))
        b.warp(1, [&] { b.tma.wait_group(0, {.read = true}); });
      if (!is(Epilogue::NoSyncBeforeReuse))
        b.sync();
    };
    for (int64_t n = 0; n < block_n; n += epilogue_n)
      if (is(Epilogue::ReadsEmptyProduct))
        storeSlice(n);
      else
        b.when(K > 0, [&] { storeSlice(n); });
    if (is(Epilogue::DeallocTooEarly)) {
      b.tcgen05.dealloc(acc);
      b.when(K > 0, [&] {
        auto again = b.tcgen05.load(acc); // [read after dealloc]
        b.tcgen05.wait_load();
        b.copy(again, C.at(m0, n0));
      });
      return;
    }
    if (!is(Epilogue::NoDealloc))
      b.tcgen05.dealloc(acc); // [dealloc]
    if (is(Epilogue::DeallocTwice))
      b.tcgen05.dealloc(acc); // [second dealloc]
  }
};

class EpilogueBugs : public ::testing::TestWithParam<Case<Epilogue>> {};

TEST_P(EpilogueBugs, AreCaught) {
  expectCaught(TwoTripMatmul{.bug = GetParam().bug}, Target::sm_100a().emulated(), GetParam(),
               __FILE__);
}

constexpr Case<Epilogue> cases[] = {
    {Epilogue::NoWaitForProduct,
     "NoWaitForProduct",
     {2101, "load A", "multiply"},
     {1612, "read accumulator", "multiply"}},
    {Epilogue::NoPhaseFlip,
     "NoPhaseFlip",
     {2101, "load A", "multiply"},
     {1611, "wait for tiles"},
     7,
     Seen::InSomeTiming},
    {Epilogue::NoProxyFence, "NoProxyFence", {2102, "store", "write Cs"}},
    {Epilogue::NoSyncBeforeStore,
     "NoSyncBeforeStore",
     {2101, "store", "write Cs"},
     {1612, "store", "write Cs"}},
    {Epilogue::NoSyncBeforeReuse,
     "NoSyncBeforeReuse",
     {2101, "store", "write Cs"},
     {1612, "write Cs", "store"}},
    {Epilogue::NoWaitLoad, "NoWaitLoad", {2101, "dealloc", "read accumulator"}},
    {Epilogue::NoWaitGroup,
     "NoWaitGroup",
     {2101, "write Cs", "store"},
     {1612, "write Cs", "store"}},
    {Epilogue::NoCommitGroup,
     "NoCommitGroup",
     {2101, "write Cs", "store"},
     {1612, "write Cs", "store"}},
    {Epilogue::NoWaitAtAll, "NoWaitAtAll", {2111, "store"}, {1612, "write Cs", "store"}},
    {Epilogue::OtherWarpWaits,
     "OtherWarpWaits",
     {2101, "write Cs", "store"},
     {1612, "write Cs", "store"}},
    {Epilogue::NoDealloc, "NoDealloc", {2107, "alloc"}},
    {Epilogue::DeallocTwice, "DeallocTwice", {2107, "second dealloc"}},
    {Epilogue::DeallocTooEarly, "DeallocTooEarly", {2107, "read after dealloc"}},
    {Epilogue::ReadsEmptyProduct,
     "ReadsEmptyProduct",
     {2103, "read accumulator"},
     {1616, "read accumulator"},
     0},
    {Epilogue::FenceInElectedThread, "FenceInElectedThread", {2102, "store", "write Cs"}},
};
INSTANTIATE_TEST_SUITE_P(All, EpilogueBugs, ::testing::ValuesIn(cases), nameOf<Epilogue>);

TEST(Epilogue, IsRightWithoutBug) { expectRight(TwoTripMatmul{}, Target::sm_100a().emulated(), 3); }

} // namespace
