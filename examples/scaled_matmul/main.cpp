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

/// A matrix of K values in each row and its scales, as elements and as numbers. \p Block values
/// share a scale.
template <class T, class S, int Block> struct Operand {
  Operand(int64_t rows, int64_t k, unsigned seed)
      : rows(rows), row(k * bits_of<T> / 8), blocks((rows + 127) / 128),
        groups((k + 4 * Block - 1) / (4 * Block)), elements(size_t(rows * row) + alignment),
        scales(size_t(blocks * groups * 512)), numbers(size_t(rows * k)) {
    constexpr float magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    auto next = [&] {
      seed = seed * 1664525 + 1013904223;
      return seed >> 16;
    };
    for (auto &scale : scales) // powers of two, and with f8e4m3 others, too
      scale = Block == 16 ? float(next() % 6 + 2) / 4 : float(1 << next() % 4) / 2;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < k; ++i) {
        float value = magnitudes[next() % 8] * (next() % 2 ? -1.0f : 1.0f);
        set(first() + r * row, i, value);
        int64_t j = i / Block;
        size_t at =
            size_t(((r / 128 * groups + j / 4) * 32 + r % 32) * 16 + r / 32 % 4 * 4 + j % 4);
        numbers[size_t(r * k + i)] = double(value) * double(float(scales[at]));
      }
  }

  static void set(T *row, int64_t i, float value) {
    if constexpr (bits_of<T> == 6)
      set_packed_value(row, i, value);
    else if constexpr (bits_of<T> == 4)
      row[i / 2] = i % 2 ? T(row[i / 2].low(), value) : T(value, 0);
    else
      row[i] = value;
  }

  /// TMA copies 6-bit values from addresses that are multiples of 32.
  T *first() {
    auto address = reinterpret_cast<uintptr_t>(elements.data());
    return elements.data() + (alignment - address % alignment) % alignment;
  }

  static constexpr size_t alignment = 32;
  int64_t rows, row, blocks, groups; ///< row: bytes
  std::vector<T> elements;
  std::vector<S> scales;
  std::vector<double> numbers;
};

template <class T, class S, class U, class Kernel>
void check(const char *name, const char *target, const Kernel &kernel, int64_t M, int64_t N,
           int64_t K, int timing) {
  constexpr int block = ScaledMatmul<T, S, U>::block;
  Operand<T, S, block> a(M, K, 1);
  Operand<U, S, block> b(N, K, 2);
  std::vector<f32> c(size_t(M * N), -77);
  LaunchOptions options;
  options.completion = timing == 0   ? Completion::Eager
                       : timing == 1 ? Completion::Latest
                                     : Completion::Random;
  options.seed = uint64_t(timing);
  auto problems =
      kernel.try_launch(options, view(a.first(), {M, a.row}), view(b.first(), {N, b.row}),
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

template <class T, class S, class U> void checkAll(const char *name, ScaledMatmul<T, S, U> kernel) {
  std::pair<const char *, Target> targets[] = {{"interpreter", Target::interpreter()},
                                               {"native", Target::native()},
                                               {"sm_90a", Target::sm_90a().emulated()},
                                               {"sm_100a", Target::sm_100a().emulated()},
                                               {"sm_120a", Target::sm_120a().emulated()}};
  // Graphics cards have 99 KiB of shared memory; tiles of bf16 are beside unaligned 6-bit values.
  constexpr bool eight = bits_of<T> == 8 && bits_of<U> == 8, four = bits_of<T> + bits_of<U> == 8;
  for (auto &[where, target] : targets) {
    bool card = target.kind == Target::Kind::Sm120a,
         device = card || target.kind == Target::Kind::Sm90a || target.kind == Target::Kind::Sm100a;
    kernel.stages = card ? (eight || four ? 2 : 1) : target.kind == Target::Kind::Sm90a ? 2 : 3;
    auto compiled = try_compile(kernel, target);
    if (!compiled) {
      std::printf("%s on %s\n%s\n", name, where, to_text(compiled.diagnostics).c_str());
      ++failures;
      continue;
    }
    for (int timing = 0; timing < (device ? 3 : 1); ++timing) {
      check<T, S, U>(name, where, compiled.kernel, 128, 128, 256, timing);
      check<T, S, U>(name, where, compiled.kernel, 200, 136, 1024 + 128, timing);
      // Rows of 6-bit values that are not multiples of 128 values.
      check<T, S, U>(name, where, compiled.kernel, 200, 136, 1024 + 64, timing);
    }
    check<T, S, U>(name, where, compiled.kernel, 8, 8, 0, 0);
  }
}

} // namespace

int main() {
  checkAll("mxf8", ScaledMatmul<f8e4m3, f8e8m0>{.block_k = 128});
  checkAll("mxf8 e5m2", ScaledMatmul<f8e5m2, f8e8m0>{.block_k = 128});
  checkAll("mxf4", ScaledMatmul<f4e2m1x2, f8e8m0>());
  checkAll("nvf4", ScaledMatmul<f4e2m1x2, f8e4m3>());
  checkAll("mxf6", ScaledMatmul<f6e2m3_packed, f8e8m0, f6e3m2_packed>{.block_k = 128});
  checkAll("mxf6 e2m3", ScaledMatmul<f6e2m3_packed, f8e8m0>{.block_k = 128});
  checkAll("mxf8 by mxf6", ScaledMatmul<f8e4m3, f8e8m0, f6e3m2_packed>{.block_k = 128});
  checkAll("mxf6 by mxf4", ScaledMatmul<f6e3m2_packed, f8e8m0, f4e2m1x2>{.block_k = 128});
  std::printf("scaled_matmul: %d runs, %d failures\n", runs, failures);
  return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
