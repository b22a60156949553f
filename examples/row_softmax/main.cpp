//===- main.cpp - Checks the softmax of rows ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../common/check.h"
#include "kernel.h"

#include <algorithm>

using namespace examples;

// With u the unit roundoff of f32, R the range of the row's finite elements and
// T the number of pieces in which the row is read:
// - exp(x - top): the difference errs by u R at most, which exp turns into a
//   relative error; exp itself errs by 1 unit in the last place, 2 u.
// - the sum: each of T pieces may scale the sum so far by exp(old - top), with
//   the error of an exponential and two roundings; a piece of block_n terms
//   adds gamma(block_n); the terms are exponentials themselves.
// - the reciprocal of the sum and the product with it: a rounding each.
// Near zero, exp and the product err by a unit of the subnormal numbers each.
static std::vector<check::Expected> reference(const std::vector<f32> &x, int64_t M, int64_t N,
                                              int64_t blockN) {
  std::vector<check::Expected> want;
  for (int64_t i = 0; i < M; ++i) {
    const f32 *row = x.data() + i * N;
    double top = -INFINITY, bottom = INFINITY, sum = 0;
    for (int64_t j = 0; j < N; ++j) {
      top = std::max(top, double(row[j]));
      if (std::isfinite(row[j]))
        bottom = std::min(bottom, double(row[j]));
    }
    for (int64_t j = 0; j < N; ++j)
      sum += std::exp(row[j] - top);
    double range = std::isfinite(top) ? top - bottom : 0;
    double exponential = range + 2, pieces = double((N + blockN - 1) / blockN);
    double units = exponential + (pieces * (exponential + 2) + double(blockN) + exponential) + 2;
    for (int64_t j = 0; j < N; ++j) {
      double y = std::exp(row[j] - top) / sum;
      want.push_back({y, check::gamma(units) * y + 4 * check::Rounding<f32>::tiny});
    }
  }
  return want;
}

int main() {
  check::Cases cases("row_softmax");
  check::Random random(2);
  RowSoftmax softmax{.block_m = 8, .block_n = 32};
  check::BothTargets kernels(softmax);

  struct Shape {
    int64_t M, N;
  };
  for (auto [M, N] : {Shape{0, 5},
                      {5, 0},
                      {1, 1},
                      {3, 7},
                      {8, 32},
                      {9, 33},
                      {40, 256},
                      {21, 301},
                      {1, 1000},
                      {301, 5003}}) {
    auto x = check::randoms<f32>(random, M * N, -30, 30);
    auto want = reference(x, M, N, softmax.block_n);
    cases.run("M=" + std::to_string(M) + " N=" + std::to_string(N),
              M * N < 20000 ? check::Small : check::Large, kernels, [&](const auto &kernel) {
                check::Output<f32> y(M * N);
                kernel(view(x, {M, N}), view(y, {M, N}));
                return check::compare(y, want);
              });
  }

  // Rows that a careless kernel gets wrong.
  const int64_t M = 6, N = 70;
  auto x = check::randoms<f32>(random, M * N, -1, 1);
  auto row = [&](int64_t i) { return x.begin() + i * N; };
  std::fill(row(0), row(0) + 40,
            -infinity);                 // masked pieces before the first number
  std::fill(row(1), row(2), -infinity); // all masked: 0 / 0, NaN
  *(row(2) + 50) = infinity;            // infinity - infinity, NaN
  *(row(3) + 69) = std::nanf("");       // NaN spreads over its row only
  std::fill(row(4), row(5), 3e38f);     // must not overflow
  *(row(5) + 3) = 120;                  // the others underflow
  auto want = reference(x, M, N, softmax.block_n);
  for (int64_t j = 0; j < N; ++j) // std::max ignores NaN
    want[size_t(3 * N + j)].value = NAN;
  cases.run("special rows", check::Small, kernels, [&](const auto &kernel) {
    check::Output<f32> y(M * N);
    kernel(view(x, {M, N}), view(y, {M, N}));
    return check::compare(y, want);
  });
  return cases.result();
}
