//===- MapTest.cpp - Elements computed from tiles -------------------------===//
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

TEST(Map, BroadcastsRowsAndColumnsAndTransposes) {
  const char *text = R"(
func.func @map(%A: !g2f32, %R: !g1f32, %Q: !g1f32, %C: !g2f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc "a" : memref<4x3xf32, #s>
  %row = tile.alloc "row" : memref<3xf32, #s>
  %column = tile.alloc "column" : memref<4xf32, #s>
  %one = tile.alloc "one" : memref<f32, #l>
  %out = tile.alloc "out" : memref<3x4xf32, #l>
  %half = arith.constant 0.5 : f32
  tile.fill %one, %half : memref<f32, #l>, f32
  tile.copy %A[%c0, %c0] to %a : !g2f32 to memref<4x3xf32, #s>
  tile.copy %R[%c0] to %row : !g1f32 to memref<3xf32, #s>
  tile.copy %Q[%c0] to %column : !g1f32 to memref<4xf32, #s>
  tile.map %out ins(%a, %row, %column, %one) dims [[1, 0], [0], [1], []] {
  ^bb0(%x: f32, %r: f32, %q: f32, %h: f32):
    %i = tile.element_index 0
    %j = tile.element_index 1
    %ii = arith.index_cast %i : index to i32
    %jj = arith.index_cast %j : index to i32
    %fi = arith.sitofp %ii : i32 to f32
    %fj = arith.sitofp %jj : i32 to f32
    %s0 = arith.mulf %x, %r : f32
    %s1 = arith.addf %s0, %q : f32
    %s2 = arith.mulf %fi, %h : f32
    %s3 = arith.subf %s1, %s2 : f32
    %mask = arith.cmpi sle, %i, %j : index
    %s4 = arith.select %mask, %s3, %fj : f32
    tile.yield %s4 : f32
  } : memref<3x4xf32, #l> ins(memref<4x3xf32, #s>, memref<3xf32, #s>, memref<4xf32, #s>, memref<f32, #l>)
  tile.copy %out to %C[%c0, %c0] : memref<3x4xf32, #l> to !g2f32
  return
})";
  Tensor<f32> A({4, 3}), R({3}), Q({4}), C({3, 4});
  A.randomize(1);
  R.randomize(2);
  Q.randomize(3);
  runClean(text, {A, R, Q, C});
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j)
      EXPECT_EQ(C(i, j), i <= j ? A(j, i) * R(i) + Q(j) - float(i) * 0.5f : float(j));
}

TEST(Map, ReadsTheTargetBeforeWritingAndLoadsOtherTiles) {
  const char *text = R"(
func.func @map(%A: !g1i32, %T: !g1i32, %n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc "a" : memref<8xi32, #s>
  %table = tile.alloc "table" : memref<4xi32, #s>
  tile.copy %A[%c0] to %a : !g1i32 to memref<8xi32, #s>
  tile.copy %T[%c0] to %table : !g1i32 to memref<4xi32, #s>
  tile.map %a ins(%a) dims [[0]] {
  ^bb0(%x: i32):
    %r = arith.remui %x, %n : i32
    %i = arith.index_cast %r : i32 to index
    %y = tile.load %table[%i] : memref<4xi32, #s> -> i32
    %z = arith.addi %x, %y : i32
    tile.yield %z : i32
  } : memref<8xi32, #s> ins(memref<8xi32, #s>)
  tile.copy %a to %A[%c0] : memref<8xi32, #s> to !g1i32
  return
})";
  Tensor<i32> A({8}), T({4}), before({8});
  A.randomize(1, 0, 50);
  T.randomize(2, 0, 50);
  std::copy_n(A.data.get(), 8, before.data.get());
  runClean(text, {A, T, scalar(i32(4))});
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(A(i), before(i) + T(before(i) % 4));
}

