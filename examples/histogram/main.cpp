//===- main.cpp - Checks the histogram ------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../common/check.h"
#include "kernel.h"

using namespace examples;

int main() {
  check::Cases cases("histogram");
  check::Random random(7);
  check::BothTargets kernels(Histogram{.block = 128, .bins = 64});

  struct Case {
    int64_t N, B;
    i32 low, high; ///< numbers are drawn from low .. high-1
  };
  for (auto [N, B, low, high] : {Case{0, 10, 0, 10},
                                 {1, 1, 0, 1},
                                 {100, 0, 0, 5},
                                 {7, 3, 0, 3},
                                 {128, 64, 0, 64},
                                 {129, 63, 0, 64},
                                 {1000, 20, -5, 100},
                                 {4096, 1, 0, 1},
                                 {1'000'001, 64, 0, 64},
                                 {300'000, 5, 2, 3}}) {
    std::vector<i32> x;
    std::vector<check::Expected> want(size_t(B), {0, 0}); // integers: no error
    for (int64_t i = 0; i < N; ++i) {
      i32 value = low + i32(random() % uint32_t(high - low));
      if (i == 0 && high > 64)
        value = std::numeric_limits<i32>::min();
      x.push_back(value);
      if (value >= 0 && value < B)
        ++want[size_t(value)].value;
    }
    cases.run("N=" + std::to_string(N) + " B=" + std::to_string(B),
              N < 5000 ? check::Small : check::Large, kernels,
              [&, N = N, B = B](const auto &kernel) {
                check::Output<i32> counts(B);
                std::fill(counts.data(), counts.data() + B, 0);
                kernel(view(x, {N}), view(counts, {B}));
                return check::compare(counts, want);
              });
  }

  cases.run("too many bins are reported", check::Small, kernels, [&](const auto &kernel) {
    std::vector<i32> x(5), counts(65);
    check::Outcome outcome;
    auto faults = kernel.try_launch({}, view(x, {5}), view(counts, {65}));
    if (faults.empty() || faults[0].message.find("fewer bins") == std::string::npos)
      outcome.fail("no fault, or another one: " + penstock::to_text(faults));
    return outcome;
  });
  return cases.result();
}
