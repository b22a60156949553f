//===- main.cpp - Checks the grouped matrix product -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../common/check.h"
#include "kernel.h"

#include <numeric>

using namespace examples;

// Products of f16 are exact in f32; their sum errs by gamma(K) times the sum of
// their magnitudes, and the result is rounded to f16.
static std::vector<check::Expected> reference(const std::vector<f16> &a, const std::vector<f16> &b,
                                              const std::vector<i32> &rows, int64_t N, int64_t K) {
  std::vector<check::Expected> want;
  int64_t row = 0;
  for (size_t g = 0; g < rows.size(); ++g)
    for (int64_t last = row + rows[g]; row < last; ++row)
      for (int64_t j = 0; j < N; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t k = 0; k < K; ++k) {
          double product =
              double(a[size_t(row * K + k)]) * double(b[size_t((int64_t(g) * N + j) * K + k)]);
          sum += product;
          magnitude += std::fabs(product);
        }
        double error = check::gamma(double(K)) * magnitude;
        want.push_back({sum, error + check::Rounding<f16>::unit * (std::fabs(sum) + error) +
                                 check::Rounding<f16>::tiny});
      }
  return want;
}

int main() {
  check::Cases cases("grouped_matmul");
  check::Random random(5);
  check::BothTargets kernels(GroupedMatmul{.block_m = 16, .block_n = 32, .block_k = 16});

  struct Case {
    std::vector<i32> rows;
    int64_t N, K;
  };
  std::vector<Case> all = {
      {{}, 4, 4},     // no group at all
      {{0, 0}, 4, 4}, // groups without rows
      {{1}, 1, 1},
      {{16, 32, 16}, 64, 32},      // everything divides
      {{5, 0, 17, 1, 30}, 33, 19}, // nothing does
      {{3, 4}, 7, 0},              // empty sums
      {{40, 2, 0, 9}, 0, 8},       // no columns
      {{1, 1, 1, 1, 1, 1, 1, 1, 1}, 5, 40},
  };
  std::vector<Case> large = {{{300, 0, 17, 129, 64, 1}, 200, 150}};
  auto test = [&](const Case &c, check::Size size) {
    int64_t T = std::accumulate(c.rows.begin(), c.rows.end(), int64_t(0));
    int64_t G = int64_t(c.rows.size()), N = c.N, K = c.K;
    auto a = check::randoms<f16>(random, T * K, -1, 1);
    auto b = check::randoms<f16>(random, G * N * K, -1, 1);
    auto want = reference(a, b, c.rows, N, K);
    cases.run("G=" + std::to_string(G) + " T=" + std::to_string(T) + " N=" + std::to_string(N) +
                  " K=" + std::to_string(K),
              size, kernels, [&](const auto &kernel) {
                check::Output<f16> out(T * N);
                kernel(view(a, {T, K}), view(b, {G, N, K}), view(c.rows, {G}), view(out, {T, N}));
                return check::compare(out, want);
              });
  };
  for (const Case &c : all)
    test(c, check::Small);
  for (const Case &c : large)
    test(c, check::Large);

  // Rows that do not add up are reported by the launch.
  cases.run("wrong row counts are reported", check::Small, kernels, [&](const auto &kernel) {
    std::vector<f16> a(8 * 4), b(2 * 4 * 4), c(8 * 4);
    std::vector<i32> rows = {3, 4};
    check::Outcome outcome;
    auto faults = kernel.try_launch({}, view(a, {8, 4}), view(b, {2, 4, 4}), view(rows, {2}),
                                    view(c, {8, 4}));
    if (faults.empty() || faults[0].message.find("rows of all groups") == std::string::npos)
      outcome.fail("no fault, or another one: " + penstock::to_text(faults));
    return outcome;
  });
  return cases.result();
}
