//===- FusedKernels.h - Kernels that are compared with libraries *- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_NATIVE_FUSEDKERNELS_H
#define PENSTOCK_BENCHMARKS_NATIVE_FUSEDKERNELS_H

#include <penstock/penstock.h>

#include <vector>

namespace bench {
using namespace penstock;

/// y = gelu(x w + bias), w packed.
struct LinearGelu {
  int block_m = 256, block_n = 512, block_k = 512;

  void operator()(Block &b, In<bf16, 2> x, In<bf16, 4> w, In<bf16, 1> bias, Out<bf16, 2> y) const {
    auto [bm, bn] = b.grid(ceil_div(y.size(0), block_m), ceil_div(y.size(1), block_n));
    auto xs = b.shared<bf16>(block_m, block_k);
    auto ws = packed_tile<bf16>(b, block_k, block_n);
    auto acc = b.local<f32>(block_m, block_n);
    auto add = b.local<f32>(block_n);
    b.fill(acc, 0);
    for (Index ko : b.range(ceil_div(x.size(1), block_k))) {
      b.copy(x.at(bm * block_m, ko * block_k), xs);
      b.copy(w.at(bn * (block_n / 16), ko * (block_k / 2), 0, 0), ws);
      b.gemm(xs, ws, acc);
    }
    b.copy(bias.at(bn * block_n), add);
    b.set(acc, acc + broadcast_cols(add));
    b.set(acc, acc * 0.5f * (erf(acc * 0.70710678f) + 1));
    b.copy(acc, y.at(bm * block_m, bn * block_n));
  }
};

/// y = x w for weights of 8 or 4 bits, with a scale for each column and `group` rows, packed for
/// bf16. Weights of 4 bits are stored as w + 8; in each group, row r of bytes has rows r and r +
/// group / 2.
template <bool Four> struct QuantizedLinear {
  int block_m = 16, block_n = 64, group = 128;

  void operator()(Block &b, In<bf16, 2> x, In<i8, 4> w, In<bf16, 2> scales, Out<bf16, 2> y) const {
    constexpr int parts = Four ? 2 : 1;
    const int rows = group / parts;
    auto [bm, bn] = b.grid(ceil_div(y.size(0), block_m), ceil_div(y.size(1), block_n));
    auto xs = b.shared<bf16>(block_m, group);
    auto bytes = packed_tile<i8, bf16>(b, rows, block_n);
    auto ws = packed_tile<bf16>(b, rows, block_n), high = packed_tile<bf16>(b, rows, block_n);
    auto part = b.local<f32>(block_m, block_n), acc = b.local<f32>(block_m, block_n);
    auto s = b.local<f32>(block_n);
    b.fill(acc, 0);
    for (Index g : b.range(x.size(1) / group)) {
      b.copy(x.at(bm * block_m, g * group), xs);
      b.copy(scales.at(g, bn * block_n).dims(1), s);
      b.copy(w.at(bn * (block_n / 16), g * (rows / 2), 0, 0), bytes);
      auto value = cast<i32>(bytes);
      b.set(ws, cast<bf16>(cast<i8>(Four ? (value & 15) - 8 : value))); // exact
      if constexpr (Four) {
        b.set(high, cast<bf16>(cast<i8>((value & 240) / 16 - 8)));
        b.gemm(slice(xs, {0, 0}, {block_m, rows}), ws, part, {.accumulate = false});
        b.gemm(slice(xs, {0, rows}, {block_m, rows}), high, part);
      } else {
        b.gemm(xs, ws, part, {.accumulate = false});
      }
      b.set(acc, acc + part * broadcast_cols(s));
    }
    b.copy(acc, y.at(bm * block_m, bn * block_n));
  }
};

/// The same for many rows of x. Scales weights, which rounds them to bf16, instead of sums. Columns
/// are in blocks, w[N / block_n, K, block_n]. One product has several groups, because sums are
/// loaded and stored once for each.
template <bool Four> struct ScaledLinear {
  int block_m = 256, block_n = 256, group = 128, groups = 4;

  void operator()(Block &b, In<bf16, 2> x, In<i8, 3> w, In<bf16, 2> scales, Out<bf16, 2> y) const {
    const int rows = Four ? group / 2 : group;
    auto [bm, bn] = b.grid(ceil_div(y.size(0), block_m), ceil_div(y.size(1), block_n));
    auto xs = b.shared<bf16>(block_m, groups * group);
    auto bytes = b.shared<i8>(rows, block_n);
    auto ws = b.shared<bf16>(groups * group, block_n);
    auto acc = b.local<f32>(block_m, block_n);
    auto s = b.local<f32>(block_n);
    b.fill(acc, 0);
    for (Index first : b.range(x.size(1) / (groups * group))) {
      b.copy(x.at(bm * block_m, first * (groups * group)), xs);
      for (int i = 0; i < groups; ++i) {
        Index g = first * groups + i;
        b.copy(scales.at(g, bn * block_n).dims(1), s);
        b.copy(w.at(bn, g * rows, 0).dims(1, 2), bytes);
        auto value = cast<i32>(bytes);
        b.set(slice(ws, {i * group, 0}, {rows, block_n}),
              cast<f32>(Four ? (value & 15) - 8 : value) * broadcast_cols(s));
        if constexpr (Four)
          b.set(slice(ws, {i * group + rows, 0}, {rows, block_n}),
                cast<f32>((value & 240) / 16 - 8) * broadcast_cols(s));
      }
      b.gemm(xs, ws, acc);
    }
    b.copy(acc, y.at(bm * block_m, bn * block_n));
  }
};

/// The same for one row of x and weights of 8 bits, by vectors: rows of w are columns of the
/// product, and nothing is stored but sums of groups.
struct QuantizedRow {
  int block = 32, k = 4096, group = 128;

