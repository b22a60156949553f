//===- PagedKernel.h - Kernels with index tensors, and mistakes in them -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decoding with a paged cache, and attention over sequences of different lengths. Fields break
// them in ways that only some inputs show.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_TESTING_PAGEDKERNEL_H
#define PENSTOCK_UNITTESTS_TESTING_PAGEDKERNEL_H

#include "penstock/check.h"
#include "penstock/penstock.h"

#include <algorithm>
#include <cmath>

namespace paged {
using namespace penstock;

struct Decode {
  int page = 16, dim = 32, group = 16;
  int wrong_page = 0; // 1: the first one; 2: the one before
  bool no_rescaling = false;
  int more = 0; // added to lengths
  static constexpr auto signature =
      "q[B,H,D], K[P,L,G,D], V[P,L,G,D], table[B,N], lengths[B], scale -> o[B,H,D]";

  void operator()(Block &b, In<f16, 3> q, In<f16, 4> K, In<f16, 4> V, In<i32, 2> table,
                  In<i32, 1> lengths, Scalar<f32> scale, Out<f16, 3> o) const {
    auto [B, H, D] = q.sizes();
    auto G = K.size(2);
    auto heads = H / G;
    b.require(heads <= group, "more heads than rows");
    b.require(K.size(1) == page, "another page size");
    auto [g, s] = b.grid(G, B);
    Index length = lengths.load(s) + more;
    auto Qs = b.shared<f16>(group, dim), Ks = b.shared<f16>(page, dim);
    auto Vs = b.shared<f16>(page, dim);
    auto S = b.local<f32>(group, page), acc = b.local<f32>(group, dim);
    auto P = b.local<f16>(group, page);
    auto top = b.local<f32>(group), old = b.local<f32>(group);
    auto sum = b.local<f32>(group), part = b.local<f32>(group);
    b.copy(q.at(s, g * heads, 0), Qs);
    b.fill(acc, 0);
    b.fill(sum, 0);
    b.fill(top, -infinity);
    for (Index n : b.pipelined(ceil_div(length, page), {.num_stages = 2})) {
      Index p = table.load(s, wrong_page == 1 ? Index(0) : wrong_page == 2 ? max(n - 1, 0) : n);
      b.copy(K.at(p, 0, g, 0).dims(1, 3), Ks);
      b.gemm(Qs, transposed(Ks), S, {.accumulate = false});
      b.set(S, where(col(S) + n * page < length, S * scale, -infinity));
      b.copy(top, old);
      b.reduce(Max, S, 1, top, {.accumulate = true});
      b.set(S, exp(S - rows(top)));
      b.set(old, exp(old - top));
      b.reduce(Sum, S, 1, part);
      b.set(sum, sum * old + part);
      if (!no_rescaling)
        b.set(acc, acc * rows(old));
      b.set(P, S);
      b.copy(V.at(p, 0, g, 0).dims(1, 3), Vs);
      b.gemm(P, Vs, acc);
    }
    b.set(acc, acc / rows(sum));
    b.parallel(group, dim, [&](Index i, Index j) {
      b.when(i < heads && j < D,
             [&] { b.store(o.at(s, g * heads + i, j), cast<f16>(b.load(acc, i, j))); });
    });
  }
};

inline void decodeOnHost(TensorView<const f16, 3> q, TensorView<const f16, 4> K,
                         TensorView<const f16, 4> V, TensorView<const i32, 2> table,
                         TensorView<const i32, 1> lengths, float scale, TensorView<f16, 3> o) {
  int64_t B = q.sizes[0], H = q.sizes[1], D = q.sizes[2], L = K.sizes[1], G = K.sizes[2];
  auto at = [&](const auto &cache, int64_t s, int64_t j, int64_t g, int64_t e) {
    int64_t page = table.data[s * table.sizes[1] + j / L];
    return double(float(cache.data[((page * L + j % L) * G + g) * D + e]));
  };
  for (int64_t s = 0; s < B; ++s)
    for (int64_t h = 0; h < H; ++h) {
      int64_t g = h / (H / G), length = lengths.data[s];
      std::vector<double> weights;
      double most = -INFINITY, sum = 0;
      for (int64_t j = 0; j < length; ++j) {
        double dot = 0;
        for (int64_t e = 0; e < D; ++e)
          dot += double(float(q.data[(s * H + h) * D + e])) * at(K, s, j, g, e);
        weights.push_back(dot * scale);
        most = std::max(most, weights.back());
      }
      for (double &weight : weights)
        sum += weight = std::exp(weight - most);
      for (int64_t e = 0; e < D; ++e) {
        double value = 0;
        for (int64_t j = 0; j < length; ++j)
          value += weights[size_t(j)] * at(V, s, j, g, e);
        o.data[(s * H + h) * D + e] = f16(float(value / sum));
      }
    }
}

/// Sums rows of sequences that lie one after the other.
struct SegmentSum {
  int columns = 32;
  static constexpr auto signature = "x[T,C], starts[S] -> y[S,C]";

  void operator()(Block &b, In<f32, 2> x, In<i32, 1> starts, Out<f32, 2> y) const {
    auto [T, C] = x.sizes();
    auto [s, bc] = b.grid(starts.size(0) - 1, ceil_div(C, columns));
    auto row = b.local<f32>(columns), sum = b.local<f32>(columns);
    Index begin = b.bind("begin", starts.load(s)), end = b.bind("end", starts.load(s + 1));
    b.fill(sum, 0);
    for (Index t : b.range(begin, end, 1)) {
      b.copy(x.at(t, bc * columns), row);
      b.set(sum, sum + row);
    }
    b.copy(sum, y.at(s, bc * columns));
  }
};

} // namespace paged

#endif // PENSTOCK_UNITTESTS_TESTING_PAGEDKERNEL_H
