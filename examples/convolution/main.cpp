//===- main.cpp - Checks the convolution ----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../common/check.h"
#include "kernel.h"

using namespace examples;

namespace {

struct Sizes {
  int64_t B, H, W, C, O;
};

// Products of f16 are exact in f32; their sum errs by gamma(9 C) times the sum of their
// magnitudes, and the result is rounded to f16.
std::vector<check::Expected> reference(const std::vector<f16> &x, const std::vector<f16> &f,
                                       const Sizes &s) {
  std::vector<check::Expected> want;
  for (int64_t image = 0; image < s.B; ++image)
    for (int64_t y = 0; y < s.H; ++y)
      for (int64_t w = 0; w < s.W; ++w)
        for (int64_t o = 0; o < s.O; ++o) {
          double sum = 0, magnitude = 0;
          for (int64_t dy = -1; dy <= 1; ++dy)
            for (int64_t dx = -1; dx <= 1; ++dx) {
              if (y + dy < 0 || y + dy >= s.H || w + dx < 0 || w + dx >= s.W)
                continue;
              for (int64_t c = 0; c < s.C; ++c) {
                double pixel = double(x[size_t(((image * s.H + y + dy) * s.W + w + dx) * s.C + c)]);
                double factor = double(f[size_t((o * 9 + (dy + 1) * 3 + dx + 1) * s.C + c)]);
                sum += pixel * factor;
                magnitude += std::fabs(pixel * factor);
              }
            }
          double error = check::gamma(double(9 * s.C)) * magnitude;
          want.push_back({sum, error + check::Rounding<f16>::unit * (std::fabs(sum) + error) +
                                   check::Rounding<f16>::tiny});
        }
  return want;
}

} // namespace

int main() {
  check::Cases cases("convolution");
  check::Random random(6);
  check::BothTargets kernels(
      Convolution{.block_h = 3, .block_w = 16, .block_n = 16, .block_k = 16});
  auto test = [&](const Sizes &s, check::Size size) {
    auto x = check::randoms<f16>(random, s.B * s.H * s.W * s.C, -1, 1);
    auto f = check::randoms<f16>(random, s.O * 9 * s.C, -1, 1);
    auto want = reference(x, f, s);
    cases.run("B=" + std::to_string(s.B) + " H=" + std::to_string(s.H) + " W=" +
                  std::to_string(s.W) + " C=" + std::to_string(s.C) + " O=" + std::to_string(s.O),
              size, kernels, [&](const auto &kernel) {
                check::Output<f16> out(s.B * s.H * s.W * s.O);
                kernel(view(x, {s.B, s.H, s.W, s.C}), view(f, {s.O, 9, s.C}),
                       view(out, {s.B, s.H, s.W, s.O}));
                return check::compare(out, want);
              });
  };
  for (const Sizes &s : std::vector<Sizes>{{1, 1, 1, 1, 1},
                                           {2, 6, 16, 16, 16}, // everything divides
                                           {1, 4, 19, 5, 17},  // nothing does
                                           {1, 2, 3, 0, 4},    // empty sums
                                           {0, 4, 4, 4, 4}})
    test(s, check::Small);
  test({2, 14, 14, 64, 32}, check::Large);
  return cases.result();
}
