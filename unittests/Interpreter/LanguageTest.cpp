//===- LanguageTest.cpp - Programs that the interpreter never sees --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the interpreter takes for granted must be refused by
// tile::verifyLanguage.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace penstock;
using namespace penstock::test;

namespace {

/// The first message about a program whose kernel has this body.
std::string complaint(const std::string &body) {
  return refusal("\nfunc.func @kernel(%A: !g2f32, %x: f64, %i: index, %c: i1) "
                 "attributes {tile.kernel} {\n"
                 "  %c0 = arith.constant 0 : index\n"
                 "  %c1 = arith.constant 1 : index\n"
                 "  %c4 = arith.constant 4 : index\n"
                 "  %t = tile.alloc \"t\" : memref<4x4xf32, #s>\n"
                 "  %u = tile.alloc \"u\" : memref<4x4xf32, #s>\n" +
                 body + "\n  return\n}");
}

TEST(Language, TilesAreNotChosenAtRunTime) {
  EXPECT_EQ(complaint(""), "");
  EXPECT_NE(complaint("%s = arith.select %c, %t, %u : memref<4x4xf32, #s>")
                .find("chooses a tile at run time"),
            std::string::npos);
  EXPECT_NE(complaint("%s = scf.if %c -> memref<4x4xf32, #s> {\n"
                      "scf.yield %t : memref<4x4xf32, #s>\n} else {\n"
                      "scf.yield %u : memref<4x4xf32, #s>\n}")
                .find("chooses a tile at run time"),
            std::string::npos);
  EXPECT_NE(complaint("%s = scf.for %k = %c0 to %c4 step %c1 iter_args(%v = "
                      "%t) -> memref<4x4xf32, #s> {\n"
                      "scf.yield %v : memref<4x4xf32, #s>\n}")
                .find("chooses a tile at run time"),
            std::string::npos);
}

TEST(Language, TilesFitIntoMemory) {
  std::string tiles;
  for (int i = 0; i < 4; ++i) // of 512 MiB each; `t` and `u` are too much, then
    tiles += "%m" + std::to_string(i) + " = tile.alloc : memref<8192x8192xf64, #l>\n";
  EXPECT_NE(complaint(tiles).find("the tiles of a block need more than 2 GiB"), std::string::npos);
  EXPECT_EQ(complaint(tiles.substr(0, tiles.rfind("%m"))), "");
}

TEST(Language, ViewsAreOfTilesAndHaveSizesInTheirTypes) {
  EXPECT_NE(complaint("%v = memref.subview %t[0, 0] [%c4, 4] [1, 1] : "
                      "memref<4x4xf32, #s> to memref<?x4xf32, strided<[4, "
                      "1]>, #s>")
                .find("constant size"),
            std::string::npos);
  EXPECT_NE(complaint("%v = memref.transpose %A (i, j) -> (j, i) : !g2f32 to "
                      "memref<?x?xf32, strided<[1, ?]>, #g>")
                .find("a transpose is taken of the tensor"),
            std::string::npos);
}

TEST(Language, SizesAreOfDimensionsThatExist) {
  EXPECT_EQ(complaint("%n = memref.dim %A, %c1 : !g2f32"), "");
  EXPECT_NE(complaint("%n = memref.dim %A, %c4 : !g2f32").find("has no dimension 4"),
            std::string::npos);
  EXPECT_NE(complaint("%n = memref.dim %A, %i : !g2f32").find("must be a constant"),
            std::string::npos);
}

TEST(Language, LagsCountIterationsOfOneLoop) {
  std::string copy = "tile.copy %A[%c0, %c0] to %t async \"load\" : !g2f32 to "
                     "memref<4x4xf32, #s>\n";
  std::string wait = "tile.wait [\"load\"] lag 1\n";
  std::string loop = "scf.for %k = %c0 to %c4 step %c1 {\n";
  EXPECT_EQ(complaint(loop + copy + wait + "}"), "");
  EXPECT_NE(complaint(copy + wait).find("is not in a loop"), std::string::npos);
  // The second operation that issues under the name counts as well.
  EXPECT_NE(complaint(loop + copy + wait + "}\n" + copy).find("issued in another loop"),
            std::string::npos);
}

TEST(Language, ConversionsRoundToNearestEven) {
  EXPECT_EQ(complaint("%y = arith.truncf %x to_nearest_even : f64 to f32"), "");
  EXPECT_NE(complaint("%y = arith.truncf %x upward : f64 to f32").find("round to nearest even"),
            std::string::npos);
}

TEST(Language, DivisionByAVariableComputesAValue) {
  EXPECT_EQ(complaint("%g = arith.divsi %c4, %i : index\n"
                      "%b = tile.grid %g : index\n"
                      "tile.parallel [4] {\n^bb0(%e: index):\n"
                      "%r = arith.remsi %e, %i : index\n}\n"
                      "tile.map %t dims [] {\n"
                      "%e = tile.element_index 0\n"
                      "%q = arith.floordivsi %e, %i : index\n"
                      "%n = arith.index_cast %q : index to i32\n"
                      "%f = arith.sitofp %n : i32 to f32\n"
                      "tile.yield %f : f32\n} : memref<4x4xf32, #s>"),
            "");
}

} // namespace
