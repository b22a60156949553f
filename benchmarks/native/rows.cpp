//===- rows.cpp - Softmax and attention beside plain loops ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// native/softmax-4096x1024        softmax of each row, in GB/s of what is read
//                                 and written
// native/attention-8x1024x64      8 heads, 1024 queries and keys, 64 wide, not
//                                 causal; GFLOP/s of its two products
//
// The reference is PlainLoops.cpp on the same number of threads.
//
//===----------------------------------------------------------------------===//
#include "Measure.h"
#include "PlainLoops.h"

#include <functional>
#include <penstock/penstock.h>
#include <thread>

using namespace penstock;

namespace {

struct Softmax {
  int block = 4, columns = 1024;

  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto first = b.grid(ceil_div(x.size(0), block)) * block;
    auto t = b.local<f32>(block, columns);
    auto top = b.local<f32>(block), sum = b.local<f32>(block);
    b.copy(x.at(first, 0), t, {.fill = -infinity});
    b.reduce(Max, t, 1, top);
    b.set(t, exp(t - broadcast_rows(top)));
    b.reduce(Sum, t, 1, sum);
    b.set(t, t / broadcast_rows(sum));
    b.copy(t, y.at(first, 0));
  }
};

struct Attention {
  int block_m = 64, block_n = 128, dim = 64;

  void operator()(Block &b, In<f32, 3> Q, In<f32, 3> K, In<f32, 3> V, Out<f32, 3> O,
                  Scalar<f32> scale) const {
    auto [m, head] = b.grid(ceil_div(Q.size(1), block_m), Q.size(0));
    auto m0 = m * block_m;
    auto keys = K.size(1);
    auto Qs = b.shared<f32>(block_m, dim);
    auto Ks = b.shared<f32>(block_n, dim), Vs = b.shared<f32>(block_n, dim);
    auto S = b.local<f32>(block_m, block_n), out = b.local<f32>(block_m, dim);
    auto top = b.local<f32>(block_m), old = b.local<f32>(block_m), sum = b.local<f32>(block_m);
    auto part = b.local<f32>(block_m), rescale = b.local<f32>(block_m);

    b.copy(Q.at(head, m0, 0), Qs);
    b.set(Qs, Qs * scale);
    b.fill(top, -infinity);
    b.fill(sum, 0);
    b.fill(out, 0);
    for (Index n : b.range(ceil_div(keys, block_n))) {
      auto n0 = n * block_n;
      b.copy(K.at(head, n0, 0), Ks);
      b.copy(V.at(head, n0, 0), Vs);
      b.gemm(Qs, transposed(Ks), S, {.accumulate = false});
      b.when(n0 + block_n > keys, [&] { b.set(S, where(col(S) + n0 < keys, S, -infinity)); });
      b.copy(top, old);
      b.reduce(Max, S, 1, top, {.accumulate = true});
      b.set(rescale, exp(old - top));
      b.set(S, exp(S - broadcast_rows(top)));
      b.reduce(Sum, S, 1, part);
      b.set(sum, sum * rescale + part);
      b.set(out, out * broadcast_rows(rescale));
      b.gemm(S, Vs, out);
    }
    b.set(out, out / broadcast_rows(sum));
    b.copy(out, O.at(head, m0, 0));
  }
};

/// Runs a plain loop over `rows` rows on as many threads as Penstock has.
void split(int64_t rows, const std::function<void(int64_t, int64_t)> &loop) {
  int64_t threads = bench::threads(), share = (rows + threads - 1) / threads;
  std::vector<std::thread> helpers;
  for (int64_t t = 1; t < threads; ++t)
    helpers.emplace_back([&, t] { loop(t * share, std::min(rows, (t + 1) * share)); });
  loop(0, std::min(rows, share));
  for (std::thread &helper : helpers)
    helper.join();
}

void softmax(const std::string &name) {
  constexpr int64_t rows = 4096, columns = 1024;
  auto x = bench::numbers<float>(rows * columns, 1);
  std::vector<float> ours(x.size()), theirs(x.size());
  auto kernel = compile(Softmax{}, Target::native());
  bench::Pair best = bench::best(
      [&] {
        kernel.launch({.threads = bench::threads()}, view(x, {rows, columns}),
                      view(ours, {rows, columns}));
      },
      [&] {
        split(rows, [&](int64_t first, int64_t last) {
          plain::softmax(x.data(), theirs.data(), columns, first, last);
        });
      });
  bench::expectClose(name, ours, theirs, 1e-5);
  double gigabytes = 2e-9 * sizeof(float) * double(rows * columns);
  bench::line(name, gigabytes / best.ours, gigabytes / best.theirs, best.theirs / best.ours,
              "GB/s");
}

void attention(const std::string &name) {
  constexpr int64_t heads = 8, queries = 1024, dim = 64;
  const size_t size = heads * queries * dim;
  auto q = bench::numbers<float>(size, 1), k = bench::numbers<float>(size, 2),
       v = bench::numbers<float>(size, 3);
  std::vector<float> ours(size), theirs(size);
  const float scale = 0.125f;
  auto kernel = compile(Attention{}, Target::native());
  bench::Pair best = bench::best(
      [&] {
        kernel.launch({.threads = bench::threads()}, view(q, {heads, queries, dim}),
                      view(k, {heads, queries, dim}), view(v, {heads, queries, dim}),
                      view(ours, {heads, queries, dim}), scale);
      },
      [&] {
        split(heads, [&](int64_t first, int64_t last) {
          for (int64_t h = first; h < last; ++h) {
            int64_t at = h * queries * dim;
            plain::attention(&q[at], &k[at], &v[at], &theirs[at], queries, dim, scale, 0, queries);
          }
        });
      });
  bench::expectClose(name, ours, theirs, 1e-4);
  double work = 4e-9 * double(heads) * double(queries) * double(queries) * double(dim);
  bench::line(name, work / best.ours, work / best.theirs, best.theirs / best.ours, "GFLOP/s");
}

} // namespace

int main(int argc, char **argv) {
  if (auto name = "native/softmax-4096x1024"; bench::wanted(argc, argv, name))
    softmax(name);
  if (auto name = "native/attention-8x1024x64"; bench::wanted(argc, argv, name))
    attention(name);
}
