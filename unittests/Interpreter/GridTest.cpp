//===- GridTest.cpp - The order of blocks against an independent walk -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Harness.h"

#include <set>

using namespace penstock;
using namespace penstock::test;

namespace {

using Coordinates = std::vector<int64_t>;

/// What each block of a grid prints, in the order in which blocks run.
std::vector<Coordinates> blocksOf(const Coordinates &extents, int64_t swizzle) {
  std::string names, values, types, holes, arguments;
  std::vector<detail::Argument> launch;
  for (size_t i = 0; i < extents.size(); ++i) {
    std::string comma = i ? ", " : "", digit = std::to_string(i);
    names += comma + "%b" + digit;
    values += comma + "%g" + digit;
    types += comma + "index";
    holes += i ? " {}" : "{}";
    arguments += comma + "%g" + digit + ": index";
    launch.push_back(index(extents[i]));
  }
  std::string text = "\nfunc.func @grid(" + arguments + ") attributes {tile.kernel} {\n" + names +
                     " = tile.grid " + values +
                     (swizzle ? " swizzle " + std::to_string(swizzle) : "") + " : " + types +
                     "\ntile.print \"" + holes + "\" " + names + " : " + types + "\nreturn\n}";
  std::vector<Coordinates> blocks;
  InterpretOptions options;
  options.print = [&](std::string_view line) {
    Coordinates &block = blocks.emplace_back(extents.size());
    const char *at = line.data();
    char *end;
    for (int64_t &coordinate : block) {
      coordinate = std::strtoll(at, &end, 10);
      at = end;
    }
  };
  runClean(text, launch, options);
  return blocks;
}

TEST(Grid, FirstDimensionIsFastest) {
  std::vector<Coordinates> expected;
  for (int64_t z = 0; z < 2; ++z)
    for (int64_t y = 0; y < 3; ++y)
      for (int64_t x = 0; x < 4; ++x)
        expected.push_back({x, y, z});
  EXPECT_EQ(blocksOf({4, 3, 2}, 0), expected);
  EXPECT_EQ(blocksOf({3}, 0), (std::vector<Coordinates>{{0}, {1}, {2}}));
}

TEST(Grid, SwizzleWalksThroughGroups) {
  for (int64_t height : {1, 2, 5, 8})
    for (int64_t width : {1, 3, 4, 7, 8})
      for (int64_t group : {1, 2, 3, 4, 8, 100}) {
        // Walk by nested loops instead of by division: groups of columns, the
        // last one narrower; in a group row by row.
        std::vector<Coordinates> expected;
        for (int64_t first = 0; first < width; first += group)
          for (int64_t m = 0; m < height; ++m)
            for (int64_t n = first; n < std::min(first + group, width); ++n)
              expected.push_back({m, n});
        std::vector<Coordinates> blocks = blocksOf({height, width}, group);
        EXPECT_EQ(blocks, expected) << height << "x" << width << " " << group;
        std::set<Coordinates> once(blocks.begin(), blocks.end());
        EXPECT_EQ(once.size(), static_cast<size_t>(height * width));
      }
}

TEST(Grid, WithoutBlocks) {
  EXPECT_TRUE(blocksOf({0}, 0).empty());
  EXPECT_TRUE(blocksOf({3, 0}, 0).empty());
  EXPECT_TRUE(blocksOf({0, 3}, 2).empty());
  EXPECT_TRUE(blocksOf({3, 0}, 2).empty());
}

TEST(Grid, WithoutAGridOneBlockRuns) {
  Tensor<i32> C({1}, 4);
  runClean(R"(
func.func @one(%C: !g1i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = tile.load %C[%c0] : !g1i32 -> i32
  %y = arith.addi %x, %x : i32
  tile.store %y, %C[%c0] : i32, !g1i32
  return
})",
           {C});
  EXPECT_EQ(C(0), 8);
}

TEST(Grid, ImpossibleExtentsAreFaults) {
  const char *text = R"(
func.func @grid(%C: !g1i32, %x: index, %y: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %a, %b = tile.grid %x, %y : index, index
  tile.store %one, %C[%c0] : i32, !g1i32
  return
})";
  Program program(text);
  for (auto [x, y] : std::vector<std::pair<int64_t, int64_t>>{{-1, 1},
                                                              {1, -5},
                                                              {int64_t(1) << 31, 1},
                                                              {1 << 16, 1 << 16},
                                                              {INT64_MAX, INT64_MAX},
                                                              {INT64_MIN, 0}}) {
    Tensor<i32> C({1});
    InterpretResult result = program.run({C, index(x), index(y)});
    ASSERT_EQ(result.faults.size(), 1u);
    EXPECT_EQ(result.faults[0].code, LaunchGrid);
    EXPECT_EQ(result.faults[0].location.line, 5u);
    EXPECT_NE(result.faults[0].message.find(std::to_string(x)), std::string::npos);
    EXPECT_EQ(C(0), 0) << "no block may run";
  }
}

TEST(Grid, ExtentsComputedFromArguments) {
  // A division by an argument: it is a fault of the launch if that is zero.
  const char *text = R"(
func.func @grid(%C: !g1i32, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c12 = arith.constant 12 : index
  %one = arith.constant 1 : i32
  %g = arith.divsi %c12, %n : index
  %named = tile.bind "blocks" %g : index
  %b = tile.grid %named : index
  %old = tile.atomic add %one, %C[%c0] : i32, !g1i32 -> i32
  return
})";
  Program program(text);
  Tensor<i32> C({1});
  program.runClean({C, index(5)});
  EXPECT_EQ(C(0), 2);
  InterpretResult result = program.run({C, index(0)});
  EXPECT_EQ(summary(result), "PS1403 at 5: division by zero\n");
  EXPECT_EQ(C(0), 2) << "an extent of 0 has no blocks";
}

} // namespace
