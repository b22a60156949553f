//===- AsyncTest.cpp - Asynchronous operations under all completions ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

#include <set>

using namespace penstock;
using namespace penstock::test;

namespace {

std::vector<InterpretOptions> allCompletions() {
  std::vector<InterpretOptions> all = {{.completion = Completion::Eager},
                                       {.completion = Completion::Latest}};
  for (uint64_t seed = 0; seed < 50; ++seed)
    all.push_back({.completion = Completion::Random, .seed = seed});
  return all;
}

/// A double-buffered sum of rows. The copies of iteration k + 1 are issued
/// before those of iteration k are used.
const char *pipeline = R"(
func.func @sum(%A: !g2i32, %C: !g1i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0 : i32
  %n = memref.dim %A, %c0 : !g2i32
  %end = arith.addi %n, %c1 : index
  %ring = tile.alloc "ring" : memref<3x4xi32, #s>
  %acc = tile.alloc "acc" : memref<4xi32, #l>
  tile.fill %acc, %zero : memref<4xi32, #l>, i32
  scf.for %k = %c0 to %end step %c1 {
    %slot = arith.remui %k, %c3 : index
    %to = memref.subview %ring[%slot, 0] [1, 4] [1, 1] : memref<3x4xi32, #s> to memref<4xi32, strided<[1], offset: ?>, #s>
    tile.copy %A[%k, %c0] to %to async "load" : !g2i32 to memref<4xi32, strided<[1], offset: ?>, #s>
    WAIT
    %some = arith.cmpi sgt, %k, %c0 : index
    scf.if %some {
      %p = arith.addi %k, %c2 : index
      %old = arith.remui %p, %c3 : index
      %from = memref.subview %ring[%old, 0] [1, 4] [1, 1] : memref<3x4xi32, #s> to memref<4xi32, strided<[1], offset: ?>, #s>
      tile.map %acc ins(%acc, %from) dims [[0], [0]] {
      ^bb0(%a: i32, %x: i32):
        %s = arith.addi %a, %x : i32
        tile.yield %s : i32
      } : memref<4xi32, #l> ins(memref<4xi32, #l>, memref<4xi32, strided<[1], offset: ?>, #s>)
    }
  }
  tile.wait ["load"]
  tile.copy %acc to %C[%c0] : memref<4xi32, #l> to !g1i32
  return
})";

TEST(Async, RightWaitsGiveTheSameUnderAllCompletions) {
  for (const char *wait : {"tile.wait [\"load\"]", "tile.wait [\"load\"] lag 1"}) {
    Program program(replaceAll(pipeline, "WAIT", wait));
    Tensor<i32> A({9, 4});
    A.randomize(1, 0, 100);
    for (const InterpretOptions &options : allCompletions()) {
      Tensor<i32> C({4});
      program.runClean({A, C}, options);
      for (int j = 0; j < 4; ++j) {
        i32 sum = 0;
        for (int i = 0; i < 9; ++i)
          sum += A(i, j);
        EXPECT_EQ(C(j), sum) << wait << " seed " << options.seed;
      }
    }
  }
}

/// What lag 2 lets slip: iteration k uses what k - 1 issued.
TEST(Async, ALagThatIsTooLargeShows) {
  Program program(replaceAll(pipeline, "WAIT", "tile.wait [\"load\"] lag 2"));
  Tensor<i32> A({9, 4});
  A.randomize(1, 1, 100);
  const char *finding = "PS1410 at 22: `map` reads `ring` at [0], which the asynchronous `copy` "
                        "\"load\" still uses\n";
  Tensor<i32> eager({4}), late({4});
  EXPECT_EQ(summary(program.run({A, eager})), finding);
  EXPECT_EQ(summary(program.run({A, late}, {.completion = Completion::Latest})), finding);
  for (int j = 0; j < 4; ++j) {
    i32 sum = 0;
    for (int i = 0; i < 9; ++i)
      sum += A(i, j);
    EXPECT_EQ(eager(j), sum);
    EXPECT_NE(late(j), sum);
  }
}

