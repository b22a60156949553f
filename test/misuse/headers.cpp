//===- headers.cpp - The headers and kernels of all kinds, without a warning -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// NO WARNINGS
#include <penstock/assemble.h>
#include <penstock/check.h>
#include <penstock/inspect.h>
#include <penstock/penstock.h>
#include <penstock/pipeline.h>

using namespace penstock;

namespace {

struct Everything {
  int rows = 16, columns = 32;
  static constexpr auto signature = "A[M,N], ids[N], scale, n -> C[M,N], H[K]";

  void operator()(Block &b, In<f16, 2> A, In<i32, 1> ids, Scalar<f32> scale, Index n, Out<f32, 2> C,
                  InOut<i32, 1> H) const {
    auto [bm, bn] = b.grid(ceil_div(A.size(0), rows), ceil_div(A.size(1), columns), swizzled(2));
    auto As = b.shared<f16>(rows, columns);
    auto ring = b.shared<f16>(2, rows, columns);
    auto acc = b.local<f32>(rows, rows);
    auto t = b.local<f32>(rows, columns);
    auto v = b.local<f32>(rows);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(A.size(1), columns), {.num_stages = 2})) {
      b.copy(A.at(bm * rows, k * columns), As);
      b.gemm(As, transposed(As), acc);
    }
    Var<int> count(b, 0);
    for (Index i : b.range(0, n, 2, {.unroll = 2})) {
      b.when((i > 3 && !(i == n)) || count < 4, [&] { count += 1; }, [&] { count = cast<int>(i); });
      b.copy(A.at(bm * rows, i), ring[i % 2], {.async = "next"});
      b.wait("next");
    }
    b.set(t, where(row(t) + bm * rows >= col(t) && cast<f32>(ring[0]) > 0, exp2(t * scale),
                   -infinity));
    b.reduce(Max, t, 1, v);
    b.set(t, max(t - ::penstock::broadcast_rows(v), 0) + cast<f32>(ids.gather(col(t))));
    b.parallel(rows, [&](Index i) { b.atomic(Add, H.at(i), ids.load(i) + count); });
    auto q = fast_divmod(n, A.size(0));
    b.store(v, q.remainder, select(n > 4, scale, 1.0f));
    b.print("{} {}", {q.quotient, count});
    b.require(bn < 1000, "too many");
    b.copy(t, C.at(bm * rows, bn * columns));
  }
};

struct Explicit {
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    b.threads(256);
    auto As = b.shared<f16>(2, 64, 64), Bs = b.shared<f16>(2, 64, 64);
    auto acc = b.local<f32>(64, 64);
    TmaPipeline pipe(b, 2, As[0].bytes() + Bs[0].bytes(), 128);
    auto steps = ceil_div(A.size(1), 64);
    b.warp(4, [&] {
      auto state = pipe.producer_state();
      for (Index k : b.range(steps)) {
        pipe.producer_acquire(state);
        b.tma.load(A.at(0, k * 64), As[state.index], pipe.producer_barrier(state));
        b.tma.load(B.at(0, k * 64), Bs[state.index], pipe.producer_barrier(state));
        state.advance();
      }
    });
    b.warps(0, 4, [&] {
      auto state = pipe.consumer_state();
      b.fill(acc, 0);
      for (Index k : b.range(steps)) {
        pipe.consumer_wait(state);
        b.wgmma.fence();
        b.wgmma.mma(As[state.index], transposed(Bs[state.index]), acc);
        b.wgmma.commit_group();
        b.wgmma.wait_group(0);
        pipe.consumer_release(state);
        state.advance();
        b.when(k == 0, [&] { b.sync(); });
      }
      b.copy(acc, C.at(0, 0));
    });
  }
};

} // namespace

void run(std::vector<float> &c, std::vector<f16> &a);
void run(std::vector<float> &c, std::vector<f16> &a) {
  auto kernel = try_compile(Explicit{}, Target::sm_90a().emulated());
  kernel.kernel(view(a, {64, 64}), view(a, {64, 64}), view(c, {64, 64}));
  (void)try_compile(Everything{}, Target::native());
}
PENSTOCK_KERNEL(Everything, rows, columns);
