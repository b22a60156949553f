//===- ControlTest.cpp - Loops, conditions and scalars --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Harness.h"

#include <cmath>
#include <limits>

using namespace penstock;
using namespace penstock::test;

namespace {

TEST(Control, LoopsCarryValues) {
  const char *text = R"(
func.func @fibonacci(%C: !g1i64, %from: index, %to: index, %step: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %r:2 = scf.for %i = %from to %to step %step iter_args(%a = %zero, %b = %one) -> (i64, i64) {
    %c = arith.addi %a, %b : i64
    scf.yield %b, %c : i64, i64
  }
  tile.store %r#0, %C[%c0] : i64, !g1i64
  tile.store %r#1, %C[%c1] : i64, !g1i64
  return
})";
  Program program(text);
  for (auto [from, to, step] : std::vector<std::array<int64_t, 3>>{{0, 10, 1},
                                                                   {0, 0, 1},
                                                                   {5, 3, 1},
                                                                   {-7, 8, 4},
                                                                   {INT64_MAX - 5, INT64_MAX, 4},
                                                                   {INT64_MIN, INT64_MIN + 3, 2}}) {
    Tensor<i64> C({2});
    program.runClean({C, index(from), index(to), index(step)});
    i64 a = 0, b = 1;
    for (__int128 i = from; i < to; i += step)
      std::tie(a, b) = std::pair(b, a + b);
    EXPECT_EQ(C(0), a) << from;
    EXPECT_EQ(C(1), b) << from;
  }
}

TEST(Control, ConditionsYieldValues) {
  const char *text = R"(
func.func @choose(%C: !g1i32, %x: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %ten = arith.constant 10 : i32
  %c = arith.cmpi slt, %x, %ten : i32
  %r = scf.if %c -> i32 {
    %y = arith.muli %x, %ten : i32
    scf.yield %y : i32
  } else {
    scf.yield %ten : i32
  }
  %named = tile.bind "r" %r : i32
  scf.if %c {
    tile.store %named, %C[%c0] : i32, !g1i32
  }
  return
})";
  Program program(text);
  Tensor<i32> C({1}, -1);
  program.runClean({C, scalar(i32(12))});
  EXPECT_EQ(C(0), -1);
  program.runClean({C, scalar(i32(7))});
  EXPECT_EQ(C(0), 70);
}

TEST(Control, DivMod) {
  const char *text = R"(
func.func @divmod(%C: !g1i64, %a: index, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q, %r = tile.divmod %a, %n
  %x = arith.index_cast %q : index to i64
  %y = arith.index_cast %r : index to i64
  tile.store %x, %C[%c0] : i64, !g1i64
  tile.store %y, %C[%c1] : i64, !g1i64
  return
})";
  Program program(text);
  for (int64_t a : {int64_t(0), int64_t(1), int64_t(17), INT64_MAX})
    for (int64_t n : {int64_t(1), int64_t(3), int64_t(18), INT64_MAX}) {
      Tensor<i64> C({2});
      program.runClean({C, index(a), index(n)});
      EXPECT_EQ(C(0), a / n);
      EXPECT_EQ(C(1), a % n);
    }
}

TEST(Control, ScalarArgumentsOfAllTypes) {
  auto test = [](auto value) {
    using T = decltype(value);
    constexpr Element element = detail::ElementOf<T>::value;
    std::string text = withElement(R"(
func.func @scalar(%C: !g1T, %x: T) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  tile.store %x, %C[%c0] : T, !g1T
  return
})",
                                   element);
    Tensor<T> C({1});
    runClean(text, {C, scalar(value)});
    EXPECT_EQ(std::memcmp(&C(0), &value, sizeof value), 0) << mlirName(element);
  };
  test(f16(-1.5f));
  test(bf16(3.0f));
  test(f8e4m3(0.5f));
  test(f8e5m2(-8.0f));
  test(1.25f);
  test(-2.5e100);
  test(true);
  test(i8(-5));
  test(i16(-300));
  test(i32(-70000));
  test(i64(1) << 40);
}

} // namespace
