//===- CopyTest.cpp - Copies and views of tiles ---------------------------===//
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

const char *readBox = R"(
func.func @read(%A: !g2T, %C: !g2T, %r: index, %c: index, %x: T) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %t = tile.alloc "t" : memref<4x3xT, #s>
  tile.copy %A[%r, %c] to %t FILL : !g2T to memref<4x3xT, #s>
  tile.copy %t to %C[%c0, %c0] : memref<4x3xT, #s> to !g2T
  return
})";

template <class T> void testRead() {
  constexpr Element element = detail::ElementOf<T>::value;
  SCOPED_TRACE(mlirName(element));
  Program plain(withElement(replaceAll(readBox, "FILL", ""), element));
  Program filled(withElement(replaceAll(readBox, "FILL", "fill %x : T"), element));
  Tensor<T> A({5, 6}, T(), /*row=*/8);
  A.randomize(1, 1, 5);
  for (int64_t r : {-5, -4, -1, 0, 1, 2, 4, 5, 9})
    for (int64_t c : {-4, -3, -2, 0, 2, 3, 4, 6, 7})
      for (bool fill : {false, true}) {
        Tensor<T> C({4, 3}, T(1));
        T x = T(fill ? 1 : 0);
        (fill ? filled : plain).runClean({A, C, index(r), index(c), scalar(x)});
        for (int64_t i = 0; i < 4; ++i)
          for (int64_t j = 0; j < 3; ++j) {
            bool inside = r + i >= 0 && r + i < 5 && c + j >= 0 && c + j < 6;
            T expected = inside ? A(r + i, c + j) : x;
            ASSERT_EQ(double(C(i, j)), double(expected))
                << r << ", " << c << ": " << i << ", " << j;
          }
      }
}

TEST(Copy, ReadsZeroOrFillOutside) {
  testRead<f16>();
  testRead<bf16>();
  testRead<f32>();
  testRead<f64>();
  testRead<f8e4m3>();
  testRead<f8e5m2>();
  testRead<bool>();
  testRead<i8>();
  testRead<i16>();
  testRead<i32>();
  testRead<i64>();
}

TEST(Copy, WritesNothingOutside) {
  Program program(R"(
func.func @write(%A: !g2i16, %C: !g2i16, %r: index, %c: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %t = tile.alloc "t" : memref<4x3xi16, #s>
  tile.copy %A[%c0, %c0] to %t : !g2i16 to memref<4x3xi16, #s>
  tile.copy %t to %C[%r, %c] : memref<4x3xi16, #s> to !g2i16
  return
})");
  Tensor<i16> A({4, 3});
  for (int64_t i = 0; i < 12; ++i)
    A.data[i] = static_cast<i16>(i + 1);
  for (int64_t r : {-4, -1, 0, 1, 3, 5, 100})
    for (int64_t c : {-3, -1, 0, 2, 3, 5, 100}) {
      // The padding between rows must stay untouched as well.
      Tensor<i16> C({5, 4}, -7, /*row=*/7);
      program.runClean({A, C, index(r), index(c)});
      for (int64_t i = 0; i < 5; ++i)
        for (int64_t j = 0; j < 7; ++j) {
          bool inside = i >= r && i < r + 4 && j >= c && j < c + 3 && j < 4;
          ASSERT_EQ(C.data[i * 7 + j], inside ? A(i - r, j - c) : -7);
        }
    }
}

TEST(Copy, OffsetsNearTheEndOfTheNumbersAreOutside) {
  Program program(withElement(replaceAll(readBox, "FILL", ""), Element::i32));
  for (int64_t offset : {INT64_MAX, INT64_MAX - 1, INT64_MIN}) {
    Tensor<i32> A({5, 6}, 3), C({4, 3}, 9);
    program.runClean({A, C, index(offset), index(offset), scalar(i32(0))});
    for (int64_t i = 0; i < 12; ++i)
      EXPECT_EQ(C.data[i], 0);
  }
}

TEST(Copy, RunsAlongChosenDimensions) {
  const char *text = R"(
func.func @dims(%A: !g3i32, %C: !g2i32, %x: index, %y: index, %z: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %t = tile.alloc "t" : memref<3x2xi32, #s>
  tile.copy %A[%x, %y, %z] to %t DIMS : !g3i32 to memref<3x2xi32, #s>
  tile.copy %t to %C[%c0, %c0] : memref<3x2xi32, #s> to !g2i32
  return
})";
  Tensor<i32> A({4, 5, 6});
  for (int64_t i = 0; i < A.length; ++i)
    A.data[i] = static_cast<i32>(i + 1);
  int64_t runs[][2] = {{0, 1}, {0, 2}, {1, 2}};
  for (auto [first, second] : runs) {
    Program program(replaceAll(
        text, "DIMS", "dims [" + std::to_string(first) + ", " + std::to_string(second) + "]"));
    for (int64_t x : {-1, 0, 3, 4})
      for (int64_t y : {-2, 1, 4})
        for (int64_t z : {0, 5, 7}) {
          Tensor<i32> C({3, 2}, -1);
          program.runClean({A, C, index(x), index(y), index(z)});
          for (int64_t i = 0; i < 3; ++i)
            for (int64_t j = 0; j < 2; ++j) {
              int64_t at[3] = {x, y, z};
              at[first] += i;
              at[second] += j;
              bool inside =
                  at[0] >= 0 && at[0] < 4 && at[1] >= 0 && at[1] < 5 && at[2] >= 0 && at[2] < 6;
              ASSERT_EQ(C(i, j), inside ? A(at[0], at[1], at[2]) : 0);
            }
        }
  }
}

