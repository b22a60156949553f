//===- reference.h - Attention in double precision --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the kernels must compute, row by row, with the whole row of scores at
// hand: nothing of their tiles, rings and running sums is here. A query that sees
// no key has the result zero.
//
//===----------------------------------------------------------------------===//
#ifndef EXAMPLES_ATTENTION_REFERENCE_H
#define EXAMPLES_ATTENTION_REFERENCE_H

#include <penstock/penstock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace attention {
using namespace penstock;

/// How far a kernel's result may be from the exact one, for values up to 1. The
/// weights are rounded to f16 before they are multiplied, but not before they are
/// added up, and so is the result: each costs 2^-11 of the largest value; the
/// powers and the sums in f32 stay below another 2^-11.
inline constexpr double tolerance = 3 * 0x1p-11;

/// Weights are powers of two: 2^(scale q k). The result is as Q, without gaps.
inline std::vector<double> attend(TensorView<const f16, 3> Q, TensorView<const f16, 3> K,
                                  TensorView<const f16, 3> V, double scale, bool causal) {
  auto at = [](const TensorView<const f16, 3> &of, int64_t h, int64_t row, int64_t d) {
    return double(float(of.data[h * of.strides[0] + row * of.strides[1] + d * of.strides[2]]));
  };
  auto [heads, queries, dim] = Q.sizes;
  std::vector<double> out(size_t(heads * queries * dim), 0);
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < queries; ++i) {
      std::vector<double> weight(size_t(causal ? std::min(i + 1, K.sizes[1]) : K.sizes[1]));
      double top = -std::numeric_limits<double>::infinity(), sum = 0;
      for (size_t j = 0; j < weight.size(); ++j) {
        for (int64_t d = 0; d < dim; ++d)
          weight[j] += at(Q, h, i, d) * at(K, h, int64_t(j), d);
        top = std::max(top, weight[j]);
      }
      for (double &w : weight)
        sum += w = std::exp2((w - top) * scale);
      for (size_t j = 0; j < weight.size(); ++j)
        for (int64_t d = 0; d < dim; ++d)
          out[size_t((h * queries + i) * dim + d)] += weight[j] / sum * at(V, h, int64_t(j), d);
    }
  return out;
}

} // namespace attention

#endif // EXAMPLES_ATTENTION_REFERENCE_H
