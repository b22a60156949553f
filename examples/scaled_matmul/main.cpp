//===- main.cpp - Checks products with scales -----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against plain loops, on the interpreter, the CPU and the emulator. Values and scales
// have few bits, so that all sums are exact in f32.
//
//===----------------------------------------------------------------------===//
#include "kernel.h"

#include <cstdio>
#include <cstdlib>

using namespace examples;

namespace {

int runs = 0, failures = 0;

/// A matrix and its scales, as elements and as numbers.
template <class T, class S> struct Operand {
  static constexpr int per = ScaledMatmul<T, S>::values_per_element;
  static constexpr int block = ScaledMatmul<T, S>::block;

  Operand(int64_t rows, int64_t k, unsigned seed)
      : rows(rows), k(k), blocks((rows + 127) / 128), groups((k + 4 * block - 1) / (4 * block)),
        elements(size_t(rows * k / per)), scales(size_t(blocks * groups * 512)),
        numbers(size_t(rows * k)) {
    constexpr float magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    auto next = [&] {
      seed = seed * 1664525 + 1013904223;
      return seed >> 16;
    };
    for (auto &scale : scales) // powers of two, and with f8e4m3 others, too
      scale = block == 16 ? float(next() % 6 + 2) / 4 : float(1 << next() % 4) / 2;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < k; i += per) {
        float values[2];
        for (float &value : values)
          value = magnitudes[next() % 8] * (next() % 2 ? -1.0f : 1.0f);
        T &element = elements[size_t((r * k + i) / per)];
        if constexpr (per == 2)
          element = T(values[0], values[1]);
        else
          element = T(values[0]);
        for (int64_t v = 0; v < per; ++v) {
          int64_t j = (i + v) / block;
          size_t at =
              size_t(((r / 128 * groups + j / 4) * 32 + r % 32) * 16 + r / 32 % 4 * 4 + j % 4);
          numbers[size_t(r * k + i + v)] = double(values[v]) * double(float(scales[at]));
        }
      }
  }

  int64_t rows, k, blocks, groups;
  std::vector<T> elements;
  std::vector<S> scales;
  std::vector<double> numbers;
};

template <class T, class S, class Kernel>
void check(const char *name, const char *target, const Kernel &kernel, int64_t M, int64_t N,
           int64_t K, int timing) {
  Operand<T, S> a(M, K, 1), b(N, K, 2);
  std::vector<f32> c(size_t(M * N), -77);
  LaunchOptions options;
  options.completion = timing == 0   ? Completion::Eager
                       : timing == 1 ? Completion::Latest
                                     : Completion::Random;
  options.seed = uint64_t(timing);
  int64_t P = K / Operand<T, S>::per;
  auto problems = kernel.try_launch(options, view(a.elements, {M, P}), view(b.elements, {N, P}),
                                    view(a.scales, {a.blocks, a.groups, 32, 16}),
                                    view(b.scales, {b.blocks, b.groups, 32, 16}), view(c, {M, N}));
  ++runs;
  int64_t wrong = 0;
  for (int64_t m = 0; m < M; ++m)
    for (int64_t n = 0; n < N; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < K; ++k)
        sum += a.numbers[size_t(m * K + k)] * b.numbers[size_t(n * K + k)];
      wrong += c[size_t(m * N + n)] != float(sum);
    }
  if (problems.empty() && !wrong)
    return;
  ++failures;
  std::printf("%s on %s, %lldx%lldx%lld, timing %d: %lld wrong\n%s\n", name, target, (long long)M,
              (long long)N, (long long)K, timing, (long long)wrong, to_text(problems).c_str());
}

template <class T, class S, class K> void checkAll(const char *name, K kernel) {
  std::pair<const char *, Target> targets[] = {{"interpreter", Target::interpreter()},
                                               {"native", Target::native()},
                                               {"sm_90a", Target::sm_90a().emulated()},
                                               {"sm_100a", Target::sm_100a().emulated()}};
  for (auto &[where, target] : targets) {
    bool device = target.kind == Target::Kind::Sm90a || target.kind == Target::Kind::Sm100a;
    kernel.stages = target.kind == Target::Kind::Sm90a ? 2 : 3;
    auto compiled = try_compile(kernel, target);
    if (!compiled) {
      std::printf("%s on %s\n%s\n", name, where, to_text(compiled.diagnostics).c_str());
      ++failures;
      continue;
    }
    for (int timing = 0; timing < (device ? 3 : 1); ++timing) {
      check<T, S>(name, where, compiled.kernel, 128, 128, 256, timing);
      check<T, S>(name, where, compiled.kernel, 200, 136, 1024 + 64, timing);
    }
    check<T, S>(name, where, compiled.kernel, 8, 8, 0, 0);
  }
}

} // namespace

int main() {
  checkAll<f8e4m3, f8e8m0>("mxf8", MxF8Matmul());
  checkAll<f8e5m2, f8e8m0>("mxf8 e5m2", ScaledMatmul<f8e5m2, f8e8m0>{.block_k = 128});
  checkAll<f4e2m1x2, f8e8m0>("mxf4", MxF4Matmul());
  checkAll<f4e2m1x2, f8e4m3>("nvf4", NvF4Matmul());
  std::printf("scaled_matmul: %d runs, %d failures\n", runs, failures);
  return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
