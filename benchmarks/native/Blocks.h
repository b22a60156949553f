//===- Blocks.h - Blocks of matmuls for the caches of a core ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_NATIVE_BLOCKS_H
#define PENSTOCK_BENCHMARKS_NATIVE_BLOCKS_H

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <penstock/penstock.h>

namespace bench {

struct Blocks {
  int m, n, k;
};

struct Size {
  int64_t m, n, k;
};

/// Returns the largest divisor of `size` that is a multiple of `step` and at most `most`; `size` if
/// there is none.
inline int64_t divisor(int64_t size, int64_t step, int64_t most) {
  for (int64_t d = std::min(size, most) / step * step; d > 0; d -= step)
    if (size % d == 0)
      return d;
  return size;
}

/// Returns blocks for products by vectors whose operands are multiplied as f32
/// (docs/contributing/cpu-lowering.md, "Blocks of a matmul"). PENSTOCK_BENCH_BLOCKS
/// (`1024,256,512`) replaces them.
inline Blocks vectorBlocks(Size size, int threads,
                           penstock::CpuCaches caches = penstock::cpu_caches()) {
  Blocks stated{};
  if (const char *text = std::getenv("PENSTOCK_BENCH_BLOCKS"))
    if (std::sscanf(text, "%d,%d,%d", &stated.m, &stated.n, &stated.k) == 3)
      return stated;
  constexpr int64_t bytes = 4, columns = 128, mostRows = 2048, fewestRows = 128;
  int64_t n = divisor(size.n, columns, columns);
  int64_t k = divisor(size.k, 8, caches.l2 / 4 / (n * bytes));
  int64_t m = divisor(size.m, 1, mostRows);
  // Threads are not equally fast.
  while (threads > 1 && size.m / m * (size.n / n) < 4 * threads && m % 2 == 0 && m > fewestRows)
    m /= 2;
  return {int(m), int(n), int(k)};
}

} // namespace bench

#endif // PENSTOCK_BENCHMARKS_NATIVE_BLOCKS_H
