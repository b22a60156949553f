//===- VariantsTest.cpp - The kernel for rows of odd sizes ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows that engines cannot copy need a second kernel. Most programs never launch it,
// so it is compiled when a launch first needs it, and once.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"
#include "penstock/cache.h"
#include "penstock/log.h"

#include <atomic>
#include <thread>

using namespace penstock;
using namespace programs;

namespace {

struct Scaled {
  int block = 64;
  static constexpr auto signature = "X[M,N] -> Y[M,N]";
  void operator()(Block &b, In<f16, 2> X, Out<f16, 2> Y) const {
    auto [m, n] = b.grid(ceil_div(X.size(0), block), ceil_div(X.size(1), block));
    auto x = b.local<f16>(block, block);
    b.copy(X.at(m * block, n * block), x);
    b.set(x, x * 2);
    b.copy(x, Y.at(m * block, n * block));
  }
};

template <class Kernel> void launch(const Kernel &kernel, int64_t n) {
  std::vector<f16> x(size_t(3 * n), f16(1.5f)), y(size_t(3 * n));
  kernel(view(x, {3, n}), view(y, {3, n}));
  for (f16 element : y)
    EXPECT_EQ(float(element), 3.0f);
}

} // namespace

TEST(Variants, TheKernelForOddRowsIsCompiledOnceWhenItIsNeeded) {
  std::atomic<int> compiled = 0, odd = 0;
  set_log(LogLevel::Info, [&](const Event &event) {
    compiled += event.name == std::string("compile");
    odd += event.subject.find("rows of odd sizes") != std::string::npos;
  });
  for (const Target &target : gpus) {
    compiled = odd = 0;
    auto kernel = compile(Scaled{}, target, {.cache = &KernelCache::none()});
    launch(kernel, 128);
    launch(kernel, 8);
    EXPECT_EQ(compiled, 1);
    EXPECT_EQ(odd, 0);
    std::vector<std::thread> threads;
    for (int64_t n : {7, 9, 127, 33})
      threads.emplace_back([&kernel, n] { launch(kernel, n); });
    for (std::thread &thread : threads)
      thread.join();
    launch(kernel, 5);
    EXPECT_EQ(compiled, 2);
    EXPECT_EQ(odd, 1);
  }
  set_log(LogLevel::Off, {});
}