/// One copy, one use; the wait is in between, or missing.
const char *missing = R"(
func.func @missing(%A: !g1i32, %C: !g1i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %minus = arith.constant -1 : i32
  %t = tile.alloc "t" : memref<4xi32, #s>
  %u = tile.alloc "u" : memref<4xi32, #s>
  tile.fill %t, %minus : memref<4xi32, #s>, i32
  tile.copy %A[%c0] to %t async "load" : !g1i32 to memref<4xi32, #s>
  WAIT
  tile.copy %t to %u : memref<4xi32, #s> to memref<4xi32, #s>
  tile.copy %u to %C[%c0] : memref<4xi32, #s> to !g1i32
  return
})";

/// Both the use and the copy that nothing awaits are reported, whenever the copy
/// takes effect.
const char *findings = "PS1410 at 9: `copy` reads `t` at [0], which the asynchronous `copy` "
                       "\"load\" still uses\n"
                       "PS1409 at 7: the asynchronous `copy` \"load\" is not awaited before the "
                       "block ends\n";

TEST(Async, AMissingWaitGivesOtherResults) {
  Program program(replaceAll(missing, "WAIT", ""));
  std::set<i32> seen;
  for (const InterpretOptions &options : allCompletions()) {
    Tensor<i32> A({4}, 7), C({4});
    EXPECT_EQ(summary(program.run({A, C}, options)), findings);
    if (options.completion == Completion::Eager)
      EXPECT_EQ(C(0), 7);
    if (options.completion == Completion::Latest)
      EXPECT_EQ(C(0), -1);
    if (options.completion == Completion::Random)
      seen.insert(C(0));
  }
  EXPECT_EQ(seen, (std::set<i32>{-1, 7})) << "some seeds find it, some do not";
}

TEST(Async, TheWaitCuresIt) {
  Program program(replaceAll(missing, "WAIT", "tile.wait [\"load\"]"));
  for (const InterpretOptions &options : allCompletions()) {
    Tensor<i32> A({4}, 7), C({4});
    program.runClean({A, C}, options);
    EXPECT_EQ(C(0), 7);
  }
}

TEST(Async, SameSeedSameResult) {
  Program program(replaceAll(missing, "WAIT", ""));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    InterpretOptions options = {.completion = Completion::Random, .seed = seed};
    Tensor<i32> A({4}, 7), first({4}), second({4});
    EXPECT_EQ(summary(program.run({A, first}, options)), findings);
    EXPECT_EQ(summary(program.run({A, second}, options)), findings);
    EXPECT_EQ(first(0), second(0));
  }
}

/// A store to the tensor may read its tile as late as the end of the block.
TEST(Async, SourcesAreReadAtCompletion) {
  const char *text = R"(
func.func @store(%C: !g1i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %t = tile.alloc "t" : memref<4xi32, #s>
  tile.fill %t, %c1 : memref<4xi32, #s>, i32
  tile.copy %t to %C[%c0] async "store" : memref<4xi32, #s> to !g1i32
  WAIT
  tile.fill %t, %c2 : memref<4xi32, #s>, i32
  return
})";
  for (const InterpretOptions &options : allCompletions()) {
    Tensor<i32> waited({4}), raced({4});
    runClean(replaceAll(text, "WAIT", "tile.wait [\"store\"]"), {waited}, options);
    EXPECT_EQ(waited(3), 1);
    EXPECT_EQ(summary(run(replaceAll(text, "WAIT", ""), {raced}, options)),
              "PS1410 at 9: `fill` writes `t` at [0], which the asynchronous `copy` \"store\" "
              "still uses\n"
              "PS1409 at 7: the asynchronous `copy` \"store\" is not awaited before the block "
              "ends\n");
    if (options.completion == Completion::Latest)
      EXPECT_EQ(raced(3), 2);
    if (options.completion == Completion::Eager)
      EXPECT_EQ(raced(3), 1);
  }
}

