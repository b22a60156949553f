//===- call.cpp - A small launch from C++, to compare with Python ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints the best time of a launch in microseconds. measure.py calls the same kernel.
//
//===----------------------------------------------------------------------===//
#include "gallery/swiglu.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

using namespace penstock;

int main() {
  std::vector<f16> gate(64), up(64), y(64);
  auto kernel = compile(gallery::SwiGlu{}, Target::native());
  double best = 1e9;
  for (int round = 0; round < 200; ++round) {
    auto started = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; ++i)
      kernel(view(gate, {1, 64}), view(up, {1, 64}), view(y, {1, 64}));
    std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - started;
    best = std::min(best, time.count() / 200);
  }
  std::printf("%.3f\n", best);
}
