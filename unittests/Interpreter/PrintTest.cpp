//===- PrintTest.cpp - What kernels print ---------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

#include <cmath>

using namespace penstock;
using namespace penstock::test;

namespace {

std::string printed(const char *text, std::vector<detail::Argument> arguments) {
  std::string out;
  runClean(text, std::move(arguments), {.print = [&](std::string_view line) { out += line; }});
  return out;
}

TEST(Print, Scalars) {
  const char *text = R"(
func.func @print(%a: i32, %b: f32, %c: f16, %d: i1, %e: index, %f: f64, %g: i8) attributes {tile.kernel} {
  tile.print "nothing"
  tile.print "a={}, b={}; {}{}" %a, %b, %c, %d : i32, f32, f16, i1
  tile.print "{} {} {}%s %d" %e, %f, %g : index, f64, i8
  return
})";
  EXPECT_EQ(printed(text, {scalar(i32(-5)), scalar(0.1f), scalar(f16(2.5f)), scalar(true),
                           index(INT64_MIN), scalar(1e-300), scalar(i8(-128))}),
            "nothing\n"
            "a=-5, b=0.1; 2.51\n"
            "-9223372036854775808 1e-300 -128%s %d\n");
  EXPECT_EQ(printed(text, {scalar(i32(0)), scalar(-NAN), scalar(f16(INFINITY)), scalar(false),
                           index(7), scalar(-0.0), scalar(i8(0))}),
            "nothing\n"
            "a=0, b=nan; inf0\n"
            "7 -0 0%s %d\n");
}

TEST(Print, Tiles) {
  const char *text = R"(
func.func @print(%A: !g3i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 1.5 : bf16
  %t = tile.alloc "t" : memref<2x2x3xi32, #s>
  %u = tile.alloc "u" : memref<2xbf16, #s>
  %v = tile.alloc "v" : memref<bf16, #s>
  %w = tile.alloc "w" : memref<1x1xbf16, #s>
  tile.copy %A[%c0, %c0, %c0] to %t : !g3i32 to memref<2x2x3xi32, #s>
  tile.fill %u, %x : memref<2xbf16, #s>, bf16
  tile.fill %v, %x : memref<bf16, #s>, bf16
  tile.fill %w, %x : memref<1x1xbf16, #s>, bf16
  tile.print "t = {}!" %t : memref<2x2x3xi32, #s>
  %turned = memref.transpose %t (a, b, c) -> (c, b, a) : memref<2x2x3xi32, #s> to memref<3x2x2xi32, strided<[1, 3, 6]>, #s>
  tile.print "{}" %turned : memref<3x2x2xi32, strided<[1, 3, 6]>, #s>
  tile.print "{} {} {}" %u, %v, %w : memref<2xbf16, #s>, memref<bf16, #s>, memref<1x1xbf16, #s>
  return
})";
  Tensor<i32> A({2, 2, 3});
  for (int i = 0; i < 12; ++i)
    A.data[i] = i;
  EXPECT_EQ(printed(text, {A}), "t = [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]]!\n"
                                "[[[0, 6], [3, 9]], [[1, 7], [4, 10]], [[2, 8], [5, 11]]]\n"
                                "[1.5, 1.5] 1.5 [[1.5]]\n");
}

TEST(Print, GoesToStandardOutputByDefault) {
  testing::internal::CaptureStdout();
  runClean(R"(
func.func @print() attributes {tile.kernel} {
  tile.print "hello"
  return
})",
           {});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "hello\n");
}

} // namespace
