//===- main.cpp - Checks the gradients of attention -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernel.h"
#include "reference.h"

using namespace examples;
using backward::Sizes;

int main() {
  check::Cases cases("attention_backward");
  check::Random random(11);
  auto test = [&](const auto &kernels, check::Size size, Sizes sizes) {
    backward::Problem problem = backward::problemOf(random, sizes);
    auto [H, M, N, D, range] = sizes;
    cases.run("H=" + std::to_string(H) + " M=" + std::to_string(M) + " N=" + std::to_string(N) +
                  " D=" + std::to_string(D) + " range " + std::to_string(int(range)),
              size, kernels,
              [&](const auto &kernel) { return backward::compareGradients(problem, kernel); });
  };
  check::BothTargets small(AttentionBackward{.block_m = 8, .block_n = 16, .dim = 16});
  for (Sizes sizes : {Sizes{0, 4, 4, 4, 1},
                      {1, 0, 4, 4, 1},
                      {1, 4, 0, 4, 1},
                      {1, 1, 1, 1, 1},
                      {2, 16, 32, 16, 1}, // everything divides
                      {2, 17, 35, 13, 2}, // nothing does
                      {1, 40, 11, 16, 6}})
    test(small, check::Small, sizes);
  check::BothTargets large(AttentionBackward{});
  for (Sizes sizes : {Sizes{2, 128, 192, 64, 2}, {1, 100, 133, 60, 3}})
    test(large, check::Large, sizes);
  check::BothTargets wide(AttentionBackward{.dim = 128});
  test(wide, check::Large, {1, 130, 100, 128, 2});
  return cases.result();
}