TEST(Copy, LowerRanksRunAlongTheLastDimensions) {
  const char *text = R"(
func.func @rank(%A: !g2i32, %B: !g1i32, %r: index, %c: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %row = tile.alloc "row" : memref<3xi32, #s>
  %one = tile.alloc "one" : memref<i32, #l>
  tile.copy %A[%r, %c] to %row : !g2i32 to memref<3xi32, #s>
  tile.copy %row to %B[%c0] : memref<3xi32, #s> to !g1i32
  tile.copy %A[%c, %r] to %one : !g2i32 to memref<i32, #l>
  %v = tile.load %one[] : memref<i32, #l> -> i32
  %c3 = arith.constant 3 : index
  tile.store %v, %B[%c3] : i32, !g1i32
  return
})";
  Tensor<i32> A({4, 4}), B({4});
  A.randomize(3, 1, 100);
  runClean(text, {A, B, index(1), index(2)});
  EXPECT_EQ(B(0), A(1, 2));
  EXPECT_EQ(B(1), A(1, 3));
  EXPECT_EQ(B(2), 0);
  EXPECT_EQ(B(3), A(2, 1));
}

TEST(Copy, ConvertsByRounding) {
  const char *text = R"(
func.func @convert(%A: !g1f64, %H: !g1f16, %Q: !g1e4m3, %D: !g1f64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %s = tile.alloc : memref<6xf32, #s>
  %h = tile.alloc : memref<6xf16, #s>
  %w = tile.alloc : memref<6xf64, #s>
  tile.copy %A[%c0] to %w : !g1f64 to memref<6xf64, #s>
  tile.copy %w to %H[%c0] : memref<6xf64, #s> to !g1f16
  tile.copy %w to %s : memref<6xf64, #s> to memref<6xf32, #s>
  tile.copy %s to %Q[%c0] : memref<6xf32, #s> to !g1e4m3
  tile.copy %H[%c0] to %h : !g1f16 to memref<6xf16, #s>
  tile.copy %h to %D[%c0] : memref<6xf16, #s> to !g1f64
  return
})";
  // 1 + 2^-11 is a tie in f16; with a little more it is not, though it is again
  // one after rounding to f32.
  Tensor<f64> A = Tensor<f64>::with(
                  {1.0 + 0x1p-11, 1.0 + 0x1p-11 + 0x1p-40, 1.0 + 0x3p-11, 65520.0, 464.0, -1e-9}),
              D({6});
  Tensor<f16> H({6});
  Tensor<f8e4m3> Q({6});
  runClean(text, {A, H, Q, D});
  double halves[] = {1.0, 1.0 + 0x1p-10, 1.0 + 0x1p-9, INFINITY, 464.0, -0.0};
  double eighths[] = {1.0, 1.0, 1.0, NAN, 448.0, -0.0};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(double(H(i)), halves[i]) << i;
    EXPECT_EQ(D(i), halves[i]) << i;
    if (std::isnan(eighths[i]))
      EXPECT_TRUE(std::isnan(float(Q(i))));
    else
      EXPECT_EQ(double(Q(i)), eighths[i]) << i;
  }
  EXPECT_TRUE(std::signbit(float(H(5))) && std::signbit(float(Q(5))));
}

TEST(Copy, KeepsTheBitsOfOneType) {
  const char *text = R"(
func.func @bits(%A: !g1f32, %C: !g1f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %t = tile.alloc : memref<3xf32, #s>
  tile.copy %A[%c0] to %t : !g1f32 to memref<3xf32, #s>
  tile.copy %t to %C[%c0] : memref<3xf32, #s> to !g1f32
  return
})";
  // NaNs with a payload, one of them signaling.
  uint32_t patterns[] = {0x7f812345u, 0xffc54321u, 0x00000001u};
  Tensor<f32> A({3}), C({3});
  std::memcpy(A.data.get(), patterns, sizeof patterns);
  runClean(text, {A, C});
  EXPECT_EQ(std::memcmp(C.data.get(), patterns, sizeof patterns), 0);
}

