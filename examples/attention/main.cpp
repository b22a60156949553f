//===- main.cpp - Attention by hand, on the emulator ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against a reference in double precision. The weights are rounded to f16 before
// they are multiplied, but not before they are added up, and so is the result:
// each costs 2^-11 of the largest value; the powers and the sums in f32 stay
// below another 2^-11.
//
//===----------------------------------------------------------------------===//
#include "../common/check.h"
#include "blackwell.h"
#include "hopper.h"

using namespace attention;

namespace {

struct Shape {
  int64_t heads, m, n;
};

std::vector<double> reference(const Shape &shape, int64_t dim, bool causal,
                              const std::vector<f16> &q, const std::vector<f16> &k,
                              const std::vector<f16> &v) {
  std::vector<double> out(size_t(shape.heads * shape.m * dim), 0);
  for (int64_t h = 0; h < shape.heads; ++h)
    for (int64_t i = 0; i < shape.m; ++i) {
      std::vector<double> score;
      double top = -INFINITY, sum = 0;
      for (int64_t j = 0; j < shape.n && (!causal || j <= i); ++j) {
        double dot = 0;
        for (int64_t d = 0; d < dim; ++d)
          dot += double(float(q[size_t((h * shape.m + i) * dim + d)])) *
                 double(float(k[size_t((h * shape.n + j) * dim + d)]));
        score.push_back(dot / std::sqrt(double(dim)));
        top = std::max(top, score.back());
      }
      for (double &s : score)
        sum += s = std::exp(s - top);
      for (size_t j = 0; j < score.size(); ++j)
        for (int64_t d = 0; d < dim; ++d)
          out[size_t((h * shape.m + i) * dim + d)] +=
              score[j] / sum * double(float(v[size_t((h * shape.n + int64_t(j)) * dim + d)]));
    }
  return out;
}

template <class Attention> int run(const char *name, Target target) {
  int failures = 0, runs = 0;
  check::Random random(7);
  for (bool causal : {false, true}) {
    auto kernel = compile(Attention{.causal = causal}, target);
    for (Shape shape : {Shape{1, 128, 128}, Shape{2, 200, 328}, Shape{1, 8, 24}, Shape{1, 64, 0}}) {
      int64_t dim = 64, h = shape.heads, m = shape.m, n = shape.n;
      auto q = check::randoms<f16>(random, h * m * dim, -2, 2);
      auto k = check::randoms<f16>(random, h * n * dim, -2, 2);
      auto v = check::randoms<f16>(random, h * n * dim, -1, 1);
      auto want = reference(shape, dim, causal, q, k, v);
      for (uint64_t timing = 0; timing < 3; ++timing) {
        std::vector<f16> o(size_t(h * m * dim), f16(-77));
        auto problems = kernel.try_launch(
            {.completion = timing == 0   ? Completion::Eager
                           : timing == 1 ? Completion::Latest
                                         : Completion::Random,
             .seed = timing},
            view(q, {h, m, dim}), view(k, {h, n, dim}), view(v, {h, n, dim}),
            float(1.4426950408889634 / std::sqrt(double(dim))), view(o, {h, m, dim}));
        double worst = 0;
        for (size_t i = 0; i < o.size(); ++i)
          worst = std::max(worst, std::fabs(double(float(o[i])) - want[i]));
        ++runs;
        if (problems.empty() && worst <= 3 * 0x1p-11)
          continue;
        ++failures;
        std::printf("%s, causal %d, %lld heads, %lldx%lld: error %g\n%s\n", name, int(causal),
                    (long long)h, (long long)m, (long long)n, worst, to_text(problems).c_str());
      }
    }
  }
  std::printf("%s: %d runs, %d failures\n", name, runs, failures);
  return failures;
}

} // namespace

int main() {
  int failures = run<HopperAttention>("Hopper", Target::sm_90a().emulated());
  failures += run<BlackwellAttention>("Blackwell", Target::sm_100a().emulated());
  return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