  void operator()(Block &b, In<bf16, 2> x, In<i8, 3> w, In<bf16, 2> scales, Out<bf16, 1> y) const {
    const int groups = k / group;
    Index first = b.grid(ceil_div(y.size(0), block)) * block;
    auto xs = b.local<f32>(groups, group), products = b.local<f32>(groups, group);
    auto bytes = b.local<i8>(groups, group);
    auto part = b.local<f32>(groups), result = b.local<f32>(block);
    auto sums = b.local<f32>(block, groups), s = b.local<f32>(block, groups);
    b.copy(x.at(0, 0), xs);
    for (Index row : b.range(block)) {
      b.copy(w.at(first + row, 0, 0).dims(1, 2), bytes);
      b.set(products, cast<f32>(cast<i32>(bytes)) * xs);
      b.reduce(Sum, products, 1, part);
      b.copy(part, sums[row]);
    }
    b.copy(scales.at(first, 0), s);
    b.set(sums, sums * s);
    b.reduce(Sum, sums, 1, result);
    b.copy(result, y.at(first));
  }
};

/// The same for weights of 4 bits, eight in a word: w[N / block, K / group, block, group / 8] and
/// scales[N / block, K / group, block]. Bits 4 i of word l are element i * group / 8 + l of a
/// group, as w + 8; the highest four are w itself, which has a sign there. Sums of all groups stay
/// in their lane, so that lanes are added up once for each column.
struct NibbleRow {
  int block = 128, group = 128;

  void operator()(Block &b, In<bf16, 3> x, In<i32, 4> w, In<bf16, 3> scales, Out<bf16, 1> y) const {
    constexpr int parts = 8;
    const int lanes = group / parts;
    Index at = b.grid(ceil_div(y.size(0), block));
    auto words = b.local<i32>(block, lanes);
    auto sums = b.local<f32>(block, lanes);
    auto s = b.local<f32>(block), result = b.local<f32>(block);
    auto offset = b.local<f32>(lanes);
    std::vector<Tile<f32, 1>> xs;
    for (int i = 0; i < parts; ++i)
      xs.push_back(b.local<f32>(lanes));
    b.fill(sums, 0);
    for (Index g : b.range(x.size(0))) {
      for (int i = 0; i < parts; ++i)
        b.copy(x.at(g, i, 0).dims(2), xs[size_t(i)]);
      // x (w - 8) is x w less 8 x.
      auto total = xs[0] + xs[1];
      for (int i = 2; i + 1 < parts; ++i)
        total = total + xs[size_t(i)];
      b.set(offset, total * -8);
      // Weights are multiplied where they are in their word, 16^i times as large.
      for (int i = 1; i < parts; ++i)
        b.set(xs[size_t(i)], xs[size_t(i)] * (1 / float(uint32_t(1) << 4 * i)));
      b.copy(scales.at(at, g, 0).dims(2), s);
      b.copy(w.at(at, g, 0, 0).dims(2, 3), words);
      auto sum = cast<f32>(words & 15) * broadcast_cols(xs[0]) + broadcast_cols(offset);
      for (int i = 1; i < parts; ++i)
        sum =
            sum + cast<f32>(words & int32_t(uint32_t(15) << 4 * i)) * broadcast_cols(xs[size_t(i)]);
      b.set(sums, sums + sum * broadcast_rows(s));
    }
    b.reduce(Sum, sums, 1, result);
    b.copy(result, y.at(at * block));
  }
};

/// Not causal. Keys and values are packed once for all rows of a block, of which `rows` at a time
/// are multiplied: their scores stay in the L2 cache.
struct Attention {
  int block_m = 1024, rows = 256, block_n = 256, dim = 64;

