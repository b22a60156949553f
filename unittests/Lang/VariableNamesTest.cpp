//===- VariableNamesTest.cpp - Names of tiles from source lines -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lang/VariableNames.h"
#include "gtest/gtest.h"

using namespace penstock;

namespace {

TEST(VariableNames, Declarations) {
  EXPECT_EQ(variableName("    auto As = b.shared<f16>(64, 32);", 0), "As");
  EXPECT_EQ(variableName("auto acc=b.local<f32>(m, n);", 0), "acc");
  EXPECT_EQ(variableName("Tile<f32, 2> x = block->local<f32>(4, 4);", 0), "x");
  EXPECT_EQ(variableName("Tile<f32, 2> x{b.local<f32>(4, 4)};", 0), "x");
  EXPECT_EQ(variableName("Tile<f32, 2> x(b.local<f32>(4, 4));", 0), "x");
  EXPECT_EQ(variableName("const auto &row_max_2 = this->b.local<f32>(4);", 0), "row_max_2");
}

TEST(VariableNames, SeveralOnOneLine) {
  const char *line = "auto As = b.shared<f16>(64, 32), Bs = b.shared<f16>(64, 32);";
  EXPECT_EQ(variableName(line, 0), "As");
  EXPECT_EQ(variableName(line, 1), "Bs");
}

TEST(VariableNames, Templates) {
  EXPECT_EQ(variableName("auto As = b.template shared<T>(64, 32);", 0), "As");
}

TEST(VariableNames, BarriersAndTensorMemory) {
  EXPECT_EQ(variableName("auto acc = b.tcgen05.alloc<f32>(128, 64);", 0), "acc");
  EXPECT_EQ(variableName("auto r = b.tcgen05.load(slice(acc, {0, n}, {128, 16}));", 0), "r");
  EXPECT_EQ(variableName("auto full = b.mbarrier.alloc(3), empty = b.mbarrier.alloc(3);", 1),
            "empty");
  EXPECT_EQ(variableName("auto [loaded, done] = b.mbarrier.alloc<2>({1, 1});", 0), "loaded, done");
  EXPECT_EQ(
      variableName("      : full(b.mbarrier.alloc(stages)), empty(b.mbarrier.alloc(n)) {}", 1),
      "empty");
}

// A helper class that is used twice runs the same line twice.
TEST(VariableNames, ALineThatRunsAgainGivesTheSameNames) {
  EXPECT_EQ(variableName("auto As = b.shared<f16>(64, 32);", 1), "As");
  const char *line = "auto As = b.shared<f16>(64, 32), Bs = b.shared<f16>(64, 32);";
  EXPECT_EQ(variableName(line, 2), "As");
  EXPECT_EQ(variableName(line, 3), "Bs");
}

TEST(VariableNames, Members) {
  EXPECT_EQ(variableName("    top = b.local<f32>(16);", 0), "top");
  EXPECT_EQ(variableName("    this->top = this->b.local<f32>(16);", 0), "top");
  EXPECT_EQ(variableName("  Softmax(Block &b) : top(b.local<f32>(16)) {}", 0), "top");
  EXPECT_EQ(variableName("      : b(b), acc(b.local<f32>(m, n, {}, at)) {", 0), "acc");
  EXPECT_EQ(variableName("        acc(b.local<f32>(m, n)) {", 0), "acc");
  EXPECT_EQ(variableName("        acc(b.local<f32>(m, n)),", 0), "acc");
  EXPECT_EQ(variableName("      : acc{b.local<f32>(m, n)} {}", 0), "acc");
}

TEST(VariableNames, Vars) {
  EXPECT_EQ(variableName("Var<int> stage(b, 0);", 0), "stage");
  EXPECT_EQ(variableName("  Var<unsigned> phase{b, 1};", 0), "phase");
}

TEST(ObjectNames, Declarations) {
  EXPECT_EQ(objectName("    Pipeline ring(b, stages);", 0), "ring");
  EXPECT_EQ(objectName("    TmaPipeline ring{b, stages, bytes(), 1};", 0), "ring");
  EXPECT_EQ(objectName("Ring<2, f16> ring(b, {1, 2});", 0), "ring");
  EXPECT_EQ(objectName("auto pipe = TmaPipeline(b, stages, As[0].bytes(), 128);", 0), "pipe");
  EXPECT_EQ(objectName("    pipe = Ring(b);", 0), "pipe");
  const char *line = "    Pipeline tma_pipe(b, stages), mma_pipe(b, 2, 1, 2 * 128);";
  EXPECT_EQ(objectName(line, 0), "tma_pipe");
  EXPECT_EQ(objectName(line, 1), "mma_pipe");
  EXPECT_EQ(objectName(line, 2), "tma_pipe"); // runs again
}

TEST(ObjectNames, LinesThatDeclareNone) {
  EXPECT_EQ(objectName("", 0), "");
  EXPECT_EQ(objectName("  return Pipeline(b, 3);", 0), "");
  EXPECT_EQ(objectName("  rings.emplace_back(b, 3);", 0), "");
  EXPECT_EQ(objectName("  Pipeline(b, 3);", 0), "");
  EXPECT_EQ(objectName("      : b(block), ring(block, 3) {}", 0), ""); // which of them?
  EXPECT_EQ(objectName("((){}=", 0), "");
}

// A wrong name is worse than none.
TEST(VariableNames, CallsAreNoNames) {
  EXPECT_EQ(variableName("  ring.push_back(b.shared<f32>(16));", 0), "");
  EXPECT_EQ(variableName("  ring->push_back(b.shared<f32>(16));", 0), "");
  EXPECT_EQ(variableName("  normalize(b.local<f32>(16));", 0), "");
  EXPECT_EQ(variableName("  return b.local<f32>(16);", 0), "");
  EXPECT_EQ(variableName("  Softmax softmax(b, b.local<f32>(16));", 0), "");
  EXPECT_EQ(variableName("  b.fill(b.local<f32>(16), 0);", 0), "");
}

TEST(VariableNames, VariablesOfOneDeclaration) {
  std::string line = "  Var<i32> group(b, -1), row0(b, f(1, 2)), end{b, 0}; // of a tile";
  EXPECT_EQ(variableName(line, 0), "group");
  EXPECT_EQ(variableName(line, 1), "row0");
  EXPECT_EQ(variableName(line, 2), "end");
  EXPECT_EQ(variableName(line, 3), "group");
}

TEST(VariableNames, LinesThatDoNotTell) {
  EXPECT_EQ(variableName("", 0), "");
  EXPECT_EQ(variableName("      b.local<f32>(16);", 0), "");
  EXPECT_EQ(variableName("  softmax.update(b, x);", 0), "");
  EXPECT_EQ(variableName(".shared<", 0), "");
  EXPECT_EQ(variableName("Var<", 0), "");
  EXPECT_EQ(variableName("Var<int>", 0), "");
  EXPECT_EQ(variableName("= b.local<", 0), "");
}

} // namespace
