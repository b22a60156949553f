//===- NestingTest.cpp - Text that would exhaust a recursive reader -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/Language.h"
#include "gtest/gtest.h"

using penstock::tile::checkNesting;

namespace {

std::string repeated(const std::string &part, int times) {
  std::string all;
  for (int i = 0; i < times; ++i)
    all += part;
  return all;
}

TEST(Nesting, BracketsOfAllKinds) {
  for (const char *bracket : {"(", "[", "{", "<"}) {
    EXPECT_EQ(checkNesting(repeated(bracket, 200)).line, 0u);
    EXPECT_EQ(checkNesting("\n" + repeated(bracket, 201)).line, 2u);
  }
  EXPECT_EQ(checkNesting(repeated("(i32) -> (i32) ", 1000)).line, 0u);
  EXPECT_EQ(checkNesting(repeated("\"(\" // <\n", 1000)).line, 0u);
}

TEST(Nesting, ComparisonsCloseNothing) {
  EXPECT_EQ(checkNesting(repeated("[affine_set<() : (1 >= 0)>, ", 300)).message,
            "brackets are nested more than 200 deep");
  EXPECT_EQ(checkNesting(repeated("affine_set<() : (1 <= 0)>, ", 300)).line, 0u);
}

TEST(Nesting, AffineExpressions) {
  for (const char *part : {"- ", "d0 +\n", "(d0 * ", "d0 floordiv 2 mod "})
    EXPECT_NE(checkNesting("affine_map<(d0) -> (" + repeated(part, 300) + "d0)>").line, 0u);
  EXPECT_EQ(checkNesting(repeated("%a = arith.constant -1.0e+00 : f32\n", 1000)).line, 0u);
  EXPECT_EQ(checkNesting(repeated("-1, ", 1000)).line, 0u);
}

TEST(Nesting, Aliases) {
  std::string deep = "#a0 = 1\n", wide = deep;
  for (int i = 1; i < 300; ++i) {
    std::string name = std::to_string(i), last = std::to_string(i - 1);
    deep += "#a" + name + " = [#a" + last + "]\n";
    if (i < 60)
      wide += "#a" + name + " = [#a" + last + ", #a" + last + "]\n";
  }
  EXPECT_EQ(checkNesting(deep).message, "aliases are nested more than 200 deep");
  EXPECT_EQ(checkNesting(wide).message, "aliases expand to more than 2^22 others");
  // As often as you like side by side.
  std::string flat = "#s = #tile.space<local>\n" + repeated("memref<4xf32, #s> ", 5000);
  EXPECT_EQ(checkNesting(flat).line, 0u);
}

} // namespace
