//===- UserProductsTest.cpp - Users' kernels with matrix products ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "UserKernels.h"

using namespace user;

namespace {

/// Returns A (rows x depth) times the transpose of B (columns x depth).
template <class X, class Y>
std::vector<double> product(const std::vector<X> &A, const std::vector<Y> &B, int64_t rows,
                            int64_t columns, int64_t depth) {
  std::vector<double> result;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += number(A[size_t(i * depth + k)]) * number(B[size_t(j * depth + k)]);
      result.push_back(sum);
    }
  return result;
}

double silu(double x) { return x / (1 + std::exp(-x)); }

struct BiasedSilu {
  int bm = 128, bn = 128, bk = 64, stages = 3;
  void operator()(Block &b, In<bf16, 2> A, In<bf16, 2> B, In<bf16, 1> bias, Out<bf16, 2> C) const {
    auto [M, K] = A.sizes();
    auto [i, j] = b.grid(ceil_div(M, bm), ceil_div(B.size(0), bn), swizzled(8));
    auto a = b.shared<bf16>(bm, bk), w = b.shared<bf16>(bn, bk);
    auto acc = b.local<f32>(bm, bn);
    auto added = b.local<f32>(bn);
    b.fill(acc, 0);
    b.copy(bias.at(j * bn), added);
    for (Index k : b.pipelined(ceil_div(K, bk), {.num_stages = stages})) {
      b.copy(A.at(i * bm, k * bk), a);
      b.copy(B.at(j * bn, k * bk), w);
      b.gemm(a, transposed(w), acc);
    }
    b.set(acc, acc + broadcast_cols(added));
    b.set(acc, acc / (1.0f + exp(-acc)));
    b.copy(acc, C.at(i * bm, j * bn));
  }
};

TEST(UserProducts, BiasedSilu) {
  const int64_t M = 200, N = 264, K = 320;
  auto A = numbers<bf16>(M * K, 1), B = numbers<bf16>(N * K, 2), bias = numbers<bf16>(N, 3);
  std::vector<double> expected = product(A, B, M, N, K);
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] = silu(expected[i] + number(bias[i % N]));
  expectEverywhere(BiasedSilu{}, expected, 0.2, [&](auto &kernel) {
    std::vector<bf16> C(M * N);
    kernel(view(A, {M, K}), view(B, {N, K}), view(bias, {N}), view(C, {M, N}));
    return C;
  });
}

/// Blocks that share a result add their parts of the depth.
struct SplitDepth {
  int bm = 64, bn = 64, bk = 64, parts = 4;
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, InOut<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [i, j, part] = b.grid(ceil_div(M, bm), ceil_div(N, bn), parts);
    auto a = b.shared<f16>(bm, bk), w = b.shared<f16>(bn, bk);
    auto acc = b.local<f32>(bm, bn);
    auto steps = ceil_div(K, bk), each = ceil_div(steps, parts), first = part * each;
    b.fill(acc, 0);
    for (Index k : b.pipelined(max(min(steps - first, each), 0), {.num_stages = 3})) {
      b.copy(A.at(i * bm, (first + k) * bk), a);
      b.copy(B.at(j * bn, (first + k) * bk), w);
      b.gemm(a, transposed(w), acc);
    }
    Index top = i * bm, left = j * bn;
    b.parallel(bm, bn, [&](Index r, Index c) {
      b.when(top + r < M && left + c < N,
             [&] { b.atomic(Add, C.at(top + r, left + c), b.load(acc, r, c)); });
    });
  }
};

TEST(UserProducts, SplitDepth) {
  const int64_t M = 100, N = 136, K = 1000;
  auto A = numbers<f16>(M * K, 4), B = numbers<f16>(N * K, 5);
  expectEverywhere(SplitDepth{}, product(A, B, M, N, K), 1e-3, [&](auto &kernel) {
    std::vector<float> C(M * N);
    kernel(view(A, {M, K}), view(B, {N, K}), view(C, {M, N}));
    return C;
  });
}

/// A batch of products whose right operands may be one matrix.
struct Batch {
  int bm = 64, bn = 128, bk = 64;
  void operator()(Block &b, In<f16, 3> A, In<f16, 3> B, Out<f16, 3> C) const {
    auto [L, M, K] = A.sizes();
    b.require(B.size(0) == 1 || B.size(0) == L, "B has one matrix, or one for each of A");
    auto [j, i, l] = b.grid(ceil_div(B.size(2), bn), ceil_div(M, bm), L);
    auto other = select(B.size(0) == 1, 0, l);
    auto a = b.shared<f16>(bm, bk), w = b.shared<f16>(bk, bn);
    auto acc = b.local<f32>(bm, bn);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(K, bk), {.num_stages = 3})) {
      b.copy(A.at(l, i * bm, k * bk), a);
      b.copy(B.at(other, k * bk, j * bn), w);
      b.gemm(a, w, acc);
    }
    b.copy(acc, C.at(l, i * bm, j * bn));
  }
};

