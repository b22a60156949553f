//===- callers.cpp - Launches from many threads at once -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// launch/callers      16 threads launch products of bf16 at once, each on two threads;
//                     milliseconds for all launches, and the limit: the same launches one
//                     after the other
// launch/callers-executor  the same, with an executor that starts a thread for each task
//
//===----------------------------------------------------------------------===//
#include "../native/Measure.h"

#include <penstock/penstock.h>

#include <thread>

using namespace penstock;

namespace {

constexpr int callers = 16, launches = 20;
constexpr int64_t size = 512;

struct Product {
  int block = 128;

  void operator()(Block &b, In<bf16, 2> A, In<bf16, 2> B, Out<f32, 2> C) const {
    auto [bm, bn] = b.grid(ceil_div(C.size(0), block), ceil_div(C.size(1), block));
    auto As = b.shared<bf16>(block, block), Bs = b.shared<bf16>(block, block);
    auto acc = b.local<f32>(block, block);
    b.fill(acc, 0);
    for (Index k : b.range(ceil_div(A.size(1), block))) {
      b.copy(A.at(bm * block, k * block), As);
      b.copy(B.at(k * block, bn * block), Bs);
      b.gemm(As, Bs, acc);
    }
    b.copy(acc, C.at(bm * block, bn * block));
  }
};

void run(const std::string &name, const LaunchOptions &options) {
  auto kernel = compile(Product{}, Target::native());
  std::vector<bf16> a(size * size), b(size * size);
  auto numbers = bench::numbers<float>(a.size(), 1);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = bf16(numbers[i]), b[i] = bf16(numbers[a.size() - 1 - i]);
  std::vector<std::vector<f32>> results(callers, std::vector<f32>(a.size()));
  auto call = [&](int caller) {
    for (int i = 0; i < launches; ++i)
      kernel.launch(options, view(a, {size, size}), view(b, {size, size}),
                    view(results[size_t(caller)], {size, size}));
  };
  bench::Pair best = bench::best(
      [&] {
        std::vector<std::thread> threads;
        for (int caller = 0; caller < callers; ++caller)
          threads.emplace_back(call, caller);
        for (std::thread &thread : threads)
          thread.join();
      },
      [&] {
        for (int caller = 0; caller < callers; ++caller)
          call(caller);
      });
  for (const auto &result : results)
    bench::expectClose(name, result, results[0], 0);
  bench::line(name, 1e3 * best.ours, 1e3 * best.theirs, best.ours / best.theirs,
              "ms (limit: one after the other)");
}

} // namespace

int main(int argc, char **argv) {
  if (auto name = "launch/callers"; bench::wanted(argc, argv, name))
    run(name, {.threads = 2});
  auto executor = [](int tasks, const Callback<int> &task) {
    std::vector<std::thread> threads;
    for (int i = 1; i < tasks; ++i)
      threads.emplace_back([&task, i] { task(i); });
    task(0);
    for (std::thread &thread : threads)
      thread.join();
  };
  if (auto name = "launch/callers-executor"; bench::wanted(argc, argv, name))
    run(name, {.threads = 2, .executor = executor});
}
