//===- PlainLoops.cpp - What one writes without Penstock ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PlainLoops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace plain {

void softmax(const float *x, float *y, int64_t columns, int64_t first, int64_t last) {
  for (int64_t r = first; r < last; ++r) {
    const float *from = x + r * columns;
    float *to = y + r * columns;
    float top = -std::numeric_limits<float>::infinity(), sum = 0;
    for (int64_t c = 0; c < columns; ++c)
      top = std::max(top, from[c]);
    for (int64_t c = 0; c < columns; ++c) {
      to[c] = std::exp(from[c] - top);
      sum += to[c];
    }
    for (int64_t c = 0; c < columns; ++c)
      to[c] /= sum;
  }
}

void attention(const float *q, const float *k, const float *v, float *out, int64_t keys,
               int64_t dim, float scale, int64_t first, int64_t last) {
  std::vector<float> weights(static_cast<size_t>(keys));
  for (int64_t r = first; r < last; ++r) {
    float top = -std::numeric_limits<float>::infinity(), sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      float dot = 0;
      for (int64_t d = 0; d < dim; ++d)
        dot += q[r * dim + d] * k[j * dim + d];
      weights[j] = dot * scale;
      top = std::max(top, weights[j]);
    }
    for (int64_t j = 0; j < keys; ++j) {
      weights[j] = std::exp(weights[j] - top);
      sum += weights[j];
    }
    float *to = out + r * dim;
    std::fill(to, to + dim, 0.0f);
    for (int64_t j = 0; j < keys; ++j)
      for (int64_t d = 0; d < dim; ++d)
        to[d] += weights[j] * v[j * dim + d];
    for (int64_t d = 0; d < dim; ++d)
      to[d] /= sum;
  }
}

} // namespace plain