/// Each element type through a map that doubles.
template <class T> void testDouble(const char *op) {
  constexpr Element element = detail::ElementOf<T>::value;
  std::string text = replaceAll(R"(
func.func @double(%A: !g1T) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %t = tile.alloc "t" : memref<5xT, #l>
  tile.copy %A[%c0] to %t : !g1T to memref<5xT, #l>
  tile.map %t ins(%t) dims [[0]] {
  ^bb0(%x: T):
    %y = OP %x, %x : T
    tile.yield %y : T
  } : memref<5xT, #l> ins(memref<5xT, #l>)
  tile.copy %t to %A[%c0] : memref<5xT, #l> to !g1T
  return
})",
                                "OP", op);
  Tensor<T> A({5}), before({5});
  A.randomize(4);
  std::copy_n(A.data.get(), 5, before.data.get());
  runClean(withElement(text, element), {A});
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(double(A(i)), 2 * double(before(i))) << mlirName(element);
}

TEST(Map, AllElementTypes) {
  testDouble<f16>("arith.addf");
  testDouble<bf16>("arith.addf");
  testDouble<f32>("arith.addf");
  testDouble<f64>("arith.addf");
  testDouble<f8e4m3>("arith.addf");
  testDouble<f8e5m2>("arith.addf");
  testDouble<i8>("arith.addi");
  testDouble<i16>("arith.addi");
  testDouble<i32>("arith.addi");
  testDouble<i64>("arith.addi");
}

/// Rows of a softmax with a causal mask: most of the language in one kernel.
TEST(Map, Softmax) {
  const char *text = R"(
func.func @softmax(%A: !g2f32, %C: !g2f32, %scale: f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %M = memref.dim %A, %c0 : !g2f32
  %g = arith.ceildivsi %M, %c4 : index
  %b = tile.grid %g : index
  %m0 = arith.muli %b, %c4 : index
  %S = tile.alloc "S" : memref<4x8xf32, #l>
  %top = tile.alloc "top" : memref<4xf32, #l>
  %sum = tile.alloc "sum" : memref<4xf32, #l>
  %infinity = arith.constant 0xFF800000 : f32
  tile.copy %A[%m0, %c0] to %S fill %infinity : f32 : !g2f32 to memref<4x8xf32, #l>
  tile.statement "softmax" {
    tile.map %S ins(%S) dims [[0, 1]] {
    ^bb0(%s: f32):
      %i = tile.element_index 0
      %j = tile.element_index 1
      %row = arith.addi %i, %m0 : index
      %keep = arith.cmpi sge, %row, %j : index
      %masked = arith.select %keep, %s, %infinity : f32
      tile.yield %masked : f32
    } : memref<4x8xf32, #l> ins(memref<4x8xf32, #l>)
    tile.reduce max %S along 1 into %top : memref<4x8xf32, #l>, memref<4xf32, #l>
    tile.map %S ins(%S, %top) dims [[0, 1], [0]] {
    ^bb0(%s: f32, %t: f32):
      %d = arith.subf %s, %t : f32
      %x = arith.mulf %d, %scale : f32
      %e = math.exp2 %x : f32
      tile.yield %e : f32
    } : memref<4x8xf32, #l> ins(memref<4x8xf32, #l>, memref<4xf32, #l>)
    tile.reduce sum %S along 1 into %sum : memref<4x8xf32, #l>, memref<4xf32, #l>
    tile.map %S ins(%S, %sum) dims [[0, 1], [0]] {
    ^bb0(%s: f32, %t: f32):
      %d = arith.divf %s, %t : f32
      tile.yield %d : f32
    } : memref<4x8xf32, #l> ins(memref<4x8xf32, #l>, memref<4xf32, #l>)
  }
  tile.copy %S to %C[%m0, %c0] : memref<4x8xf32, #l> to !g2f32
  return
})";
  int64_t M = 7, N = 7;
  Tensor<f32> A({M, N}), C({M, N}, -1.0f);
  A.randomize(6, -20, 20);
  float scale = 0.25f;
  runClean(text, {A, C, scalar(scale)});
  for (int64_t i = 0; i < M; ++i) {
    float top = -INFINITY, e[7] = {};
    double sum = 0; // rounded once
    for (int64_t j = 0; j <= i; ++j)
      top = std::max(top, A(i, j));
    for (int64_t j = 0; j <= i; ++j)
      sum += e[j] = float(std::exp2(double((A(i, j) - top) * scale)));
    for (int64_t j = 0; j < N; ++j)
      EXPECT_EQ(C(i, j), e[j] / float(sum)) << i << ", " << j;
  }
}

} // namespace