/// Products into one accumulator keep their order without a wait between them:
/// the first overwrites, the others add.
TEST(Async, ProductsIntoOneAccumulatorKeepTheirOrder) {
  const char *text = R"(
func.func @chain(%A: !g2f32, %C: !g2f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc "a" : memref<2x2xf32, #s>
  %acc = tile.alloc "acc" : memref<2x2xf32, #l>
  tile.copy %A[%c0, %c0] to %a : !g2f32 to memref<2x2xf32, #s>
  tile.gemm %a, %a into %acc overwrite async "first" : memref<2x2xf32, #s>, memref<2x2xf32, #s>, memref<2x2xf32, #l>
  tile.gemm %a, %a into %acc async "second" : memref<2x2xf32, #s>, memref<2x2xf32, #s>, memref<2x2xf32, #l>
  tile.gemm %a, %a into %acc async "third" : memref<2x2xf32, #s>, memref<2x2xf32, #s>, memref<2x2xf32, #l>
  tile.wait ["third"]
  tile.copy %acc to %C[%c0, %c0] : memref<2x2xf32, #l> to !g2f32
  return
})";
  Program program(text);
  Tensor<f32> A({2, 2});
  A.randomize(3, 1, 5);
  for (const InterpretOptions &options : allCompletions()) {
    Tensor<f32> C({2, 2});
    program.runClean({A, C}, options);
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j)
        EXPECT_EQ(C(i, j), 3 * (A(i, 0) * A(0, j) + A(i, 1) * A(1, j)));
  }
}

/// A product that is still under way when its operand is overwritten.
TEST(Async, ProductsReadTheirOperandsAtCompletion) {
  const char *text = R"(
func.func @late(%C: !g2i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : i8
  %c2 = arith.constant 2 : i8
  %a = tile.alloc "a" : memref<1x1xi8, #s>
  %b = tile.alloc "b" : memref<1x1xi8, #s>
  %acc = tile.alloc "acc" : memref<1x1xi32, #l>
  tile.fill %a, %c1 : memref<1x1xi8, #s>, i8
  tile.fill %b, %c1 : memref<1x1xi8, #s>, i8
  tile.gemm %a, %b into %acc overwrite async "mma" : memref<1x1xi8, #s>, memref<1x1xi8, #s>, memref<1x1xi32, #l>
  tile.fill %a, %c2 : memref<1x1xi8, #s>, i8
  tile.wait ["mma"]
  tile.copy %acc to %C[%c0, %c0] : memref<1x1xi32, #l> to !g2i32
  return
})";
  const char *finding = "PS1410 at 11: `fill` writes `a` at [0, 0], which the asynchronous `gemm` "
                        "\"mma\" still uses\n";
  Tensor<i32> C({1, 1});
  EXPECT_EQ(summary(run(text, {C})), finding);
  EXPECT_EQ(C(0, 0), 1);
  EXPECT_EQ(summary(run(text, {C}, {.completion = Completion::Latest})), finding);
  EXPECT_EQ(C(0, 0), 2);
}

/// Waits count iterations of their innermost loop, and count on when that loop
/// runs again: a lag of 1 at the first iteration of the second run completes
/// the last iteration of the first.
TEST(Async, LagsReachIntoTheLoopsLastRun) {
  const char *text = R"(
func.func @again(%A: !g1i32, %C: !g2i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %minus = arith.constant -1 : i32
  %t = tile.alloc "t" : memref<4xi32, #s>
  %snapshot = tile.alloc "snapshot" : memref<4xi32, #s>
  tile.fill %t, %minus : memref<4xi32, #s>, i32
  scf.for %run = %c0 to %c2 step %c1 {
    scf.for %i = %c0 to %c2 step %c1 {
      %r = arith.muli %run, %c2 : index
      %k = arith.addi %r, %i : index
      %slot = memref.subview %t[%k] [1] [1] : memref<4xi32, #s> to memref<1xi32, strided<[1], offset: ?>, #s>
      tile.copy %A[%k] to %slot async "load" : !g1i32 to memref<1xi32, strided<[1], offset: ?>, #s>
      tile.wait ["load"] lag 1
      tile.copy %t to %snapshot : memref<4xi32, #s> to memref<4xi32, #s>
      tile.copy %snapshot to %C[%k, %c0] : memref<4xi32, #s> to !g2i32
    }
  }
  return
})";
  Tensor<i32> A = Tensor<i32>::with({10, 11, 12, 13}), C({4, 4});
  // The whole tile is read to see which slots are filled; one of them is not awaited.
  EXPECT_EQ(
      summary(run(text, {A, C}, {.completion = Completion::Latest})),
      "PS1410 at 17: `copy` reads `t` at [0], which the asynchronous `copy` \"load\" still "
      "uses\n"
      "PS1409 at 15: the asynchronous `copy` \"load\" is not awaited before the block ends\n");
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 4; ++j)
      EXPECT_EQ(C(k, j), j < k ? 10 + j : -1) << k << ", " << j;
}

