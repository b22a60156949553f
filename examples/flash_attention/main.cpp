//===- main.cpp - Checks attention ----------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../common/check.h"
#include "kernel.h"

#include <algorithm>

using namespace examples;

// With u the unit roundoff of f32, u16 that of f16, T the number of key tiles,
// and for a row: e the largest error of a score, R the range of its scores
// times scale (an exponent of two), sums over the keys that it sees.
// - A score is a sum of D products of f16, exact in f32: e = gamma(D) sum|q k|.
// - An exponent errs by scale * 2 e (the score and the largest one) and by two
//   roundings and that of scale itself, 3 u R; as a factor that is ln 2 times
//   as much. exp2 errs by one unit in the last place, 2 u:
//   x = ln2 (2 scale e + 3 u R) + 2 u.
// - A weight is such an exponential, rounded to f16 (u16; near zero by half a
//   unit of its subnormal numbers, `tiny`, while the largest weight is 1), and
//   scaled once for each later tile, with the error x and one rounding:
//   w = x + u16 + T (x + u).
// - The quotient of two sums with such weights errs by 2 w in each term; the
//   sums have at most N + T terms each, and the reciprocal is rounded, too:
//   2 gamma(N + T + 2). All of it is
//   relative to sum p|v|, because the weights are positive. The `tiny` errors
//   are absolute: N of them in each sum, at most 2 N tiny max|v| together.
// - The rounding to f16.
static std::vector<check::Expected> reference(const std::vector<f16> &q, const std::vector<f16> &k,
                                              const std::vector<f16> &v, int64_t H, int64_t M,
                                              int64_t N, int64_t D, double scale, bool causal,
                                              int64_t blockN) {
  using Half = check::Rounding<f16>;
  std::vector<check::Expected> want;
  std::vector<double> p(static_cast<size_t>(N));
  for (int64_t h = 0; h < H; ++h)
    for (int64_t i = 0; i < M; ++i) {
      int64_t seen = causal ? std::min(N, i + 1) : N;
      double top = -INFINITY, bottom = INFINITY, scoreError = 0, sum = 0;
      for (int64_t j = 0; j < seen; ++j) {
        double score = 0, magnitude = 0;
        for (int64_t d = 0; d < D; ++d) {
          double product =
              double(q[size_t((h * M + i) * D + d)]) * double(k[size_t((h * N + j) * D + d)]);
          score += product;
          magnitude += std::fabs(product);
        }
        p[size_t(j)] = score * scale;
        top = std::max(top, p[size_t(j)]);
        bottom = std::min(bottom, p[size_t(j)]);
        scoreError = std::max(scoreError, check::gamma(double(D)) * magnitude);
      }
      for (int64_t j = 0; j < seen; ++j)
        sum += p[size_t(j)] = std::exp2(p[size_t(j)] - top);
      double tiles = double((seen + blockN - 1) / blockN), u = check::u32;
      double x = seen ? std::log(2) * (2 * scale * scoreError + 3 * u * (top - bottom)) + 2 * u : 0;
      double weight = x + Half::unit + tiles * (x + u);
      double relative = 2 * weight + 2 * check::gamma(double(seen) + tiles + 2);
      for (int64_t d = 0; d < D; ++d) {
        double y = 0, magnitude = 0, largest = 0;
        for (int64_t j = 0; j < seen; ++j) {
          double value = double(v[size_t((h * N + j) * D + d)]);
          y += p[size_t(j)] / sum * value;
          magnitude += p[size_t(j)] / sum * std::fabs(value);
          largest = std::max(largest, std::fabs(value));
        }
        double error = relative * magnitude + 2 * double(seen) * Half::tiny * largest;
        want.push_back({y, error + Half::unit * (std::fabs(y) + error) + Half::tiny});
      }
    }
  return want;
}

int main() {
  check::Cases cases("flash_attention");
  check::Random random(8);

  struct Shape {
    int64_t H, M, N, D;
    double range; ///< of queries and keys: larger ones make sharper weights
  };
  auto test = [&](const FlashAttention &attention, const auto &kernels, check::Size size,
                  Shape shape) {
    auto [H, M, N, D, range] = shape;
    auto q = check::randoms<f16>(random, H * M * D, -range, range);
    auto k = check::randoms<f16>(random, H * N * D, -range, range);
    auto v = check::randoms<f16>(random, H * N * D, -1, 1);
    f32 scale = f32(1.4426950408889634 / std::sqrt(double(D)));
    auto want = reference(q, k, v, H, M, N, D, 1.4426950408889634 / std::sqrt(double(D)),
                          attention.causal, attention.block_n);
    cases.run(std::string(attention.causal ? "causal" : "full") + " H=" + std::to_string(H) +
                  " M=" + std::to_string(M) + " N=" + std::to_string(N) +
                  " D=" + std::to_string(D) + " range " + std::to_string(int(range)),
              size, kernels, [&, H = H, M = M, N = N, D = D](const auto &kernel) {
                check::Output<f16> o(H * M * D);
                kernel(view(q, {H, M, D}), view(k, {H, N, D}), view(v, {H, N, D}), scale,
                       view(o, {H, M, D}));
                return check::compare(o, want);
              });
  };
  for (bool causal : {false, true}) {
    FlashAttention small{.block_m = 16, .block_n = 8, .dim = 16, .causal = causal};
    check::BothTargets smallTiles(small);
    for (Shape shape : {Shape{0, 4, 4, 4, 1},
                        {2, 0, 4, 4, 1},
                        {2, 5, 0, 4, 1},
                        {1, 1, 1, 1, 1},
                        {1, 3, 2, 5, 1},
                        {2, 16, 8, 16, 1},
                        {2, 48, 32, 16, 4},
                        {3, 17, 33, 13, 4},
                        {1, 40, 11, 16, 30},
                        {1, 7, 50, 9, 30}})
      test(small, smallTiles, check::Small, shape);
    FlashAttention large{.causal = causal};
    check::BothTargets largeTiles(large);
    for (Shape shape : {Shape{2, 256, 256, 64, 2}, {3, 200, 333, 60, 4}})
      test(large, largeTiles, check::Large, shape);
  }
  return cases.result();
}
