//===- main.cpp - Checks the transpose ------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../common/check.h"
#include "kernel.h"

using namespace examples;

// Nothing is rounded.
static std::vector<check::Expected> reference(const std::vector<f32> &x, int64_t M, int64_t N) {
  std::vector<check::Expected> want;
  for (int64_t n = 0; n < N; ++n)
    for (int64_t m = 0; m < M; ++m)
      want.push_back({x[size_t(m * N + n)], 0});
  return want;
}

int main() {
  check::Cases cases("transpose");
  check::Random random(1);
  check::BothTargets kernels(Transpose{.block_m = 32, .block_n = 16});

  for (auto [M, N] : {std::pair<int64_t, int64_t>{0, 5}, {1, 1}, {32, 16}, {33, 100}, {301, 512}}) {
    auto x = check::randoms<f32>(random, M * N, -100, 100);
    auto want = reference(x, M, N);
    cases.run("M=" + std::to_string(M) + " N=" + std::to_string(N),
              M < 100 ? check::Small : check::Large, kernels, [&](const auto &kernel) {
                check::Output<f32> y(M * N);
                kernel(view(x, {M, N}), view(y, {N, M}));
                return check::compare(y, want);
              });
  }
  return cases.result();
}
