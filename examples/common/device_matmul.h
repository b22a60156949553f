//===- device_matmul.h - Matmuls for GPUs against a plain loop --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kernel runs on the emulator, with all checks, over shapes that do and do
// not divide by its tiles, fewer k tiles than stages, and none at all, each in
// several timings. The elements are small integers: all sums are exact in f32,
// and results that f16 holds exactly are compared bit by bit.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_COMMON_DEVICE_MATMUL_H
#define PENSTOCK_EXAMPLES_COMMON_DEVICE_MATMUL_H

#include <penstock/penstock.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace device_matmul {
using namespace penstock;

struct Shape {
  int64_t m, n, k;
};

class Cases {
public:
  Cases(const char *name, Target target) : name(name), target(target) {}

  template <class K> void run(const std::string &what, const K &kernel) {
    auto compiled = try_compile(kernel, target, {.name = "matmul"});
    if (!compiled) {
      std::printf("%s: %s\n%s\n", name, what.c_str(), to_text(compiled.diagnostics).c_str());
      ++failures;
      return;
    }
    static constexpr Shape shapes[] = {{128, 128, 64}, {256, 256, 448}, {136, 200, 72},
                                       {8, 8, 8},      {128, 256, 128}, {300, 40, 200},
                                       {128, 128, 0},  {0, 128, 64}};
    for (const Shape &shape : shapes)
      check(what, compiled.kernel, shape);
  }

  /// The same for kernels that take tensors of any strides: engines want rows
  /// of 16 bytes.
  template <class K> void runAnyRows(const std::string &what, const K &kernel) {
    run(what, kernel);
    if (auto compiled = try_compile(kernel, target, {.name = "matmul"}))
      for (const Shape &shape : {Shape{100, 70, 50}, Shape{129, 131, 67}, Shape{1, 1, 1}})
        check(what, compiled.kernel, shape);
  }

  int result() const {
    std::printf("%s: %d runs, %d failures\n", name, runs, failures);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
  }

private:
  template <class... A>
  void check(const std::string &what, const KernelOf<std::tuple<A...>> &kernel,
             const Shape &shape) {
    // On the CPU there is one timing.
    bool device = target.kind == Target::Kind::Sm90a || target.kind == Target::Kind::Sm100a;
    for (int timing = 0; timing < (device ? 4 : 1); ++timing)
      check<typename std::tuple_element_t<0, std::tuple<A...>>::value_type>(what, kernel, shape,
                                                                            timing);
  }

  template <class T, class Kernel>
  void check(const std::string &what, const Kernel &kernel, const Shape &shape, int timing) {
    auto [m, n, k] = shape;
    std::vector<T> a(size_t(m * k)), b(size_t(n * k)), c(size_t(m * n), T(-77));
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = float(int(i * 7 % 5) - 2);
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = float(int(i * 3 % 5) - 2);
    LaunchOptions options;
    options.completion = timing == 0   ? Completion::Eager
                         : timing == 1 ? Completion::Latest
                                       : Completion::Random;
    options.seed = uint64_t(timing);
    auto problems = kernel.try_launch(options, view(a, {m, k}), view(b, {n, k}), view(c, {m, n}));
    ++runs;
    int64_t wrong = 0;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += double(float(a[size_t(i * k + l)])) * double(float(b[size_t(j * k + l)]));
        wrong += float(c[size_t(i * n + j)]) != float(T(float(sum)));
      }
    if (problems.empty() && !wrong)
      return;
    ++failures;
    std::printf("%s: %s, %lldx%lldx%lld, timing %d: %lld wrong\n%s\n", name, what.c_str(),
                (long long)m, (long long)n, (long long)k, timing, (long long)wrong,
                to_text(problems).c_str());
  }

  const char *name;
  Target target;
  int runs = 0, failures = 0;
};

} // namespace device_matmul

#endif // PENSTOCK_EXAMPLES_COMMON_DEVICE_MATMUL_H