/// A wait outside of the loop completes all that the loop issued; a wait for
/// one name leaves the others.
TEST(Async, WaitsCompleteTheNamesTheySay) {
  const char *text = R"(
func.func @names(%A: !g1i32, %C: !g1i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %minus = arith.constant -1 : i32
  %x = tile.alloc "x" : memref<3xi32, #s>
  %y = tile.alloc "y" : memref<3xi32, #s>
  tile.fill %x, %minus : memref<3xi32, #s>, i32
  tile.fill %y, %minus : memref<3xi32, #s>, i32
  scf.for %i = %c0 to %c3 step %c1 {
    %xs = memref.subview %x[%i] [1] [1] : memref<3xi32, #s> to memref<1xi32, strided<[1], offset: ?>, #s>
    %ys = memref.subview %y[%i] [1] [1] : memref<3xi32, #s> to memref<1xi32, strided<[1], offset: ?>, #s>
    tile.copy %A[%i] to %xs async "x" : !g1i32 to memref<1xi32, strided<[1], offset: ?>, #s>
    tile.copy %A[%i] to %ys async "y" : !g1i32 to memref<1xi32, strided<[1], offset: ?>, #s>
  }
  tile.wait ["x"]
  tile.copy %x to %C[%c0] : memref<3xi32, #s> to !g1i32
  tile.copy %y to %C[%c3] : memref<3xi32, #s> to !g1i32
  return
})";
  Tensor<i32> A = Tensor<i32>::with({5, 6, 7}), C({6});
  EXPECT_EQ(
      summary(run(text, {A, C}, {.completion = Completion::Latest})),
      "PS1410 at 18: `copy` reads `y` at [0], which the asynchronous `copy` \"y\" still uses\n"
      "PS1409 at 14: the asynchronous `copy` \"y\" is not awaited before the block ends\n");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(C(i), 5 + i);
    EXPECT_EQ(C(3 + i), -1);
  }
}

/// Iterations of different loops are not compared: a wait in a second loop
/// completes all that the first one issued, at its first iteration.
TEST(Async, AWaitInAnotherLoopCompletesAll) {
  const char *text = R"(
func.func @loops(%A: !g1i32, %C: !g1i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %minus = arith.constant -1 : i32
  %t = tile.alloc "t" : memref<3xi32, #s>
  tile.fill %t, %minus : memref<3xi32, #s>, i32
  scf.for %i = %c0 to %c3 step %c1 {
    %slot = memref.subview %t[%i] [1] [1] : memref<3xi32, #s> to memref<1xi32, strided<[1], offset: ?>, #s>
    tile.copy %A[%i] to %slot async "load" : !g1i32 to memref<1xi32, strided<[1], offset: ?>, #s>
  }
  scf.for %i = %c0 to %c1 step %c1 {
    tile.wait ["load"]
    tile.copy %t to %C[%c0] : memref<3xi32, #s> to !g1i32
  }
  return
})";
  Tensor<i32> A = Tensor<i32>::with({5, 6, 7}), C({3});
  runClean(text, {A, C}, {.completion = Completion::Latest});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(C(i), 5 + i);
}

} // namespace
