//===- FaultTest.cpp - What goes wrong at run time, with its place --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Harness.h"

#include <cmath>

using namespace penstock;
using namespace penstock::test;

namespace {

TEST(Fault, LoadsOutsideGiveZeroAndStoresAreDropped) {
  const char *text = R"(
func.func @bounds(%A: !g2i32 {tile.name = "A"}, %C: !g1i32, %i: index, %j: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = tile.load %A[%i, %j] : !g2i32 -> i32
  tile.store %x, %C[%c0] : i32, !g1i32
  tile.store %x, %A[%j, %i] : i32, !g2i32
  return
})";
  Program program(text);
  Tensor<i32> A({2, 3}, 5), C({1}, 9);
  EXPECT_EQ(summary(program.run({A, C, index(2), index(1)})),
            "PS1402 at 3: `load` at [2, 1] is outside of `A`: dimension 0 has "
            "size 2\n");
  EXPECT_EQ(C(0), 0);
  EXPECT_EQ(A(1, 2), 0) << "(1, 2) is inside, and the fault gave 0";

  Tensor<i32> B({2, 3}, 5);
  EXPECT_EQ(summary(program.run({B, C, index(0), index(-1)})),
            "PS1402 at 3: `load` at [0, -1] is outside of `A`: dimension 1 has "
            "size 3\n"
            "PS1402 at 5: `store` at [-1, 0] is outside of `A`: dimension 0 "
            "has size 2\n");
  for (int64_t i = 0; i < B.length; ++i)
    EXPECT_EQ(B.data[i], 5);

  // Nothing at all is inside of an empty tensor.
  Tensor<i32> none({0, 3});
  InterpretResult result = program.run({none, C, index(0), index(0)});
  ASSERT_EQ(result.faults.size(), 2u);
  EXPECT_EQ(result.faults[0].code, FaultBounds);
  EXPECT_EQ(result.faults[1].code, FaultBounds);
}

TEST(Fault, AtomicsOutside) {
  const char *text = R"(
func.func @bounds(%H: !g1f32, %C: !g1f32, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 3.0 : f32
  %old = tile.atomic add %x, %H[%i] : f32, !g1f32 -> f32
  tile.store %old, %C[%c0] : f32, !g1f32
  return
})";
  Tensor<f32> H({2}, 1.0f), C({1}, 9.0f);
  EXPECT_EQ(summary(run(text, {H, C, index(2)})),
            "PS1402 at 4: `atomic` at [2] is outside of a tensor: dimension 0 "
            "has size 2\n");
  EXPECT_EQ(C(0), 0.0f);
  EXPECT_EQ(H(0), 1.0f);
  EXPECT_EQ(H(1), 1.0f);
}

TEST(Fault, TilesHaveBoundsToo) {
  const char *text = R"(
func.func @bounds(%C: !g1i32, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 3 : i32
  %t = tile.alloc "t" : memref<4xi32, #s>
  tile.fill %t, %x : memref<4xi32, #s>, i32
  %part = memref.subview %t[1] [2] [1] : memref<4xi32, #s> to memref<2xi32, strided<[1], offset: 1>, #s>
  %y = tile.load %part[%i] : memref<2xi32, strided<[1], offset: 1>, #s> -> i32
  tile.store %y, %C[%c0] : i32, !g1i32
  return
})";
  // Index 2 of the slice exists in the tile, but not in the slice.
  Tensor<i32> C({1}, 9);
  EXPECT_EQ(summary(run(text, {C, index(2)})),
            "PS1402 at 7: `load` at [2] is outside of `t`: dimension 0 has "
            "size 2\n");
  EXPECT_EQ(C(0), 0);
}

