//===- main.cpp - Checks the vector sum -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../common/check.h"
#include "kernel.h"

using namespace examples;

// The sum of two floats is rounded once, so the error is at most u |a + b|
// (and zero for subnormal sums, which are always exact).
static std::vector<check::Expected> reference(const std::vector<f32> &a,
                                              const std::vector<f32> &b) {
  std::vector<check::Expected> want;
  for (size_t i = 0; i < a.size(); ++i) {
    double sum = double(a[i]) + double(b[i]);
    want.push_back({sum, check::u32 * std::fabs(sum)});
  }
  return want;
}

int main() {
  check::Cases cases("vector_add");
  check::Random random(1);
  check::BothTargets kernels(VectorAdd{.block = 256});

  for (int64_t n : {0, 1, 2, 255, 256, 257, 1000, 4096, 1'000'003}) {
    auto a = check::randoms<f32>(random, n, -100, 100);
    auto b = check::randoms<f32>(random, n, -1, 1);
    if (n >= 256) { // special values, in the first tile
      a[0] = infinity, b[0] = 1;
      a[1] = infinity, b[1] = -infinity;  // NaN
      a[2] = 0x1p-149f, b[2] = 0x1p-148f; // subnormal
      a[3] = 3e38f, b[3] = 1e30f;
    }
    auto want = reference(a, b);
    cases.run("n=" + std::to_string(n), n < 5000 ? check::Small : check::Large, kernels,
              [&](const auto &kernel) {
                check::Output<f32> c(n);
                kernel(view(a, {n}), view(b, {n}), view(c, {n}));
                return check::compare(c, want);
              });
  }
  return cases.result();
}