TEST(Copy, BetweenOverlappingViewsReadsFirst) {
  const char *text = R"(
func.func @overlap(%A: !g1i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %t = tile.alloc "t" : memref<6xi32, #s>
  tile.copy %A[%c0] to %t : !g1i32 to memref<6xi32, #s>
  %from = memref.subview %t[0] [4] [1] : memref<6xi32, #s> to memref<4xi32, strided<[1]>, #s>
  %to = memref.subview %t[2] [4] [1] : memref<6xi32, #s> to memref<4xi32, strided<[1], offset: 2>, #s>
  tile.copy %from to %to : memref<4xi32, strided<[1]>, #s> to memref<4xi32, strided<[1], offset: 2>, #s>
  tile.copy %t to %A[%c0] : memref<6xi32, #s> to !g1i32
  return
})";
  Tensor<i32> A = Tensor<i32>::with({1, 2, 3, 4, 5, 6});
  runClean(text, {A});
  i32 expected[] = {1, 2, 1, 2, 3, 4};
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(A(i), expected[i]);
}

TEST(Copy, EmptyTensors) {
  Program program(withElement(replaceAll(readBox, "FILL", "fill %x : T"), Element::f32));
  Tensor<f32> A({0, 6}), C({4, 3}, 1.0f), none({4, 0});
  program.runClean({A, C, index(0), index(0), scalar(2.5f)});
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(C.data[i], 2.5f);
  // Nothing to read and nowhere to write.
  program.runClean({A, none, index(0), index(0), scalar(2.5f)});
}

TEST(Views, SlicesAndTransposesReachTheTile) {
  const char *text = R"(
func.func @views(%A: !g3i32, %C: !g2i32, %D: !g1i32, %i: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %t = tile.alloc "t" : memref<2x4x5xi32, #s>
  tile.copy %A[%c0, %c0, %c0] to %t : !g3i32 to memref<2x4x5xi32, #s>
  %plane = memref.subview %t[1, 0, 0] [1, 4, 5] [1, 1, 1] : memref<2x4x5xi32, #s> to memref<4x5xi32, strided<[5, 1], offset: 20>, #s>
  %part = memref.subview %plane[%i, 2] [2, 3] [1, 1] : memref<4x5xi32, strided<[5, 1], offset: 20>, #s> to memref<2x3xi32, strided<[5, 1], offset: ?>, #s>
  %turned = memref.transpose %part (a, b) -> (b, a) : memref<2x3xi32, strided<[5, 1], offset: ?>, #s> to memref<3x2xi32, strided<[1, 5], offset: ?>, #s>
  tile.copy %turned to %C[%c0, %c0] : memref<3x2xi32, strided<[1, 5], offset: ?>, #s> to !g2i32
  %cycled = memref.transpose %t (a, b, c) -> (c, a, b) : memref<2x4x5xi32, #s> to memref<5x2x4xi32, strided<[1, 20, 5]>, #s>
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %v = tile.load %cycled[%c4, %c1, %i] : memref<5x2x4xi32, strided<[1, 20, 5]>, #s> -> i32
  tile.store %v, %D[%c0] : i32, !g1i32
  %two = arith.constant 2 : index
  %size = memref.dim %cycled, %two : memref<5x2x4xi32, strided<[1, 20, 5]>, #s>
  %s = arith.index_cast %size : index to i32
  tile.store %s, %D[%c1] : i32, !g1i32
  return
})";
  Tensor<i32> A({2, 4, 5}), C({3, 2}), D({2});
  A.randomize(9, 1, 1000);
  for (int64_t i : {0, 1, 2}) {
    runClean(text, {A, C, D, index(i)});
    for (int64_t a = 0; a < 2; ++a)
      for (int64_t b = 0; b < 3; ++b)
        EXPECT_EQ(C(b, a), A(1, i + a, 2 + b));
    EXPECT_EQ(D(0), A(1, i, 4));
    EXPECT_EQ(D(1), 4);
  }
}

TEST(Views, FillOfASliceLeavesTheRest) {
  const char *text = R"(
func.func @slice(%A: !g2i8) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 5 : i8
  %t = tile.alloc "t" : memref<4x4xi8, #l>
  tile.copy %A[%c0, %c0] to %t : !g2i8 to memref<4x4xi8, #l>
  %part = memref.subview %t[1, 2] [2, 2] [1, 1] : memref<4x4xi8, #l> to memref<2x2xi8, strided<[4, 1], offset: 6>, #l>
  tile.fill %part, %x : memref<2x2xi8, strided<[4, 1], offset: 6>, #l>, i8
  tile.copy %t to %A[%c0, %c0] : memref<4x4xi8, #l> to !g2i8
  return
})";
  Tensor<i8> A({4, 4}, 1);
  runClean(text, {A});
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      EXPECT_EQ(A(i, j), (i == 1 || i == 2) && j >= 2 ? 5 : 1);
}

} // namespace