TEST(Fault, SlicesAreMovedInside) {
  const char *text = R"(
func.func @slice(%A: !g1i32, %C: !g1i32, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %t = tile.alloc "t" : memref<5xi32, #s>
  tile.copy %A[%c0] to %t : !g1i32 to memref<5xi32, #s>
  %part = memref.subview %t[%i] [2] [1] : memref<5xi32, #s> to memref<2xi32, strided<[1], offset: ?>, #s>
  tile.copy %part to %C[%c0] : memref<2xi32, strided<[1], offset: ?>, #s> to !g1i32
  return
})";
  Program program(text);
  Tensor<i32> A = Tensor<i32>::with({1, 2, 3, 4, 5});
  for (int64_t at : {INT64_MIN, int64_t(-1), int64_t(0), int64_t(3), int64_t(4), INT64_MAX}) {
    Tensor<i32> C({2});
    InterpretResult result = program.run({A, C, index(at)});
    bool inside = at >= 0 && at <= 3;
    EXPECT_EQ(result.faults.size(), inside ? 0u : 1u) << at;
    for (const Diagnostic &fault : result.faults) {
      EXPECT_EQ(fault.code, FaultBounds);
      EXPECT_EQ(fault.location.file, "kernel.mlir");
      EXPECT_EQ(fault.location.line, 6u);
    }
    i32 first = at < 0 ? 1 : at > 3 ? 4 : static_cast<i32>(at) + 1;
    EXPECT_EQ(C(0), first);
    EXPECT_EQ(C(1), first + 1);
  }
}

TEST(Fault, Assertions) {
  const char *text = R"(
func.func @assert(%x: i32, %C: !g1i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %ten = arith.constant 10 : i32
  %n = arith.constant 4 : index
  %b = tile.grid %n : index
  %small = arith.cmpi slt, %x, %ten : i32
  tile.assert %small, "x is small"
  %old = tile.atomic add %x, %C[%c0] : i32, !g1i32 -> i32
  return
})";
  Program program(text);
  Tensor<i32> C({1});
  program.runClean({scalar(i32(9)), C});
  EXPECT_EQ(C(0), 36);
  InterpretResult result = program.run({scalar(i32(10)), C});
  // Once, although four blocks fail; all run on.
  EXPECT_EQ(summary(result), "PS1401 at 7: assertion failed: x is small\n");
  EXPECT_EQ(C(0), 76);
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_EQ(result.faults[0].severity, Severity::Error);
  EXPECT_EQ(result.faults[0].facts,
            (std::vector<std::pair<std::string, std::string>>{{"block", "0"}}));
}

TEST(Fault, NameTheBlockThatFailedFirst) {
  const char *text = R"(
func.func @assert(%x: index) attributes {tile.kernel} {
  %n = arith.constant 3 : index
  %a, %b = tile.grid %n, %n : index, index
  %same = arith.cmpi ne, %b, %x : index
  tile.assert %same, ""
  return
})";
  InterpretResult result = run(text, {index(2)});
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_EQ(result.faults[0].message, "an assertion failed");
  EXPECT_EQ(result.faults[0].facts[0].second, "0,2");
}

TEST(Fault, DivModOutOfItsDomain) {
  const char *text = R"(
func.func @divmod(%a: index, %n: index) attributes {tile.kernel} {
  %q, %r = tile.divmod %a, %n
  tile.print "{} {}" %q, %r : index, index
  return
})";
  Program program(text);
  std::string printed;
  auto divide = [&](int64_t a, int64_t n) {
    printed.clear();
    return program.run({index(a), index(n)},
                       {.print = [&](std::string_view line) { printed += line; }});
  };
  // Negative numbers are divided as by / and %: toward zero.
  EXPECT_TRUE(divide(-5, 2).faults.empty());
  EXPECT_EQ(printed, "-2 -1\n");
  EXPECT_TRUE(divide(5, -3).faults.empty());
  EXPECT_EQ(printed, "-1 2\n");
  for (auto [a, n] : std::vector<std::pair<int64_t, int64_t>>{{5, 0}, {INT64_MIN, -1}}) {
    InterpretResult result = divide(a, n);
    ASSERT_EQ(result.faults.size(), 1u);
    EXPECT_EQ(result.faults[0].code, FaultDivision);
    EXPECT_EQ(result.faults[0].location.line, 3u);
    EXPECT_EQ(printed, "0 0\n");
  }
}

