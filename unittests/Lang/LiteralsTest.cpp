//===- LiteralsTest.cpp - Numbers of the host inside of kernels -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "penstock/penstock.h"
#include "gtest/gtest.h"

using namespace penstock;

namespace {

/// Scalars, expressions and stores take elements as well as C++'s own numbers.
template <class T> void expectTaken(float number, float sum) {
  auto kernel = [=](Block &b, Out<T, 1> y) {
    auto tile = b.template local<T>(4);
    b.fill(tile, T(number));
    b.set(tile, tile + T(0.25f));
    b.copy(tile, y.at(0));
    b.store(y.at(0), T(number));
  };
  for (const Target &target : {Target::native(), Target::interpreter()}) {
    std::vector<T> y(4, T(0));
    auto compiled = try_compile(kernel, target);
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    compiled.kernel(view(y, {4}));
    EXPECT_EQ(float(y[0]), number);
    EXPECT_EQ(float(y[1]), sum);
  }
}

TEST(Literals, ElementsOfTheHost) {
  expectTaken<f16>(1.5f, 1.75f);
  expectTaken<bf16>(1.5f, 1.75f);
  expectTaken<f8e4m3>(1.5f, 1.75f);
  expectTaken<f8e5m2>(1.5f, 1.75f);
  expectTaken<f32>(1.5f, 1.75f);
  expectTaken<f64>(1.5f, 1.75f);
}

TEST(Literals, KeepTheirPrecision) {
  auto compiled =
      try_compile([](Block &b, Out<f64, 1> y) { b.store(y.at(0), 0.1); }, Target::native());
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  std::vector<double> y(1);
  compiled.kernel(view(y, {1}));
  EXPECT_EQ(y[0], 0.1);
}

} // namespace
