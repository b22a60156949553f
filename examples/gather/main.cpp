//===- main.cpp - Checks the gather ---------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../common/check.h"
#include "kernel.h"

using namespace examples;

int main() {
  check::Cases cases("gather");
  check::Random random(6);
  check::BothTargets kernels(Gather{.block_m = 16, .block_n = 32});

  struct Shape {
    int64_t V, D, M;
  };
  for (auto [V, D, M] : {Shape{1, 1, 1},
                         {5, 3, 0},
                         {0, 3, 0},
                         {5, 0, 7},
                         {7, 32, 16},
                         {50, 64, 48},
                         {9, 33, 17},
                         {100, 70, 5},
                         {3, 1, 100},
                         {1000, 300, 2001}}) {
    auto table = check::randoms<f16>(random, V * D, -100, 100);
    std::vector<i32> ids;
    for (int64_t i = 0; i < M; ++i) // the first and the last row among them
      ids.push_back(i == 0 ? i32(V - 1) : i32(random() % uint32_t(V)));
    // Nothing is computed, so nothing may differ: the bounds are zero.
    std::vector<check::Expected> want;
    for (i32 id : ids)
      for (int64_t j = 0; j < D; ++j)
        want.push_back({double(table[size_t(id * D + j)]), 0});
    cases.run("V=" + std::to_string(V) + " D=" + std::to_string(D) + " M=" + std::to_string(M),
              M * D < 20000 ? check::Small : check::Large, kernels,
              [&, V = V, D = D, M = M](const auto &kernel) {
                check::Output<f16> y(M * D);
                kernel(view(table, {V, D}), view(ids, {M}), view(y, {M, D}));
                return check::compare(y, want);
              });
  }

  for (i32 wrong : {-1, 4}) // before and after the table
    cases.run("id " + std::to_string(wrong) + " of 4 is reported", check::Small, kernels,
              [&](const auto &kernel) {
                std::vector<f16> table(4 * 8);
                std::vector<i32> ids = {0, wrong, 3};
                check::Output<f16> y(3 * 8);
                check::Outcome outcome;
                auto faults =
                    kernel.try_launch({}, view(table, {4, 8}), view(ids, {3}), view(y, {3, 8}));
                if (faults.empty())
                  outcome.fail("no fault was reported");
                if (!y.intact())
                  outcome.fail("memory outside of the tensor was written");
                return outcome;
              });
  return cases.result();
}
