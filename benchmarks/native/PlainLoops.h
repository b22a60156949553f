//===- PlainLoops.h - What one writes without Penstock ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The references of benchmarks that have no library beside them: loops as one
// writes them in C++, in a file of its own that is compiled with
// -O3 -march=native. Each works on the rows first .. last-1.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_PLAINLOOPS_H
#define PENSTOCK_BENCHMARKS_PLAINLOOPS_H

#include <cstdint>

namespace plain {

/// y[r] = softmax(x[r]).
void softmax(const float *x, float *y, int64_t columns, int64_t first, int64_t last);

/// Rows of softmax(q k^T * scale) v, for one head of `keys` keys.
void attention(const float *q, const float *k, const float *v, float *out, int64_t keys,
               int64_t dim, float scale, int64_t first, int64_t last);

} // namespace plain

#endif // PENSTOCK_BENCHMARKS_PLAINLOOPS_H
