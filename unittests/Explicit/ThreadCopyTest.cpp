//===- ThreadCopyTest.cpp - Bugs around copies by threads -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel is V0 of examples/blackwell_matmul with small tiles: all threads
// copy with cp.async, one multiplies.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

enum class Copies { None, NoWait, NoCommit, OneGroupLeft, NoProxyFence, NoSync, NoWaitForProduct };

struct CopyingMatmul {
  Copies bug = Copies::None;
  int block_m = 128, block_n = 32, block_k = 32;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  bool is(Copies one) const { return bug == one; }

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n));
    auto m0 = bm * block_m, n0 = bn * block_n;

    b.threads(128);
    auto As = b.shared<f16>(block_m, block_k), Bs = b.shared<f16>(block_n, block_k);
    auto acc = b.tcgen05.alloc<f32>(block_m, block_n);
    auto [done] = b.mbarrier.alloc<1>({1});
    Var<unsigned> phase(b, 0);

    for (Index k0 : b.range(0, K, block_k)) {
      b.cp_async.load(A.at(m0, k0), As); // [copy A]
      b.cp_async.load(B.at(n0, k0), Bs);
      if (!is(Copies::NoCommit))
        b.cp_async.commit_group();
      if (!is(Copies::NoWait))
        b.cp_async.wait_group(is(Copies::OneGroupLeft) ? 1 : 0);
      if (!is(Copies::NoProxyFence))
        b.fence.proxy_async();
      if (!is(Copies::NoSync))
        b.sync();
      b.warp(0, [&] {
        b.tcgen05.mma(As, transposed(Bs), acc, {.accumulate = k0 != 0}); // [multiply]
        b.tcgen05.commit(done);
      });
      if (!is(Copies::NoWaitForProduct))
        b.mbarrier.wait(done, phase);
      phase ^= 1u;
    }
    if (is(Copies::NoWaitForProduct))
      b.sync();
    b.when(K > 0, [&] {
      auto all = b.tcgen05.load(acc); // [read accumulator]
      b.tcgen05.wait_load();
      b.copy(all, C.at(m0, n0));
    });
    b.sync();
    b.tcgen05.dealloc(acc);
  }
};

class CopyBugs : public ::testing::TestWithParam<Case<Copies>> {};

TEST_P(CopyBugs, AreCaught) {
  expectCaught(CopyingMatmul{.bug = GetParam().bug}, Target::sm_100a().emulated(), GetParam(),
               __FILE__);
}

constexpr Case<Copies> cases[] = {
    {Copies::NoWait, "NoWait", {2101, "multiply", "copy A"}, {1612, "multiply", "copy A"}},
    {Copies::NoCommit, "NoCommit", {2101, "multiply", "copy A"}, {1612, "multiply", "copy A"}},
    {Copies::OneGroupLeft,
     "OneGroupLeft",
     {2101, "multiply", "copy A"},
     {1612, "multiply", "copy A"}},
    {Copies::NoProxyFence, "NoProxyFence", {2102, "multiply", "copy A"}},
    {Copies::NoSync, "NoSync", {2101, "multiply", "copy A"}, {1612, "copy A", "multiply"}},
    {Copies::NoWaitForProduct,
     "NoWaitForProduct",
     {2101, "copy A", "multiply"},
     {1612, "read accumulator", "multiply"}},
};
INSTANTIATE_TEST_SUITE_P(All, CopyBugs, ::testing::ValuesIn(cases), nameOf<Copies>);

TEST(Copies, AreRightWithoutBug) { expectRight(CopyingMatmul{}, Target::sm_100a().emulated(), 3); }

} // namespace
