//===- main.cpp - Checks the product with 4-bit weights -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against plain loops, on the interpreter, the CPU and the emulator. Scales are powers of
// two and inputs small integers: weights are exact in f16 and sums in f32.
//
//===----------------------------------------------------------------------===//
#include "kernel.h"

#include <cstdio>
#include <cstdlib>

using namespace examples;

namespace {

int runs = 0, failures = 0;

template <class Kernel>
void check(const char *target, const Kernel &kernel, int64_t M, int64_t N, int64_t K, int group,
           int timing) {
  int64_t P = K / 2, S = K / group;
  std::vector<f16> x(size_t(M * K)), scale(size_t(N * S)), y(size_t(M * N), f16(-77));
  std::vector<i4x2> weight(size_t(N * P));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(int(i * 7 % 5) - 2);
  for (size_t i = 0; i < weight.size(); ++i)
    weight[i] = i4x2(int(i * 11 % 16) - 8, int(i * 5 % 16) - 8);
  for (size_t i = 0; i < scale.size(); ++i)
    scale[i] = float(1 << i % 3) / 4;
  LaunchOptions options;
  options.completion = timing == 0   ? Completion::Eager
                       : timing == 1 ? Completion::Latest
                                     : Completion::Random;
  options.seed = uint64_t(timing);
  auto problems = kernel.try_launch(options, view(x, {M, K}), view(weight, {N, P}),
                                    view(scale, {N, S}), view(y, {M, N}));
  ++runs;
  int64_t wrong = 0;
  for (int64_t m = 0; m < M; ++m)
    for (int64_t n = 0; n < N; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < K; ++k) {
        i4x2 pair = weight[size_t(n * P + k / 2)];
        sum += double(x[size_t(m * K + k)]) * (k % 2 ? pair.high() : pair.low()) *
               double(scale[size_t(n * S + k / group)]);
      }
      wrong += float(y[size_t(m * N + n)]) != float(f16(float(sum)));
    }
  if (problems.empty() && !wrong)
    return;
  ++failures;
  std::printf("%s, group %d, %lldx%lldx%lld, timing %d: %lld wrong\n%s\n", target, group,
              (long long)M, (long long)N, (long long)K, timing, (long long)wrong,
              to_text(problems).c_str());
}

} // namespace

int main() {
  std::pair<const char *, Target> targets[] = {{"interpreter", Target::interpreter()},
                                               {"native", Target::native()},
                                               {"sm_90a", Target::sm_90a().emulated()},
                                               {"sm_100a", Target::sm_100a().emulated()}};
  for (auto &[name, target] : targets)
    for (int group : {32, 64, 128}) {
      auto compiled =
          try_compile(Int4Matmul{.block_k = group == 32 ? 32 : 64, .group = group}, target);
      if (!compiled) {
        std::printf("%s\n%s\n", name, to_text(compiled.diagnostics).c_str());
        return EXIT_FAILURE;
      }
      bool device = target.kind == Target::Kind::Sm90a || target.kind == Target::Kind::Sm100a;
      for (int timing = 0; timing < (device ? 4 : 1); ++timing) {
        check(name, compiled.kernel, 64, 128, 128, group, timing);
        check(name, compiled.kernel, 72, 200, 512, group, timing);
        check(name, compiled.kernel, 8, 16, 0, group, timing);
      }
    }
  std::printf("int4_matmul: %d runs, %d failures\n", runs, failures);
  return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
