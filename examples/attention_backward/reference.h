//===- reference.h - Gradients of attention by plain loops ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random problems, their gradients in double precision and how far a right kernel may be
// from them; shared by the example and the tests of GPUs.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_ATTENTION_BACKWARD_REFERENCE_H
#define PENSTOCK_EXAMPLES_ATTENTION_BACKWARD_REFERENCE_H

#include "../common/check.h"

#include <algorithm>

namespace examples::backward {
using namespace penstock;

struct Sizes {
  int64_t H, M, N, D;
  double range; ///< of queries and keys: larger ones make sharper weights
};

/// Inputs, and the gradients in double precision with their bounds.
struct Problem {
  Sizes s = {};
  f32 scale = 0;
  std::vector<f16> q, k, v, dO;
  std::vector<f32> l, r, dq0;
  std::vector<check::Expected> dq, dk, dv;
};

inline double dot(const std::vector<f16> &a, int64_t i, const std::vector<f16> &b, int64_t j,
                  int64_t D, double &magnitude) {
  double sum = 0;
  magnitude = 0;
  for (int64_t d = 0; d < D; ++d) {
    double product = double(a[size_t(i * D + d)]) * double(b[size_t(j * D + d)]);
    sum += product;
    magnitude += std::fabs(product);
  }
  return sum;
}

inline check::Expected roundedToHalf(double value, double error) {
  using Half = check::Rounding<f16>;
  return {value, error + Half::unit * (std::fabs(value) + error) + Half::tiny};
}

// With u the unit roundoff of f32 and u16 that of f16; sums over d have D terms, products of f16
// are exact in f32.
// - A score errs by gamma(D) sum|q k|. The exponent score * scale - L, in powers of two, errs by
//   that times scale, and by the roundings of scale * log2(e) (2, with that of the constant), of
//   the product, of L * log2(e) (2) and of the difference, each relative to a part of it; as a
//   factor of the weight that is the same, since exp2(x log2(e)) = exp(x). exp2 errs by 2 u.
//   Together p.
// - A product with weights takes them rounded to f16: u16, and `tiny` near zero.
// - The gradient of a weight errs by gamma(D) sum|dO v|, that of a score is
//   dS = P (dP - R) scale: the error p of P, that of dP, a rounding of the difference, two of the
//   products, then that to f16.
// - dK sums M of them, dQ N of them and what the tensor held, in any order.
inline void reference(Problem &problem) {
  using Half = check::Rounding<f16>;
  auto [H, M, N, D, range] = problem.s;
  double scale = double(problem.scale), u = check::u32;
  struct Sum {
    double value = 0, error = 0, magnitude = 0;
    void add(double term, double wrong) {
      value += term;
      error += wrong;
      magnitude += std::fabs(term);
    }
  };
  std::vector<Sum> dq(size_t(H * M * D)), dk(size_t(H * N * D)), dv(size_t(H * N * D));
  for (int64_t h = 0; h < H; ++h)
    for (int64_t i = h * M; i < (h + 1) * M; ++i)
      for (int64_t j = h * N; j < (h + 1) * N; ++j) {
        double products, scoreProducts;
        double score = dot(problem.q, i, problem.k, j, D, scoreProducts);
        double l = double(problem.l[size_t(i)]), r = double(problem.r[size_t(i)]);
        double weight = std::exp(score * scale - l);
        double p = scale * check::gamma(double(D)) * scoreProducts +
                   u * (4 * std::fabs(score * scale) + 3 * std::fabs(l)) + 2 * u;
        double dP = dot(problem.dO, i, problem.v, j, D, products);
        double dS = weight * (dP - r) * scale;
        double wrong =
            p * std::fabs(dS) +
            weight * scale * (check::gamma(double(D)) * products + u * std::fabs(dP - r)) +
            3 * u * std::fabs(dS);
        wrong += Half::unit * (std::fabs(dS) + wrong) + Half::tiny;
        double rounded = weight * (p + Half::unit) + Half::tiny;
        for (int64_t d = 0; d < D; ++d) {
          double out = double(problem.dO[size_t(i * D + d)]);
          double query = double(problem.q[size_t(i * D + d)]);
          double key = double(problem.k[size_t(j * D + d)]);
          dv[size_t(j * D + d)].add(weight * out, rounded * std::fabs(out));
          dk[size_t(j * D + d)].add(dS * query, wrong * std::fabs(query));
          dq[size_t(i * D + d)].add(dS * key, wrong * std::fabs(key));
        }
      }
  for (size_t i = 0; i < dq.size(); ++i) {
    Sum &sum = dq[i];
    sum.add(double(problem.dq0[i]), 0);
    problem.dq.push_back(
        {sum.value, sum.error + check::gamma(double(N) + 2) * (sum.magnitude + sum.error)});
  }
  for (auto [sums, want] : {std::pair(&dk, &problem.dk), std::pair(&dv, &problem.dv)})
    for (const Sum &sum : *sums)
      want->push_back(roundedToHalf(sum.value, sum.error + check::gamma(double(M) + 1) *
                                                               (sum.magnitude + sum.error)));
}

inline Problem problemOf(check::Random &random, Sizes s) {
  Problem problem;
  problem.s = s;
  problem.scale = f32(1 / std::sqrt(double(s.D)));
  problem.q = check::randoms<f16>(random, s.H * s.M * s.D, -s.range, s.range);
  problem.k = check::randoms<f16>(random, s.H * s.N * s.D, -s.range, s.range);
  problem.v = check::randoms<f16>(random, s.H * s.N * s.D, -1, 1);
  problem.dO = check::randoms<f16>(random, s.H * s.M * s.D, -1, 1);
  problem.dq0 = check::randoms<f32>(random, s.H * s.M * s.D, -1, 1);
  // As a forward pass gives them: weights of a query add up to one, and R is their mean of dP.
  for (int64_t i = 0; i < s.H * s.M; ++i) {
    int64_t first = i / s.M * s.N;
    double top = 0, sum = 0, mean = 0, ignored;
    std::vector<double> scores;
    for (int64_t j = first; j < first + s.N; ++j)
      scores.push_back(dot(problem.q, i, problem.k, j, s.D, ignored) * double(problem.scale));
    for (double score : scores)
      top = std::max(top, score);
    for (double score : scores)
      sum += std::exp(score - top);
    for (int64_t j = first; j < first + s.N; ++j)
      mean += std::exp(scores[size_t(j - first)] - top) / sum *
              dot(problem.dO, i, problem.v, j, s.D, ignored);
    problem.l.push_back(f32(s.N ? top + std::log(sum) : 0));
    problem.r.push_back(f32(mean));
  }
  reference(problem);
  return problem;
}

/// Launches a kernel on a problem and compares all gradients. \p launch is given its arguments.
template <class Launch> check::Outcome compareGradients(const Problem &problem, Launch launch) {
  auto [H, M, N, D, range] = problem.s;
  check::Output<f32> dq(H * M * D);
  check::Output<f16> dk(H * N * D), dv(H * N * D);
  std::copy(problem.dq0.begin(), problem.dq0.end(), dq.data());
  launch(view(problem.q, {H, M, D}), view(problem.k, {H, N, D}), view(problem.v, {H, N, D}),
         view(problem.dO, {H, M, D}), view(problem.l, {H, M}), view(problem.r, {H, M}),
         problem.scale, view(dq, {H, M, D}), view(dk, {H, N, D}), view(dv, {H, N, D}));
  check::Outcome all = check::compare(dq, problem.dq);
  for (const check::Outcome &one :
       {check::compare(dk, problem.dk), check::compare(dv, problem.dv)}) {
    all.worst = std::max(all.worst, one.worst);
    if (!one.passed)
      all.fail(one.message);
  }
  return all;
}

} // namespace examples::backward

#endif // PENSTOCK_EXAMPLES_ATTENTION_BACKWARD_REFERENCE_H
