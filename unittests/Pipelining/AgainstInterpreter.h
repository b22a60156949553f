//===- AgainstInterpreter.h - Pipelines against the source order *- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_PIPELINING_AGAINSTINTERPRETER_H
#define PENSTOCK_UNITTESTS_PIPELINING_AGAINSTINTERPRETER_H

#include <penstock/penstock.h>

#include <gtest/gtest.h>

namespace penstock::test {

inline std::vector<float> smallNumbers(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(i % 7) + 1;
  return values;
}

/// Runs a kernel (X[N], n) -> A[N] for up to \p most iterations: native code with its
/// pipelines written out must give what the interpreter gives in source order,
/// whenever copies complete.
template <typename Kernel> void expectSourceOrder(const Kernel &kernel, int64_t most) {
  auto reference = try_compile(kernel, Target::interpreter());
  ASSERT_TRUE(reference) << to_text(reference.diagnostics);
  auto native = try_compile(kernel, Target::native(), {.late_completion = true});
  ASSERT_TRUE(native) << to_text(native.diagnostics);
  const int64_t size = 256;
  for (int64_t n = 0; n <= most; ++n) {
    std::vector<float> x = smallNumbers(size), expected(size, 1);
    reference.kernel.launch({.completion = Completion::Latest}, view(x, {size}), n,
                            view(expected, {size}));
    for (auto completion : {Completion::Eager, Completion::Latest, Completion::Random})
      for (uint64_t seed = 0; seed < 4; ++seed) {
        std::vector<float> actual(size, 1);
        native.kernel.launch({.completion = completion, .seed = seed}, view(x, {size}), n,
                             view(actual, {size}));
        EXPECT_EQ(actual, expected) << "n = " << n << ", completion " << int(completion);
      }
  }
}

} // namespace penstock::test

#endif // PENSTOCK_UNITTESTS_PIPELINING_AGAINSTINTERPRETER_H