TEST(Fault, StepsThatAreNotPositive) {
  const char *text = R"(
func.func @loop(%step: index, %C: !g1i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %x = arith.constant 4 : i32
  %r = scf.for %i = %c0 to %c9 step %step iter_args(%a = %x) -> i32 {
    %y = arith.addi %a, %x : i32
    scf.yield %y : i32
  }
  tile.store %r, %C[%c0] : i32, !g1i32
  return
})";
  Program program(text);
  for (int64_t step : {int64_t(0), int64_t(-3), INT64_MIN}) {
    Tensor<i32> C({1});
    InterpretResult result = program.run({index(step), C});
    ASSERT_EQ(result.faults.size(), 1u);
    EXPECT_EQ(result.faults[0].code, FaultStep);
    EXPECT_EQ(result.faults[0].location.line, 6u);
    EXPECT_EQ(C(0), 4) << "the loop is skipped";
  }
}

//===----------------------------------------------------------------------===//
// Undefined contents
//===----------------------------------------------------------------------===//

TEST(Fault, ReadingWhatNothingWrote) {
  struct {
    const char *use, *fault;
  } cases[] = {
      {"tile.copy %t to %C[%c0] : memref<4xf32, #s> to !g1f32", "`copy` reads `t` at [0]"},
      {"%x = tile.load %t[%c2] : memref<4xf32, #s> -> f32", "`load` reads `t` at [2]"},
      {"%x = tile.atomic add %one, %t[%c1] : f32, memref<4xf32, #s> -> f32",
       "`atomic` reads `t` at [1]"},
      {"tile.reduce max %t along 0 into %r : memref<4xf32, #s>, memref<f32, "
       "#l>",
       "`reduce` reads `t` at [0]"},
      {"tile.reduce max %u along 0 into %r accumulate : memref<4xf32, #s>, "
       "memref<f32, #l>",
       "`reduce` reads `r`"},
      {"tile.map %u ins(%t) dims [[0]] {\n^bb0(%x: f32):\n  tile.yield %x : "
       "f32\n} : memref<4xf32, #s> ins(memref<4xf32, #s>)",
       "`map` reads `t` at [0]"},
      {"tile.gemm %a, %b into %acc : memref<1x2xf32, #s>, memref<2x1xf32, #s>, "
       "memref<1x1xf32, #l>",
       "`gemm` reads `acc` at [0, 0]"},
      {"tile.print \"{}\" %t : memref<4xf32, #s>", "`print` reads `t` at [0]"},
  };
  for (auto [use, fault] : cases) {
    std::string text = replaceAll(R"(
func.func @undefined(%C: !g1f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f32
  %t = tile.alloc "t" : memref<4xf32, #s>
  %u = tile.alloc "u" : memref<4xf32, #s>
  %r = tile.alloc "r" : memref<f32, #l>
  %a = tile.alloc "a" : memref<1x2xf32, #s>
  %b = tile.alloc "b" : memref<2x1xf32, #s>
  %acc = tile.alloc "acc" : memref<1x1xf32, #l>
  tile.fill %u, %one : memref<4xf32, #s>, f32
  tile.fill %a, %one : memref<1x2xf32, #s>, f32
  tile.fill %b, %one : memref<2x1xf32, #s>, f32
  USE
  return
})",
                                  "USE", use);
    Tensor<f32> C({4});
    EXPECT_EQ(summary(run(text, {C}, {.print = [](std::string_view) {}})),
              std::string("PS1406 at 15: ") + fault + ", which nothing has written\n");
  }
}

TEST(Fault, UndefinedContentsAreKnownByElement) {
  const char *text = R"(
func.func @part(%A: !g1i32, %C: !g1i32, %D: !g1f16, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %t = tile.alloc "t" : memref<4xi32, #s>
  %h = tile.alloc "h" : memref<f16, #s>
  %part = memref.subview %t[1] [2] [1] : memref<4xi32, #s> to memref<2xi32, strided<[1], offset: 1>, #s>
  tile.copy %A[%c0] to %part : !g1i32 to memref<2xi32, strided<[1], offset: 1>, #s>
  %x = tile.load %t[%i] : memref<4xi32, #s> -> i32
  tile.store %x, %C[%c0] : i32, !g1i32
  %y = tile.load %h[] : memref<f16, #s> -> f16
  tile.store %y, %D[%c0] : f16, !g1f16
  return
})";
  Program program(text);
  for (int64_t i = 0; i < 4; ++i) {
    Tensor<i32> A({2}, 6), C({1});
    Tensor<f16> D({1});
    InterpretResult result = program.run({A, C, D, index(i)});
    bool defined = i == 1 || i == 2;
    EXPECT_EQ(result.faults.size(), defined ? 1u : 2u);
    EXPECT_EQ(C(0), defined ? 6 : static_cast<i32>(0xcdcdcdcd));
    EXPECT_TRUE(std::isnan(float(D(0)))) << "never zero by accident";
  }
}

