//===- main.cpp - Attention by hand, on the emulator ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against a reference in double precision, within the bound that reference.h
// derives.
//
//===----------------------------------------------------------------------===//
#include "../common/check.h"
#include "blackwell.h"
#include "hopper.h"
#include "reference.h"

using namespace attention;

namespace {

struct Shape {
  int64_t heads, m, n, dim = 64;
};

template <class Attention> int run(const char *name, Target target) {
  int failures = 0, runs = 0;
  check::Random random(7);
  for (bool causal : {false, true}) {
    auto kernel = compile(Attention{.causal = causal}, target);
    for (Shape shape : {Shape{1, 128, 128}, Shape{2, 200, 328}, Shape{1, 8, 24}, Shape{1, 64, 0},
                        Shape{1, 40, 72, 48}}) {
      auto [h, m, n, dim] = shape;
      auto q = check::randoms<f16>(random, h * m * dim, -2, 2);
      auto k = check::randoms<f16>(random, h * n * dim, -2, 2);
      auto v = check::randoms<f16>(random, h * n * dim, -1, 1);
      float scale = float(1.4426950408889634 / std::sqrt(double(dim)));
      std::vector<double> want = attend(view(q, {h, m, dim}), view(k, {h, n, dim}),
                                        view(v, {h, n, dim}), double(scale), causal);
      for (uint64_t timing = 0; timing < 3; ++timing) {
        std::vector<f16> o(size_t(h * m * dim), f16(-77));
        auto problems = kernel.try_launch({.completion = timing == 0   ? Completion::Eager
                                                         : timing == 1 ? Completion::Latest
                                                                       : Completion::Random,
                                           .seed = timing},
                                          view(q, {h, m, dim}), view(k, {h, n, dim}),
                                          view(v, {h, n, dim}), scale, view(o, {h, m, dim}));
        double worst = 0;
        for (size_t i = 0; i < o.size(); ++i)
          worst = std::max(worst, std::fabs(double(float(o[i])) - want[i]));
        ++runs;
        if (problems.empty() && worst <= tolerance)
          continue;
        ++failures;
        std::printf("%s, causal %d, %lld heads, %lldx%lld: error %g\n%s\n", name, int(causal),
                    (long long)h, (long long)m, (long long)n, worst, to_text(problems).c_str());
      }
    }
  }
  // Heads that do not fit are refused by the launch.
  std::vector<f16> wide(72, f16(1)), o(72);
  auto kernel = compile(Attention{}, target);
  auto refused = kernel.try_launch({}, view(wide, {1, 1, 72}), view(wide, {1, 1, 72}),
                                   view(wide, {1, 1, 72}), 1.0f, view(o, {1, 1, 72}));
  ++runs;
  if (refused.size() != 1 || codeName(refused[0].code) != "PS1401") {
    ++failures;
    std::printf("%s, heads of 72: %s\n", name, to_text(refused).c_str());
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
