//===- compile.cpp - How long compiling takes -----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// native/compile-matmul   from the C++ struct of the README to native code that
//                         can be called, when the process has compiled before;
//                         milliseconds, and the limit that we hold ourselves to
//
//===----------------------------------------------------------------------===//
#include "Measure.h"

#include <penstock/cache.h>
#include <penstock/penstock.h>

using namespace penstock;

namespace {

struct Matmul {
  int block_m = 128, block_n = 128, block_k = 64, stages = 3;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n), swizzled(8));
    auto As = b.shared<f16>(block_m, block_k);
    auto Bs = b.shared<f16>(block_n, block_k);
    auto acc = b.local<f32>(block_m, block_n);

    b.fill(acc, 0);
    for (Index ko : b.pipelined(ceil_div(K, block_k), {.num_stages = stages})) {
      b.copy(A.at(bm * block_m, ko * block_k), As);
      b.copy(B.at(bn * block_n, ko * block_k), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(bm * block_m, bn * block_n));
  }
};

} // namespace

int main(int argc, char **argv) {
  if (auto name = "native/compile-matmul"; bench::wanted(argc, argv, name)) {
    constexpr double limit = 50;
    double ms = 1e3 * bench::bestAlone([] {
                  compile(Matmul{}, Target::native(), {.cache = &KernelCache::none()});
                });
    bench::line(name, ms, limit, ms / limit, "ms (limit)");
  }
}
