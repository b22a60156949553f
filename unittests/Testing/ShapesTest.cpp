//===- ShapesTest.cpp - Shapes worth trying -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Inputs/Shapes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

using namespace penstock;

namespace {

const std::vector<ArgumentDescription> matmul = {{"A", true, Element::f16, 2, false, {"M", "K"}},
                                                 {"B", true, Element::f16, 2, false, {"N", "K"}},
                                                 {"C", true, Element::f16, 2, true, {"M", "N"}}};

int64_t at(const Shape &shape, const std::string &name) {
  for (const auto &[key, value] : shape)
    if (key == name)
      return int64_t(value.value);
  ADD_FAILURE() << name << " is not in " << textOf(shape);
  return -1;
}

TEST(Shapes, TheGridHasAllKindsOfEdges) {
  FieldValues fields = {{"block_m", "128"}, {"block_n", "256"}, {"block_k", "32"}, {"stages", "4"}};
  bool turns = false, notDivisible = false, tiny = false, below = false, empty = false, odd = false;
  for (const Shape &shape : defaultShapes(matmul, fields)) {
    ASSERT_EQ(shape.size(), 3u);
    int64_t m = at(shape, "M"), n = at(shape, "N"), k = at(shape, "K");
    int64_t blocks = (m + 127) / 128 * ((n + 255) / 256);
    turns |= blocks >= 4 && k > 2 * 4 * 32;
    notDivisible |= m % 128 && n % 256 && k % 32 && n % 8 == 0 && k % 8 == 0;
    tiny |= m < 16 && n < 16 && k < 16;
    below |= k > 0 && k < 4 * 32 && m % 128 == 0;
    empty |= k == 0 && m > 0 && n > 0;
    odd |= n % 8 != 0 && k % 8 != 0;
  }
  EXPECT_TRUE(turns);
  EXPECT_TRUE(notDivisible);
  EXPECT_TRUE(tiny);
  EXPECT_TRUE(below);
  EXPECT_TRUE(empty);
  EXPECT_TRUE(odd);
}

TEST(Shapes, MutantsSeeTheRingTurnTwice) {
  bool turns = false;
  for (const Shape &shape : smallShapes(matmul, {{"pipeline.num_stages", "5"}}))
    turns |= at(shape, "K") > 2 * 5 * 64;
  EXPECT_TRUE(turns);
}

const std::vector<ArgumentDescription> heads = {
    {"Q", true, Element::f16, 3, false, {"H", "M", "D"}},
    {"K", true, Element::f16, 3, false, {"H", "N", "D"}},
    {"scale", false, Element::f32, 0, false, {}},
    {"O", true, Element::f16, 3, true, {"H", "M", "D"}}};

TEST(Shapes, AFieldThatIsNamedLikeASizeIsItsOnlyValue) {
  FieldValues fields = {
      {"block_m", "64"}, {"block_n", "32"}, {"H", "3"}, {"D", "40"}, {"scale", "0.5"}};
  for (const auto &shapes : {defaultShapes(heads, fields), smallShapes(heads, fields)})
    for (const Shape &shape : shapes) {
      EXPECT_EQ(at(shape, "H"), 3);
      EXPECT_EQ(at(shape, "D"), 40);
      ASSERT_EQ(shape.size(), 5u) << textOf(shape);
      EXPECT_NE(textOf(shape).find("scale=0.5"), std::string::npos);
    }
}

TEST(Shapes, RegisteredOnesStandForThemselvesOrForAGrid) {
  FieldValues fields = {{"block_m", "64"}, {"block_n", "32"}};
  Shape open = {{"H", 2}, {"D", 64}}, whole = {{"H", 1}, {"M", 5}, {"D", 8}, {"N", 7}};
  EXPECT_FALSE(isComplete(open, heads));
  EXPECT_TRUE(isComplete(whole, heads));
  std::vector<Shape> grid = defaultShapes(heads, withSizes(fields, open));
  std::vector<Shape> shapes = shapesToCheck(heads, fields, {open, whole});
  ASSERT_EQ(shapes.size(), grid.size() + 1);
  for (size_t i = 0; i < grid.size(); ++i)
    EXPECT_EQ(textOf(shapes[i]), textOf(grid[i]));
  EXPECT_EQ(textOf(shapes.back()), "H=1,M=5,D=8,N=7");
  EXPECT_EQ(shapesToCheck(heads, fields, {}).size(), grid.size());
}

TEST(Shapes, BlocksOfManySizesDoNotMultiply) {
  std::vector<ArgumentDescription> convolution = {
      {"X", true, Element::f16, 4, false, {"B", "H", "W", "C"}},
      {"F", true, Element::f16, 3, false, {"O", "9", "C"}},
      {"Y", true, Element::f16, 4, true, {"B", "H", "W", "O"}}};
  ShapeHints hints;
  hints.stages = 3;
  hints.tiles = {{"H", {8, 0}}, {"W", {16, 0}}, {"C", {64, 0}}, {"O", {128, 0}}};
  std::map<std::string, bool> several, partial;
  for (const Shape &shape : defaultShapes(convolution, {}, hints)) {
    double blocks = 1;
    for (const auto &[name, number] : shape) {
      if (name == "B")
        blocks *= number.value;
      if (auto tile = hints.tiles->find(name); tile != hints.tiles->end() && name != "C") {
        auto extent = double(tile->second.extent);
        blocks *= std::ceil(number.value / extent);
        several[name] |= number.value > extent;
        partial[name] |= std::fmod(number.value, extent) != 0;
      }
    }
    EXPECT_LE(blocks, 24) << textOf(shape);
  }
  for (const char *name : {"H", "W", "O"})
    EXPECT_TRUE(several[name] && partial[name]) << name;
}

TEST(Shapes, TypicalOnesAreLargeButNotTooLarge) {
  EXPECT_EQ(textOf(typicalShape(matmul, {})), "M=4096,K=4096,N=4096");
  std::vector<ArgumentDescription> add = {{"a", true, Element::f32, 1, false, {"N"}},
                                          {"b", true, Element::f32, 1, true, {"N"}}};
  EXPECT_EQ(textOf(typicalShape(add, {})), "N=16777216");
  // 16 heads, and as many values in a row as the one tile that holds it.
  std::vector<ArgumentDescription> queries = {{"Q", true, Element::f16, 3, false, {"H", "M", "D"}},
                                              {"O", true, Element::f16, 3, true, {"H", "M", "D"}}};
  ShapeHints hints;
  hints.tiles = {{"M", {64, 0}}, {"D", {64, 64}}};
  EXPECT_EQ(textOf(typicalShape(queries, {}, hints)), "H=16,M=4096,D=64");
}

TEST(Shapes, AsText) { EXPECT_EQ(textOf({{"M", 512}, {"f", 0.5}}), "M=512,f=0.5"); }

} // namespace
