//===- main.cpp - Checks layer normalization ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../common/check.h"
#include "kernel.h"

using namespace examples;

// With u the unit roundoff of f32:
// - the mean errs by em = gamma(N + 1) mean|x|: N - 1 additions, one division,
//   and the rounding of N;
// - squares about a mean that is off by em have the mean variance + em^2,
//   exactly; each is two roundings of the difference, one of the square, and
//   the sum and its division make N + 1 more: gamma(N + 5) of it, and one
//   rounding when eps is added. 1 / sqrt halves a relative error and adds three
//   roundings;
// - the result: em itself scaled, five roundings, one of them of the final sum;
//   and the rounding to bf16, which dominates.
static std::vector<check::Expected> reference(const std::vector<bf16> &x,
                                              const std::vector<f32> &gamma,
                                              const std::vector<f32> &beta, double eps, int64_t M,
                                              int64_t N) {
  std::vector<check::Expected> want;
  for (int64_t i = 0; i < M; ++i) {
    const bf16 *row = x.data() + i * N;
    double mean = 0, magnitude = 0, variance = 0;
    for (int64_t j = 0; j < N; ++j) {
      mean += double(row[j]) / double(N);
      magnitude += std::fabs(double(row[j])) / double(N);
    }
    for (int64_t j = 0; j < N; ++j)
      variance += (row[j] - mean) * (row[j] - mean) / double(N);
    double meanError = check::gamma(double(N) + 1) * magnitude;
    double varianceError = meanError * meanError +
                           check::gamma(double(N) + 6) * (variance + meanError * meanError + eps);
    double scale = 1 / std::sqrt(variance + eps);
    // A relative error d of the radicand, below 1/2, is one of at most d after
    // the inverse root.
    double relative = varianceError / (variance + eps) + check::gamma(3);
    for (int64_t j = 0; j < N; ++j) {
      double g = gamma[size_t(j)], product = (row[j] - mean) * scale * g;
      double y = product + beta[size_t(j)];
      double error = meanError * scale * std::fabs(g) * (1 + relative) +
                     std::fabs(product) * (relative + check::gamma(4)) +
                     check::gamma(1) * std::fabs(y);
      want.push_back({y, error + check::Rounding<bf16>::unit * (std::fabs(y) + error)});
    }
  }
  return want;
}

int main() {
  check::Cases cases("layer_norm");
  check::Random random(3);
  check::BothTargets kernels(LayerNorm{.block_m = 8, .block_n = 32});
  const f32 eps = 1e-5f;

  struct Case {
    int64_t M, N;
    double low, high;
  };
  for (auto [M, N, low, high] : {Case{0, 5, -1, 1},
                                 {5, 0, -1, 1},
                                 {1, 1, -1, 1},
                                 {3, 7, -1, 1},
                                 {8, 32, -1, 1},
                                 {9, 33, -1, 1},
                                 {32, 128, -1, 1},
                                 {21, 301, -4, 4},
                                 {5, 65, 250, 256},
                                 {4, 40, 1.5, 1.5},
                                 {203, 4099, -1, 1}}) {
    auto x = check::randoms<bf16>(random, M * N, low, high);
    auto gamma = check::randoms<f32>(random, N, 0.5, 1.5);
    auto beta = check::randoms<f32>(random, N, -1, 1);
    auto want = reference(x, gamma, beta, eps, M, N);
    cases.run("M=" + std::to_string(M) + " N=" + std::to_string(N) + " x in [" +
                  std::to_string(low) + ", " + std::to_string(high) + ")",
              M * N < 20000 ? check::Small : check::Large, kernels, [&](const auto &kernel) {
                check::Output<bf16> y(M * N);
                kernel(view(x, {M, N}), view(gamma, {N}), view(beta, {N}), eps, view(y, {M, N}));
                return check::compare(y, want);
              });
  }
  return cases.result();
}
