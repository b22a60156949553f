//===- ChainedProducts.cpp - Products of what threads make of products ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs like attention: a product makes scores, threads make weights of
// them, and a second product adds these up, while the sums so far are multiplied by
// numbers that follow from the scores. Tiles have sizes that are powers of two and others.
// Programs that are not refused run on an emulated GPU under a random timing, natively and, if
// small, on the interpreter, and give what plain loops over the numbers give: these are
// small integers, and all sums are exact.
//
//===----------------------------------------------------------------------===//
#include "Modes.h"
#include "OnTargets.h"

#include <algorithm>

using namespace penstock;
using namespace penstock::fuzz;

namespace {

/// Weights are scores between -2 and 2, what is beyond cut off.
constexpr int largestWeight = 2;

struct Form {
  uint64_t seed = 0;
  int64_t rows = 0, keys = 0, depth = 0, width = 0; ///< of a block, of a step, and of Q and V
  int64_t stages = 0;
  bool causal = false;  ///< row i has keys 0 to i
  bool scales = false;  ///< sums change their sign with a new largest score of the row
  bool sums = false;    ///< the weights of each row are added up
  bool grouped = false; ///< threads' work is one statement of the pipeline
  bool shared = false;  ///< weights lie in shared memory
};

template <class E> struct ChainedProduct {
  Form form;

  void operator()(Block &b, In<E, 2> Q, In<E, 2> K, In<E, 2> V, Out<f32, 2> O,
                  Out<f32, 1> total) const {
    Random random(form.seed);
    auto M = Q.size(0), N = K.size(0);
    Index m0 = b.grid(ceil_div(M, form.rows)) * form.rows;
    auto Qs = b.shared<E>(form.rows, form.depth), Ks = b.shared<E>(form.keys, form.depth),
         Vs = b.shared<E>(form.keys, form.width);
    auto scores = b.local<f32>(form.rows, form.keys), out = b.local<f32>(form.rows, form.width);
    auto weights =
        form.shared ? b.shared<E>(form.rows, form.keys) : b.local<E>(form.rows, form.keys);
    auto top = b.local<f32>(form.rows), old = b.local<f32>(form.rows),
         factor = b.local<f32>(form.rows), sum = b.local<f32>(form.rows),
         part = b.local<f32>(form.rows);
    b.copy(Q.at(m0, 0), Qs);
    b.fill(out, 0);
    b.fill(sum, 0);
    b.fill(top, -1000);
    Index end = form.causal ? min(N, m0 + form.rows) : N;
    bool early = random.chance(50), masked = random.chance(50);
    for (Index n : b.pipelined(ceil_div(end, form.keys), {.num_stages = int(form.stages)})) {
      Index n0 = n * form.keys;
      b.copy(K.at(n0, 0), Ks);
      if (early)
        b.copy(V.at(n0, 0), Vs);
      b.gemm(Qs, transposed(Ks), scores, {.accumulate = false});
      auto work = [&] {
        auto seen = col(scores) + n0 < N;
        if (form.causal)
          seen = seen && row(scores) + m0 >= col(scores) + n0;
        if (masked) // else only where weights are made of them
          b.set(scores, where(seen, scores, -1000));
        if (form.scales) {
          b.copy(top, old);
          if (!masked)
            b.set(scores, where(seen, scores, -1000));
          b.reduce(Max, scores, 1, top, {.accumulate = true});
          b.fill(factor, 1);
          b.set(factor, where(top > old, -1, factor));
        }
        b.set(weights, where(seen, min(max(scores, -largestWeight), largestWeight), 0));
        if (form.sums) {
          b.reduce(Sum, weights, 1, part);
          if (form.scales)
            b.set(sum, sum * factor);
          b.set(sum, sum + part);
        }
        if (form.scales)
          b.set(out, out * broadcast_rows(factor));
      };
      if (form.grouped)
        b.statement("work", work);
      else
        work();
      if (!early)
        b.copy(V.at(n0, 0), Vs);
      b.gemm(weights, Vs, out);
    }
    b.copy(out, O.at(m0, 0));
    b.copy(sum, total.at(m0));
  }
};

template <class T> std::vector<T> numbers(Random &random, int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (T &value : values)
    value = T(float(random.between(-1, 1)));
  return values;
}

/// The results of a row, step by step.
struct Row {
  std::vector<int64_t> out;
  int64_t sum = 0;
};
template <class E>
Row rowOf(const Form &form, int64_t m, const std::vector<E> &q, const std::vector<E> &k,
          const std::vector<E> &v, int64_t N, int64_t D, int64_t W) {
  Row row{std::vector<int64_t>(size_t(W), 0)};
  int64_t top = -1000, m0 = m / form.rows * form.rows;
  int64_t end = form.causal ? std::min(N, m0 + form.rows) : N;
  for (int64_t n0 = 0; n0 < end; n0 += form.keys) {
    int64_t before = top;
    std::vector<std::pair<int64_t, int64_t>> weights; // by key
    for (int64_t n = n0; n < std::min(n0 + form.keys, form.causal ? std::min(N, m + 1) : N); ++n) {
      int64_t score = 0;
      for (int64_t d = 0; d < D; ++d)
        score += int64_t(float(q[size_t(m * D + d)]) * float(k[size_t(n * D + d)]));
      top = std::max(top, score);
      weights.emplace_back(n, std::clamp<int64_t>(score, -largestWeight, largestWeight));
    }
    int64_t factor = form.scales && top > before ? -1 : 1;
    row.sum *= factor;
    for (int64_t &value : row.out)
      value *= factor;
    for (auto [n, weight] : weights) {
      row.sum += weight;
      for (int64_t w = 0; w < W; ++w)
        row.out[size_t(w)] += weight * int64_t(float(v[size_t(n * W + w)]));
    }
  }
  return row;
}

/// One launch against plain loops; what is wrong, or nothing.
template <class E, class Compiled>
std::string launch(const Form &form, const Compiled &compiled, uint64_t seed,
                   const LaunchOptions &options, bool tiny) {
  Random random(seed);
  int64_t grain = random.chance(70) ? 16 : 1;
  int64_t M = random.between(1, tiny ? 70 : 300), N = random.between(0, tiny ? 150 : 400),
          D = random.between(1, form.depth / grain) * grain,
          W = random.between(1, form.width / grain) * grain;
  auto q = numbers<E>(random, M * D), k = numbers<E>(random, N * D), v = numbers<E>(random, N * W);
  std::vector<float> o(size_t(M * W), -777), total(size_t(M), -777);
  auto found = compiled.try_launch(options, view(q, {M, D}), view(k, {N, D}), view(v, {N, W}),
                                   view(o, {M, W}), view(total, {M}));
  if (!found.empty())
    return to_text(found);
  for (int64_t m = 0; m < M; ++m) {
    Row row = rowOf(form, m, q, k, v, N, D, W);
    bool right = total[size_t(m)] == float(form.sums ? row.sum : 0);
    for (int64_t w = 0; w < W; ++w)
      right &= o[size_t(m * W + w)] == float(row.out[size_t(w)]);
    if (!right)
      return "M=" + std::to_string(M) + ", N=" + std::to_string(N) + ", D=" + std::to_string(D) +
             ", W=" + std::to_string(W) + ": row " + std::to_string(m) + " is wrong";
  }
  return {};
}

template <class E>
CaseResult compare(uint64_t seed, Counters &counters, const Preferences *imposed) {
  Random random(derive(seed, 1));
  Form form;
  form.seed = derive(seed, 2);
  bool ofWarps = random.chance(40);
  form.rows =
      ofWarps ? random.of({16, 32, 48, 64, 128}) : random.of({64, 64, 128, 128, 192, 256, 256});
  form.keys = random.of({16, 32, 48, 64, 64, 80, 96, 112, 128, 128});
  form.depth = random.of({16, 32, 64, 64, 96, 128});
  form.width = random.of({16, 32, 64, 64, 80, 96, 128});
  form.stages = random.between(1, 4);
  form.causal = random.chance(30);
  form.scales = random.chance(60);
  form.sums = random.chance(50);
  form.grouped = random.chance(60);
  form.shared = random.chance(15);
  ChainedProduct<E> kernel{form};
  Target gpu = ofWarps             ? withMmaSync(random)
               : random.chance(60) ? Target::sm_100a()
                                   : Target::sm_90a();
  bool tiny = random.chance(15);
  return runOnTargets(
      kernel, gpu, tiny, random, counters,
      [&](const auto &compiled, const LaunchOptions &timing, bool) {
        return launch<E>(form, compiled, derive(seed, 3), timing, tiny);
      },
      imposed);
}

} // namespace

CaseResult penstock::fuzz::chainedOne(uint64_t seed, Counters &counters,
                                      const Preferences *imposed) {
  return seed % 3 ? compare<f16>(seed, counters, imposed) : compare<bf16>(seed, counters, imposed);
}

int penstock::fuzz::runChained(const BatchOptions &options) {
  BatchResult result = runFamily(options, chainedOne);
  Counters &c = result.counters;
  return report(result, "--chained", "programs",
                {{"refused", c[Refused]}, {"compiled", c[Built]}, {"launches", c[Launched]}});
}