TEST(Fault, WhatACopyDropsMayBeUndefined) {
  const char *text = R"(
func.func @clipped(%C: !g1i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %C, %c0 : !g1i32
  %seven = arith.constant 7 : i32
  %t = tile.alloc "t" : memref<4xi32, #s>
  tile.parallel [4] {
  ^bb0(%i: index):
    %valid = arith.cmpi slt, %i, %n : index
    scf.if %valid {
      tile.store %seven, %t[%i] : i32, memref<4xi32, #s>
    }
  }
  tile.copy %t to %C[%c0] : memref<4xi32, #s> to !g1i32
  return
})";
  Tensor<i32> C({3});
  runClean(text, {C});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(C(i), 7);
}

TEST(Fault, ContentsDoNotLiveOnInTheNextBlock) {
  const char *text = R"(
func.func @blocks(%C: !g1i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %seven = arith.constant 7 : i32
  %b = tile.grid %c2 : index
  %t = tile.alloc "t" : memref<i32, #l>
  %first = arith.cmpi eq, %b, %c0 : index
  scf.if %first {
    tile.store %seven, %t[] : i32, memref<i32, #l>
  }
  %x = tile.load %t[] : memref<i32, #l> -> i32
  tile.store %x, %C[%b] : i32, !g1i32
  return
})";
  Tensor<i32> C({2});
  InterpretResult result = run(text, {C});
  EXPECT_EQ(C(0), 7);
  EXPECT_NE(C(1), 7);
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_EQ(result.faults[0].code, FaultUninitialized);
  EXPECT_EQ(result.faults[0].facts[0].second, "1");
}

//===----------------------------------------------------------------------===//
// Bounds of the launch itself
//===----------------------------------------------------------------------===//

TEST(Fault, StepBound) {
  const char *text = R"(
func.func @long(%n: index, %C: !g1i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 {
    tile.store %one, %C[%c0] : i32, !g1i32
  }
  %two = arith.constant 2 : i32
  tile.store %two, %C[%c0] : i32, !g1i32
  return
})";
  Program program(text);
  Tensor<i32> C({1});
  EXPECT_EQ(summary(program.run({index(INT64_MAX), C}, {.maxSteps = 10000})),
            "PS1404 at 6: the kernel did not end within 10000 steps\n");
  EXPECT_EQ(C(0), 1) << "nothing runs after the bound";
  program.runClean({index(100), C}, {.maxSteps = 10000});
  EXPECT_EQ(C(0), 2);
  // The last step that is needed is enough: 3 + 1 + 3 operations and two for
  // each iteration.
  program.runClean({index(100), C}, {.maxSteps = 207});
  EXPECT_EQ(program.run({index(100), C}, {.maxSteps = 206}).faults.size(), 1u);
}

TEST(Fault, StepBoundCountsElements) {
  const char *text = R"(
func.func @large(%C: !g1f32) attributes {tile.kernel} {
  %one = arith.constant 1.0 : f32
  %a = tile.alloc "a" : memref<1024x1024xf32, #s>
  %b = tile.alloc "b" : memref<1024x1024xf32, #s>
  %acc = tile.alloc "acc" : memref<1024x1024xf32, #l>
  tile.fill %a, %one : memref<1024x1024xf32, #s>, f32
  tile.gemm %a, %a into %b : memref<1024x1024xf32, #s>, memref<1024x1024xf32, #s>, memref<1024x1024xf32, #s>
  return
})";
  Tensor<f32> C({1});
  EXPECT_EQ(summary(run(text, {C}, {.maxSteps = 10'000'000})),
            "PS1404 at 7: the kernel did not end within 10000000 steps\n");
}

