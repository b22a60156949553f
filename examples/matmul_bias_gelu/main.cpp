//===- main.cpp - Checks the linear layer with GELU -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../common/check.h"
#include "kernel.h"

using namespace examples;

// With u the unit roundoff of f32:
// - products of two f16 numbers are exact in f32; their sum errs by at most
//   gamma(K) times the sum of their magnitudes, in whatever order it is taken;
//   the bias adds one rounding;
// - the slope of gelu is below 1.13, so x's error grows by at most that much;
// - inside gelu: x / sqrt 2 errs by 2 u, which changes erf by less than u (its
//   slope times its argument is below 0.49); erf itself errs by one unit in
//   the last place, 2 u, and the sum with 1, which is at most 2, by 2 u: 5 u,
//   times |x| / 2. Two more products make 2 u of the result;
// - the rounding to f16.
static std::vector<check::Expected> reference(const std::vector<f16> &a, const std::vector<f16> &b,
                                              const std::vector<f16> &bias, int64_t M, int64_t N,
                                              int64_t K) {
  std::vector<double> wideA(a.begin(), a.end()), wideB(b.begin(), b.end());
  std::vector<check::Expected> want;
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < N; ++j) {
      double x = double(bias[size_t(j)]), magnitude = 0;
      for (int64_t k = 0; k < K; ++k) {
        double product = wideA[size_t(i * K + k)] * wideB[size_t(j * K + k)];
        x += product;
        magnitude += std::fabs(product);
      }
      double y = x * 0.5 * (1 + std::erf(x * std::sqrt(0.5)));
      double sumError = check::gamma(double(K)) * magnitude;
      sumError += check::gamma(1) * (std::fabs(x) + sumError);
      double error = 1.13 * sumError + check::gamma(5) * (std::fabs(x) + sumError) / 2 +
                     check::gamma(2) * std::fabs(y);
      want.push_back({y, error + check::Rounding<f16>::unit * (std::fabs(y) + error) +
                             check::Rounding<f16>::tiny});
    }
  return want;
}

int main() {
  check::Cases cases("matmul_bias_gelu");
  check::Random random(4);
  MatmulBiasGelu small{.block_m = 32, .block_n = 16, .block_k = 16, .stages = 3, .group = 2};
  check::BothTargets smallTiles(small);
  check::BothTargets largeTiles(MatmulBiasGelu{});

  struct Shape {
    int64_t M, N, K;
  };
  auto test = [&](const char *tiles, const auto &kernels, check::Size size, Shape shape) {
    auto [M, N, K] = shape;
    auto a = check::randoms<f16>(random, M * K, -1, 1);
    auto b = check::randoms<f16>(random, N * K, -1, 1);
    auto bias = check::randoms<f16>(random, N, -2, 2);
    auto want = reference(a, b, bias, M, N, K);
    cases.run("M=" + std::to_string(M) + " N=" + std::to_string(N) + " K=" + std::to_string(K) +
                  " " + tiles + " tiles",
              size, kernels, [&, M = M, N = N, K = K](const auto &kernel) {
                check::Output<f16> c(M * N);
                kernel(view(a, {M, K}), view(b, {N, K}), view(bias, {N}), view(c, {M, N}));
                return check::compare(c, want);
              });
  };
  for (Shape shape : {Shape{0, 3, 4},
                      {3, 0, 4},
                      {3, 4, 0},
                      {1, 1, 1},
                      {5, 3, 2},
                      {32, 16, 16},
                      {64, 96, 48},
                      {33, 17, 15},
                      {70, 81, 35},
                      {1, 100, 64}})
    test("small", smallTiles, check::Small, shape);
  for (Shape shape : {Shape{256, 256, 128}, {129, 130, 65}, {300, 200, 500}})
    test("large", largeTiles, check::Large, shape);
  return cases.result();
}
