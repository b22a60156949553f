//===- LimitsTest.cpp - Recording what is too much ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that would exhaust the stack, or that leave scopes open, end with
// diagnostics.
//
//===----------------------------------------------------------------------===//
#include "penstock/penstock.h"
#include "gtest/gtest.h"

using namespace penstock;

namespace {

template <class K> std::string complaint(K kernel) {
  auto compiled = try_compile(kernel, Target::interpreter());
  if (compiled.diagnostics.empty())
    return "";
  const Diagnostic &first = compiled.diagnostics.front();
  return codeName(first.code) + ": " + first.message;
}

void nest(Block &b, Index n, int depth) {
  if (depth)
    b.when(n < 3, [&] { nest(b, n, depth - 1); }, [&] { nest(b, n, 0); });
}

TEST(Limits, ExpressionsAreNotEndless) {
  auto kernel = [](int depth) {
    return [depth](Block &b, Out<f32, 1> out) {
      auto t = b.local<f32>(8);
      b.fill(t, 0);
      Expr<f32> e = t + 1.0f;
      for (int i = 0; i < depth; ++i)
        e = e + 1.0f;
      b.set(t, e);
      b.copy(t, out.at(0));
    };
  };
  EXPECT_EQ(complaint(kernel(900)), "");
  EXPECT_EQ(complaint(kernel(300000)), "PS1010: an expression is nested more than 1000 deep");
}

TEST(Limits, ScopesAreNotEndless) {
  auto kernel = [](int depth) { return [depth](Block &b, Index n) { nest(b, n, depth); }; };
  EXPECT_EQ(complaint(kernel(60)), "");
  EXPECT_EQ(complaint(kernel(20000)), "PS1010: loops and conditions are nested more than 64 deep");
}

TEST(Limits, AScopeThatAnExceptionLeftIsReported) {
  EXPECT_EQ(complaint([](Block &b, Index n) {
              try {
                b.when(n < 3, [] { throw 1; });
              } catch (int) {
              }
            }),
            "PS1001: this condition, statement or parallel body was left before "
            "its end, by an exception");
}

} // namespace
