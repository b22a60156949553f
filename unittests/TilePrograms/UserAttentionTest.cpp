//===- UserAttentionTest.cpp - Users' attention kernels -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention over packed sequences and over pages of a cache. Both read positions from tensors.
//
//===----------------------------------------------------------------------===//
#include "UserKernels.h"

using namespace user;

namespace {

/// Causal attention of grouped query heads. Sequence s has rows starts[s] to starts[s + 1].
struct PackedSequences {
  int block_q = 64, block_k = 64, dim = 64, stages = 2;
  static constexpr auto signature =
      "Q[T,H,D], K[T,G,D], V[T,G,D], starts[S], longest, scale -> O[T,H,D]";
  void operator()(Block &b, In<f16, 3> Q, In<f16, 3> K, In<f16, 3> V, In<i32, 1> starts,
                  Index longest, Scalar<f32> scale, Out<f16, 3> O) const {
    auto [T, H, D] = Q.sizes();
    auto [bq, head, sequence] = b.grid(ceil_div(longest, block_q), H, starts.size(0) - 1);
    auto group = head / (H / K.size(1));
    auto begin = b.bind("begin", starts.load(sequence));
    auto end = b.bind("end", starts.load(sequence + 1));
    Index length = end - begin, first = bq * block_q;
    auto Qs = b.shared<f16>(block_q, dim), Ks = b.shared<f16>(block_k, dim);
    auto Vs = b.shared<f16>(block_k, dim);
    auto S = b.local<f32>(block_q, block_k), acc = b.local<f32>(block_q, dim);
    auto P = b.local<f16>(block_q, block_k);
    auto top = b.local<f32>(block_q), before = b.local<f32>(block_q);
    auto sum = b.local<f32>(block_q), part = b.local<f32>(block_q);
    b.when(first < length, [&] {
      b.copy(Q.at(begin + first, head, 0).dims(0, 2), Qs);
      b.fill(acc, 0);
      b.fill(sum, 0);
      b.fill(top, -infinity);
      auto keys = min(length, first + block_q);
      for (Index n : b.pipelined(ceil_div(keys, block_k), {.num_stages = stages})) {
        b.copy(K.at(begin + n * block_k, group, 0).dims(0, 2), Ks);
        b.gemm(Qs, transposed(Ks), S, {.accumulate = false});
        auto key = col(S) + n * block_k;
        b.set(S, where(row(S) + first >= key && key < length, S * scale, -infinity));
        b.copy(top, before);
        b.reduce(Max, S, 1, top, {.accumulate = true});
        b.set(S, exp(S - broadcast_rows(top)));
        b.set(before, exp(before - top));
        b.reduce(Sum, S, 1, part);
        b.set(sum, sum * before + part);
        b.set(acc, acc * broadcast_rows(before));
        b.set(P, S);
        b.copy(V.at(begin + n * block_k, group, 0).dims(0, 2), Vs);
        b.gemm(P, Vs, acc);
      }
      b.set(acc, acc / broadcast_rows(sum));
      // Rows beyond the sequence belong to the next one.
      b.parallel(block_q, dim, [&](Index i, Index j) {
        b.when(first + i < length && j < D,
               [&] { b.store(O.at(begin + first + i, head, j), cast<f16>(b.load(acc, i, j))); });
      });
    });
  }
};

/// Attention of one query to `keys` positions; `score(j)` and `value(j, e)` are theirs.
template <class Score, class ValueOf>
std::vector<double> attend(int64_t keys, int64_t dim, Score score, ValueOf value) {
  std::vector<double> weights, result(static_cast<size_t>(dim));
  for (int64_t j = 0; j < keys; ++j)
    weights.push_back(score(j));
  double top = *std::max_element(weights.begin(), weights.end()), sum = 0;
  for (double &weight : weights)
    sum += weight = std::exp(weight - top);
  for (int64_t e = 0; e < dim; ++e)
    for (int64_t j = 0; j < keys; ++j)
      result[size_t(e)] += weights[size_t(j)] / sum * value(j, e);
  return result;
}

TEST(UserAttention, PackedSequences) {
  const int64_t H = 4, G = 2, D = 64, T = 200;
  const std::vector<i32> starts = {0, 70, 73, 200};
  auto Q = numbers<f16>(T * H * D, 1), K = numbers<f16>(T * G * D, 2);
  auto V = numbers<f16>(T * G * D, 3);
  const float scale = 0.125f;
  std::vector<double> expected(size_t(T * H * D));
  for (size_t s = 0; s + 1 < starts.size(); ++s)
    for (int64_t i = starts[s]; i < starts[s + 1]; ++i)
      for (int64_t h = 0; h < H; ++h) {
        auto at = [&](const std::vector<f16> &x, int64_t j, int64_t e) {
          return number(x[size_t(((starts[s] + j) * G + h / (H / G)) * D + e)]);
        };
        auto row = attend(
            i - starts[s] + 1, D,
            [&](int64_t j) {
              double dot = 0;
              for (int64_t e = 0; e < D; ++e)
                dot += number(Q[size_t((i * H + h) * D + e)]) * at(K, j, e);
              return dot * scale;
            },
            [&](int64_t j, int64_t e) { return at(V, j, e); });
        std::copy(row.begin(), row.end(), expected.begin() + (i * H + h) * D);
      }
  expectEverywhere(PackedSequences{}, expected, 3e-3, [&](auto &kernel) {
    std::vector<f16> O(size_t(T * H * D));
    kernel(view(Q, {T, H, D}), view(K, {T, G, D}), view(V, {T, G, D}),
           view(starts, {int64_t(starts.size())}), 127, scale, view(O, {T, H, D}));
    return O;
  });
}

/// One query of each sequence; its keys are in the pages that a table names. The query heads of a
/// key head are padded to `group` rows.
struct PagedDecode {
  int page = 32, dim = 64, group = 16, stages = 2;
  static constexpr auto signature =
      "q[B,H,D], Kc[P,L,G,D], Vc[P,L,G,D], table[B,N], lengths[B], scale -> o[B,H,D]";
  void operator()(Block &b, In<f16, 3> q, In<f16, 4> Kc, In<f16, 4> Vc, In<i32, 2> table,
                  In<i32, 1> lengths, Scalar<f32> scale, Out<f16, 3> o) const {
    auto [B, H, D] = q.sizes();
    auto G = Kc.size(2);
    auto heads = H / G;
    b.require(heads <= group, "more query heads of a key head than rows of the tile");
    b.require(Kc.size(1) == page, "the cache has pages of another size");
    auto [g, sequence] = b.grid(G, B);
    Index length = lengths.load(sequence);
    auto Qs = b.shared<f16>(group, dim), Ks = b.shared<f16>(page, dim);
    auto Vs = b.shared<f16>(page, dim);
    auto S = b.local<f32>(group, page), acc = b.local<f32>(group, dim);
    auto P = b.local<f16>(group, page);
    auto top = b.local<f32>(group), before = b.local<f32>(group);
    auto sum = b.local<f32>(group), part = b.local<f32>(group);
    b.copy(q.at(sequence, g * heads, 0), Qs);
    b.fill(acc, 0);
    b.fill(sum, 0);
    b.fill(top, -infinity);
    for (Index n : b.pipelined(ceil_div(length, page), {.num_stages = stages})) {
      Index at = table.load(sequence, n);
      b.copy(Kc.at(at, 0, g, 0).dims(1, 3), Ks);
      b.gemm(Qs, transposed(Ks), S, {.accumulate = false});
      b.set(S, where(col(S) + n * page < length, S * scale, -infinity));
      b.copy(top, before);
      b.reduce(Max, S, 1, top, {.accumulate = true});
      b.set(S, exp(S - broadcast_rows(top)));
      b.set(before, exp(before - top));
      b.reduce(Sum, S, 1, part);
      b.set(sum, sum * before + part);
      b.set(acc, acc * broadcast_rows(before));
      b.set(P, S);
      b.copy(Vc.at(at, 0, g, 0).dims(1, 3), Vs);
      b.gemm(P, Vs, acc);
    }
    b.set(acc, acc / broadcast_rows(sum));
    b.parallel(group, dim, [&](Index i, Index j) {
      b.when(i < heads && j < D,
             [&] { b.store(o.at(sequence, g * heads + i, j), cast<f16>(b.load(acc, i, j))); });
    });
  }
};

TEST(UserAttention, PagedDecode) {
  const int64_t B = 3, H = 8, G = 2, D = 64, P = 20, page = 32, N = 5;
  const std::vector<i32> lengths = {100, 1, 150};
  std::vector<i32> table;
  for (int64_t i = 0; i < B * N; ++i)
    table.push_back(i32(i * 7 % P));
  auto q = numbers<f16>(B * H * D, 1), Kc = numbers<f16>(P * page * G * D, 2);
  auto Vc = numbers<f16>(P * page * G * D, 3);
  const float scale = 0.125f;
  std::vector<double> expected;
  for (int64_t s = 0; s < B; ++s)
    for (int64_t h = 0; h < H; ++h) {
      auto at = [&](const std::vector<f16> &x, int64_t j, int64_t e) {
        int64_t row = table[size_t(s * N + j / page)] * page + j % page;
        return number(x[size_t((row * G + h / (H / G)) * D + e)]);
      };
      auto row = attend(
          lengths[size_t(s)], D,
          [&](int64_t j) {
            double dot = 0;
            for (int64_t e = 0; e < D; ++e)
              dot += number(q[size_t((s * H + h) * D + e)]) * at(Kc, j, e);
            return dot * scale;
          },
          [&](int64_t j, int64_t e) { return at(Vc, j, e); });
      expected.insert(expected.end(), row.begin(), row.end());
    }
  expectEverywhere(PagedDecode{}, expected, 3e-3, [&](auto &kernel) {
    std::vector<f16> o(size_t(B * H * D));
    kernel(view(q, {B, H, D}), view(Kc, {P, page, G, D}), view(Vc, {P, page, G, D}),
           view(table, {B, N}), view(lengths, {B}), scale, view(o, {B, H, D}));
    return o;
  });
}

} // namespace
