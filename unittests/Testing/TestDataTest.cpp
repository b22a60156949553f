//===- TestDataTest.cpp - Arguments made from a signature -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Inputs/TestData.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace penstock;

namespace {

const std::vector<ArgumentDescription> sum = {{"A", true, Element::f16, 2, false, {"M", "K"}},
                                              {"s", false, Element::f32, 0, false, {}},
                                              {"C", true, Element::f32, 1, true, {"M"}}};

TEST(TestData, ExactDataAreSmallIntegers) {
  MadeArguments made = make_arguments(sum, {{"M", 16}, {"K", 32}, {"s", 0.5}}, Data::Exact, 1);
  ASSERT_TRUE(made.diagnostics.empty());
  ASSERT_EQ(made.arguments.size(), 3u);
  auto listOf = [](const detail::Extents &from) { return std::vector(from.begin(), from.end()); };
  EXPECT_EQ(listOf(made.arguments[0].sizes), (std::vector<int64_t>{16, 32}));
  EXPECT_EQ(listOf(made.arguments[0].strides), (std::vector<int64_t>{32, 1}));
  std::set<double> values;
  for (size_t i = 0; i < 16 * 32; ++i)
    values.insert(element_at(made.arguments[0], i));
  EXPECT_EQ(values, (std::set<double>{-2, -1, 0, 1, 2}));
  float scalar;
  std::memcpy(&scalar, &made.arguments[1].scalar, sizeof scalar);
  EXPECT_EQ(scalar, 0.5f);
}

TEST(TestData, RandomDataAreBelowOne) {
  MadeArguments made = make_arguments(sum, {{"M", 16}, {"K", 32}}, Data::Random, 1);
  std::set<double> values;
  for (size_t i = 0; i < 16 * 32; ++i) {
    double value = element_at(made.arguments[0], i);
    EXPECT_LE(std::fabs(value), 1);
    values.insert(value);
  }
  EXPECT_GT(values.size(), 256u);
}

TEST(TestData, WhatIsMissingOrWrongIsSaid) {
  auto message = [](const Shape &shape) {
    MadeArguments made = make_arguments(sum, shape, Data::Exact, 1);
    return made.diagnostics.empty() ? "" : made.diagnostics[0].message;
  };
  EXPECT_EQ(message({{"M", 16}}), "the size `K` of `A` is not given; use --shape K=..");
  EXPECT_EQ(message({{"M", 16}, {"K", -1}}), "the size `K` cannot be -1");
  EXPECT_EQ(message({{"M", 16}, {"K", 0.5}}), "the size `K` cannot be 0.5");
  EXPECT_EQ(message({{"M", 1e6}, {"K", 1e6}}), "`A` has more than 2^32 elements");
  EXPECT_EQ(message({{"M", 16}, {"K", 4}, {"k", 4}}), "the kernel has no size or scalar `k`");
  EXPECT_EQ(message({{"M", 16}, {"K", 4}, {"A", 4}}), "the kernel has no size or scalar `A`");
  EXPECT_EQ(message({{"M", 16}, {"K", 4}, {"M", 8}}), "`M` is given twice");
}

TEST(TestData, IntegerScalarsDoNotWrap) {
  auto message = [](Element element, double value) {
    MadeArguments made =
        make_arguments({{"s", false, element, 0, false, {}}}, {{"s", value}}, Data::Exact, 1);
    return made.diagnostics.empty() ? "" : made.diagnostics[0].message;
  };
  EXPECT_EQ(message(Element::i8, -128), "");
  EXPECT_EQ(message(Element::i8, 128), "the scalar `s` is i8; it cannot be 128");
  EXPECT_EQ(message(Element::i32, 0.5), "the scalar `s` is i32; it cannot be 0.5");
  EXPECT_EQ(message(Element::i64, -0x1p63), "");
  EXPECT_NE(message(Element::i64, 0x1p63), "");
  EXPECT_EQ(message(Element::i1, 1), "");
  EXPECT_NE(message(Element::i1, 2), "");
  EXPECT_EQ(message(Element::f32, 0.5), "");
}

TEST(TestData, ComparisonFindsEveryDifferentElement) {
  MadeArguments want = make_arguments(sum, {{"M", 16}, {"K", 4}}, Data::Exact, 1);
  MadeArguments got = copyOf(want);
  EXPECT_EQ(compareResults(sum, got, want, Data::Exact).elements, 0u);
  float *results = static_cast<float *>(got.arguments[2].data);
  results[3] += 1;
  results[7] = NAN;
  Difference difference = compareResults(sum, got, want, Data::Exact);
  EXPECT_EQ(difference.elements, 2u);
  EXPECT_EQ(difference.first.substr(0, 10), "`C[3]` is ");
  // Inputs are not results.
  static_cast<f16 *>(got.arguments[0].data)[0] = f16(9.0f);
  EXPECT_EQ(compareResults(sum, got, want, Data::Exact).elements, 2u);
}

TEST(TestData, RandomResultsAreComparedWithinTheBoundOfTheirSum) {
  MadeArguments want = make_arguments(sum, {{"M", 1}, {"K", 64}}, Data::Random, 1);
  MadeArguments got = copyOf(want);
  float *result = static_cast<float *>(got.arguments[2].data);
  // 64 terms below 1, summed in f32 on both sides.
  double bound = 2 * 64 * 64 * 0x1p-24;
  float right = *result;
  *result = right + float(bound * 0.9);
  EXPECT_EQ(compareResults(sum, got, want, Data::Random).elements, 0u);
  EXPECT_EQ(compareResults(sum, got, want, Data::Exact).elements, 1u);
  *result = right + float(bound * 1.5);
  EXPECT_EQ(compareResults(sum, got, want, Data::Random).elements, 1u);
}

} // namespace