  void operator()(Block &b, In<bf16, 3> Q, In<bf16, 3> K, In<bf16, 3> V, Scalar<f32> scale,
                  Out<bf16, 3> O) const {
    auto [bm, h] = b.grid(ceil_div(Q.size(1), block_m), Q.size(0));
    Index m0 = bm * block_m, N = K.size(1);
    auto queries = b.shared<bf16>(block_m, dim);
    auto Ks = b.shared<bf16>(block_n, dim), Vs = b.shared<bf16>(block_n, dim);
    auto S = b.local<f32>(rows, block_n);
    auto P = b.local<bf16>(rows, block_n);
    auto outs = b.local<f32>(block_m, dim);
    auto tops = b.local<f32>(block_m), sums = b.local<f32>(block_m);
    auto top = b.local<f32>(rows), rescale = b.local<f32>(rows), part = b.local<f32>(rows);
    b.copy(Q.at(h, m0, 0), queries);
    b.fill(outs, 0);
    b.fill(sums, 0);
    b.fill(tops, -infinity);
    for (Index n : b.range(ceil_div(N, block_n))) {
      Index n0 = n * block_n;
      b.copy(K.at(h, n0, 0), Ks);
      b.copy(V.at(h, n0, 0), Vs);
      for (Index i : b.range(block_m / rows)) {
        auto out = slice(outs, {i * rows, 0}, {rows, dim});
        auto old = slice(tops, {i * rows}, {rows}), sum = slice(sums, {i * rows}, {rows});
        b.gemm(slice(queries, {i * rows, 0}, {rows, dim}), transposed(Ks), S,
               {.accumulate = false});
        b.when(n0 + block_n > N, [&] { b.set(S, where(col(S) + n0 < N, S, -infinity)); });
        b.copy(old, top);
        b.reduce(Max, S, 1, top, {.accumulate = true});
        b.set(rescale, exp2((old - top) * scale));
        b.copy(top, old);
        b.set(S, exp2(S * scale - broadcast_rows(top) * scale));
        b.reduce(Sum, S, 1, part);
        b.copy(S, P);
        b.set(sum, sum * rescale + part);
        b.set(out, out * broadcast_rows(rescale));
        b.gemm(P, Vs, out);
      }
    }
    b.set(sums, 1 / sums);
    b.set(outs, outs * broadcast_rows(sums));
    b.copy(outs, O.at(h, m0, 0));
  }
};

/// Rows of up to `columns` elements.
struct RmsNorm {
  int rows = 4, columns = 4096;

  void operator()(Block &b, In<bf16, 2> x, In<bf16, 1> weight, Scalar<f32> eps,
                  Out<bf16, 2> y) const {
    b.require(x.size(1) <= columns, "a row is longer than the tile");
    Index first = b.grid(ceil_div(x.size(0), rows)) * rows;
    auto t = b.local<f32>(rows, columns), squares = b.local<f32>(rows, columns);
    auto w = b.local<f32>(columns);
    auto scale = b.local<f32>(rows);
    b.copy(x.at(first, 0), t);
    b.set(squares, t * t);
    b.reduce(Sum, squares, 1, scale);
    b.set(scale, rsqrt(scale / cast<f32>(x.size(1)) + eps));
    b.copy(weight.at(0), w);
    b.set(t, t * broadcast_rows(scale) * broadcast_cols(w));
    b.copy(t, y.at(first, 0));
  }
};

/// Rows of up to `columns` elements.
struct Softmax {
  int rows = 4, columns = 1024;

  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    b.require(x.size(1) <= columns, "a row is longer than the tile");
    Index first = b.grid(ceil_div(x.size(0), rows)) * rows;
    auto t = b.local<f32>(rows, columns);
    auto top = b.local<f32>(rows), sum = b.local<f32>(rows);
    b.copy(x.at(first, 0), t, {.fill = -infinity});
    b.reduce(Max, t, 1, top);
    b.set(t, exp(t - broadcast_rows(top)));
    b.reduce(Sum, t, 1, sum);
    b.set(sum, 1 / sum);
    b.set(t, t * broadcast_rows(sum));
    b.copy(t, y.at(first, 0));
  }
};

} // namespace bench

#endif // PENSTOCK_BENCHMARKS_NATIVE_FUSEDKERNELS_H