TEST(Fault, EmptyBlocksCountAsWell) {
  const char *text = R"(
func.func @many(%n: index) attributes {tile.kernel} {
  %b = tile.grid %n : index
  return
})";
  InterpretResult result = run(text, {index((int64_t(1) << 31) - 1)}, {.maxSteps = 100000});
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_EQ(result.faults[0].code, FaultSteps);
}

TEST(Fault, ContextsWithoutModels) {
  for (const char *grid : {"", "%b = tile.grid %c4 : index"}) {
    InterpretResult result =
        runWithoutModels(std::string("\nfunc.func @kernel() attributes {tile.kernel} {\n"
                                     "  %c4 = arith.constant 4 : index\n") +
                         grid + "\n  return\n}");
    ASSERT_EQ(result.faults.size(), 1u);
    EXPECT_EQ(result.faults[0].code, InternalError);
    EXPECT_EQ(result.faults[0].location.line, 3u);
  }
}

TEST(Fault, AtMostAHundred) {
  std::string text = "\nfunc.func @many(%C: !g1i32, %i: index) attributes {tile.kernel} {\n"
                     "  %x = arith.constant 1 : i32\n";
  for (int i = 0; i < 150; ++i)
    text += "  tile.store %x, %C[%i] : i32, !g1i32\n";
  text += "  return\n}";
  Tensor<i32> C({1});
  InterpretResult result = run(text, {C, index(1)});
  ASSERT_EQ(result.faults.size(), 100u);
  EXPECT_EQ(result.faults[99].location.line, 103u);
  // The end of the launch is told all the same.
  result = run(text, {C, index(1)}, {.maxSteps = 120});
  ASSERT_EQ(result.faults.size(), 100u);
  EXPECT_EQ(result.faults[99].code, FaultSteps);
}

TEST(Fault, ArgumentsThatDoNotFit) {
  Program program(R"(
func.func @arguments(%A: !g2f32, %x: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %y = tile.load %A[%c0, %c0] : !g2f32 -> f32
  return
})");
  Tensor<f32> A({2, 2}), rank({4});
  Tensor<f64> wide({2, 2});
  detail::Argument null = A, negative = A, strided = A;
  null.data = nullptr;
  negative.sizes[0] = -1;
  strided.strides[1] = 2;
  detail::Argument x = scalar(i32(1));
  program.runClean({A, x});
  auto codeOf = [&](std::vector<detail::Argument> arguments) {
    InterpretResult result = program.run(arguments);
    return result.faults.size() == 1 ? result.faults[0].code : 0;
  };
  EXPECT_EQ(codeOf({}), LaunchRank);
  EXPECT_EQ(codeOf({A}), LaunchRank);
  EXPECT_EQ(codeOf({A, x, x}), LaunchRank);
  EXPECT_EQ(codeOf({x, x}), LaunchRank);
  EXPECT_EQ(codeOf({A, A}), LaunchRank);
  EXPECT_EQ(codeOf({rank, x}), LaunchRank);
  EXPECT_EQ(codeOf({wide, x}), LaunchRank);
  EXPECT_EQ(codeOf({A, scalar(1.0f)}), LaunchRank);
  EXPECT_EQ(codeOf({null, x}), LaunchNull);
  EXPECT_EQ(codeOf({negative, x}), LaunchSize);
  EXPECT_EQ(codeOf({strided, x}), LaunchStride);
}

/// The asynchronous copy's own place, not that of the wait.
TEST(Fault, AsynchronousFaultsNameTheOperation) {
  const char *text = R"(
func.func @async(%C: !g1i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %t = tile.alloc "t" : memref<2xi32, #s>
  tile.copy %t to %C[%c0] async "store" : memref<2xi32, #s> to !g1i32
  tile.wait ["store"]
  return
})";
  for (Completion completion : {Completion::Eager, Completion::Latest}) {
    Tensor<i32> C({2});
    EXPECT_EQ(summary(run(text, {C}, {.completion = completion})),
              "PS1406 at 4: `copy` reads `t` at [0], which nothing has written\n");
  }
}

} // namespace
