//===- VectorProbe.cpp - State of the processor's vector units ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "VectorProbe.h"
#include "Measure.h"

#include <atomic>
#include <immintrin.h>
#include <string>
#include <thread>

namespace {

/// Enough sums to hide the latency of two ports, within the 16 registers of AVX2.
constexpr int sums = 12, repeats = 4000, warmUps = 400;

__attribute__((target("avx512f"))) void multiplyWide(int times) {
  __m512 sum[sums], x = _mm512_set1_ps(0.7f), y = _mm512_set1_ps(0.3f);
  for (__m512 &each : sum)
    each = x;
  for (int i = 0; i < times; ++i)
    for (__m512 &each : sum) {
      each = _mm512_fmadd_ps(each, x, y);
      asm volatile("" : "+v"(each));
    }
}

__attribute__((target("avx2,fma"))) void multiplyNarrow(int times) {
  __m256 sum[sums], x = _mm256_set1_ps(0.7f), y = _mm256_set1_ps(0.3f);
  for (__m256 &each : sum)
    each = x;
  for (int i = 0; i < times; ++i)
    for (__m256 &each : sum) {
      each = _mm256_fmadd_ps(each, x, y);
      asm volatile("" : "+x"(each));
    }
}

double nanoseconds() {
  auto multiply = bench::vectorBits() == 512 ? multiplyWide : multiplyNarrow;
  multiply(warmUps);
  double start = bench::now(CLOCK_MONOTONIC);
  multiply(repeats);
  return 1e9 * (bench::now(CLOCK_MONOTONIC) - start) / (sums * repeats);
}

} // namespace

int bench::vectorBits() {
  static const int bits = [] {
    const char *level = std::getenv("PENSTOCK_CPU");
    bool wide = !level || std::string(level) != "avx2";
    if (wide && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
      return 512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 256 : 0;
  }();
  return bits;
}

bool bench::chooseOpenBlasKernels() {
  constexpr const char *variable = "OPENBLAS_CORETYPE";
  if (std::getenv(variable) || !vectorBits())
    return false;
  return setenv(variable, vectorBits() == 512 ? "SkylakeX" : "Haswell", 0) == 0;
}

double bench::peakOfVectors() { return nanoseconds(); }

bool bench::vectorsAreFast(int threads) {
  constexpr double allowed = 1.4;
  std::atomic<double> other{0};
  std::thread helper;
  if (threads > 1)
    helper = std::thread([&] { other = nanoseconds(); });
  double own = nanoseconds();
  if (threads > 1)
    helper.join();
  static double fastest = own;
  fastest = std::min(fastest, own);
  return std::max(own, other.load()) < allowed * fastest;
}
