//===- ChainedProductsTest.cpp - Products into one accumulator ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asynchronous products into one accumulator take effect in the order of issue
// however late they complete, and a copy between two views of one tile reads
// all before it writes any, also when it runs later. Outside of pipelined loops,
// so that no wait of a pipeline hides an error.
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

#include <gtest/gtest.h>

using namespace penstock;

namespace {

constexpr int size = 4;

/// The second product overwrites, the third adds: exchanged, they show.
struct Chain {
  void operator()(Block &b, In<f32, 2> A, In<f32, 2> B, Out<f32, 2> C) const {
    auto x = b.shared<f32>(size, size), y = b.shared<f32>(size, size);
    auto acc = b.local<f32>(size, size), other = b.local<f32>(size, size);
    b.copy(A.at(0, 0), x);
    b.copy(B.at(0, 0), y);
    b.fill(acc, 7);
    b.gemm(x, x, acc, {.async = "first"});
    b.gemm(y, y, other, {.accumulate = false, .async = "beside"});
    b.gemm(x, y, acc, {.accumulate = false, .async = "second"});
    b.gemm(y, x, acc, {.async = "third"});
    // A wait for the last ends what came before it in its chain.
    b.wait("third");
    b.copy(acc, C.at(0, 0));
    b.wait({"first", "second", "beside"});
    b.copy(other, C.at(size, 0));
  }
};

/// Shifts the rows of a tile down by one, later.
struct Shift {
  void operator()(Block &b, In<f32, 2> A, Out<f32, 2> C) const {
    auto t = b.shared<f32>(2 * size, size);
    b.copy(A.at(0, 0), t);
    b.copy(slice(t, {0, 0}, {2 * size - 1, size}), slice(t, {1, 0}, {2 * size - 1, size}),
           {.async = "shift"});
    b.wait("shift");
    b.copy(t, C.at(0, 0));
  }
};

std::vector<float> numbers(int first) {
  std::vector<float> values(2 * size * size);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 5 + static_cast<size_t>(first)) % 11) - 5;
  return values;
}

/// Runs \p test natively and on the interpreter, with every completion.
template <class K, class Test> void forAllCompletions(K program, Test test) {
  for (auto target : {Target::native(), Target::interpreter()}) {
    auto kernel = compile(program, target, {.late_completion = true});
    for (auto completion : {Completion::Eager, Completion::Latest, Completion::Random})
      for (uint64_t seed = 0; seed < 10; ++seed)
        test(kernel, LaunchOptions{.completion = completion, .seed = seed});
  }
}

TEST(ChainedProducts, TakeEffectInTheOrderOfIssue) {
  auto a = numbers(1), b = numbers(4);
  std::vector<float> expected(2 * size * size, 0);
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j)
      for (int k = 0; k < size; ++k) {
        auto at = [](int row, int column) { return size_t(row) * size_t(size) + size_t(column); };
        expected[at(i, j)] += a[at(i, k)] * b[at(k, j)] + b[at(i, k)] * a[at(k, j)];
        expected[at(size + i, j)] += b[at(i, k)] * b[at(k, j)];
      }
  forAllCompletions(Chain{}, [&](auto &kernel, LaunchOptions options) {
    std::vector<float> c(2 * size * size, -1);
    kernel.launch(options, view(a, {size, size}), view(b, {size, size}), view(c, {2 * size, size}));
    EXPECT_EQ(c, expected) << "completion " << int(options.completion);
  });
}

TEST(ChainedProducts, CopiesBetweenViewsOfOneTileReadFirst) {
  auto a = numbers(2);
  std::vector<float> expected(a.begin(), a.begin() + size);
  expected.insert(expected.end(), a.begin(), a.end() - size);
  forAllCompletions(Shift{}, [&](auto &kernel, LaunchOptions options) {
    std::vector<float> c(2 * size * size, -1);
    kernel.launch(options, view(a, {2 * size, size}), view(c, {2 * size, size}));
    EXPECT_EQ(c, expected) << "completion " << int(options.completion);
  });
}

} // namespace