TEST(UserProducts, Batch) {
  const int64_t L = 3, M = 70, N = 152, K = 200;
  for (int64_t P : {int64_t(1), L}) {
    auto A = numbers<f16>(L * M * K, 6), B = numbers<f16>(P * K * N, 7);
    std::vector<double> expected;
    for (int64_t l = 0; l < L; ++l)
      for (int64_t m = 0; m < M; ++m)
        for (int64_t n = 0; n < N; ++n) {
          double sum = 0;
          for (int64_t k = 0; k < K; ++k)
            sum += number(A[size_t((l * M + m) * K + k)]) *
                   number(B[size_t(((P == 1 ? 0 : l) * K + k) * N + n)]);
          expected.push_back(sum);
        }
    expectEverywhere(Batch{}, expected, 0.02, [&](auto &kernel) {
      std::vector<f16> C(L * M * N);
      kernel(view(A, {L, M, K}), view(B, {P, K, N}), view(C, {L, M, N}));
      return C;
    });
  }
}

/// Weights of 8 bits with a scale for each row and 64 columns.
struct GroupScaled {
  int bm = 128, bn = 128, bk = 64, stages = 3;
  void operator()(Block &b, In<f16, 2> A, In<i8, 2> W, In<f16, 2> scales, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto [i, j] = b.grid(ceil_div(M, bm), ceil_div(W.size(0), bn), swizzled(8));
    auto a = b.shared<f16>(bm, bk), wide = b.shared<f16>(bn, bk);
    auto narrow = b.shared<i8>(bn, bk);
    auto scale = b.local<f16>(bn);
    auto acc = b.local<f32>(bm, bn);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(K, bk), {.num_stages = stages})) {
      b.copy(A.at(i * bm, k * bk), a);
      b.copy(W.at(j * bn, k * bk), narrow);
      b.copy(scales.at(j * bn, k).dims(0), scale);
      b.set(wide, cast<f16>(narrow) * broadcast_rows(scale));
      b.gemm(a, transposed(wide), acc);
    }
    b.copy(acc, C.at(i * bm, j * bn));
  }
};

TEST(UserProducts, GroupScaled) {
  const int64_t M = 70, N = 200, K = 256, G = K / 64;
  auto A = numbers<f16>(M * K, 8);
  std::vector<f16> scales;
  std::vector<int8_t> W;
  for (int64_t i = 0; i < N * G; ++i)
    scales.push_back(f16(float(1 + i % 7) / 64));
  for (int64_t i = 0; i < N * K; ++i)
    W.push_back(int8_t(i * 89 % 255 - 127));
  std::vector<double> weights;
  for (int64_t i = 0; i < N * K; ++i)
    weights.push_back(W[size_t(i)] * number(scales[size_t(i / 64)]));
  expectEverywhere(GroupScaled{}, product(A, weights, M, N, K), 0.2, [&](auto &kernel) {
    std::vector<f16> C(M * N);
    kernel(view(A, {M, K}), view(W, {N, K}), view(scales, {N, G}), view(C, {M, N}));
    return C;
  });
}

/// Two layers whose hidden values stay in the block.
struct TwoLayers {
  int bm = 64, bh = 64, dim = 128, stages = 2;
  void operator()(Block &b, In<f16, 2> X, In<f16, 2> W1, In<f16, 2> W2, Out<f16, 2> Y) const {
    auto [M, D] = X.sizes();
    b.require(D <= dim, "rows of X are longer than the tile");
    Index top = b.grid(ceil_div(M, bm)) * bm;
    auto x = b.shared<f16>(bm, dim), first = b.shared<f16>(bh, dim);
    auto second = b.shared<f16>(dim, bh);
    auto hidden = b.local<f32>(bm, bh), acc = b.local<f32>(bm, dim);
    auto rounded = b.local<f16>(bm, bh);
    b.copy(X.at(top, 0), x);
    b.fill(acc, 0);
    for (Index f : b.pipelined(ceil_div(W1.size(0), bh), {.num_stages = stages})) {
      b.copy(W1.at(f * bh, 0), first);
      b.gemm(x, transposed(first), hidden, {.accumulate = false});
      b.set(rounded, hidden / (1.0f + exp(-hidden)));
      b.copy(W2.at(0, f * bh), second);
      b.gemm(rounded, transposed(second), acc);
    }
    b.copy(acc, Y.at(top, 0));
  }
};

TEST(UserProducts, TwoLayers) {
  const int64_t M = 100, D = 128, F = 320;
  auto X = numbers<f16>(M * D, 9), W1 = numbers<f16>(F * D, 10), W2 = numbers<f16>(D * F, 11);
  std::vector<double> hidden = product(X, W1, M, F, D);
  for (double &value : hidden)
    value = number(f16(float(silu(value))));
  expectEverywhere(TwoLayers{}, product(hidden, W2, M, D, F), 0.1, [&](auto &kernel) {
    std::vector<f16> Y(M * D);
    kernel(view(X, {M, D}), view(W1, {F, D}), view(W2, {D, F}), view(Y, {M, D}));
    return Y;
  });
}

} // namespace
