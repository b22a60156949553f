//===- ReduceTest.cpp - Reductions along a dimension ----------------------===//
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

const char *reduction = R"(
func.func @reduce(%A: !g3T, %C: !g2T) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %t = tile.alloc "t" : memref<2x3x4xT, #s>
  %r = tile.alloc "r" : memref<SHAPExT, #l>
  tile.copy %A[%c0, %c0, %c0] to %t : !g3T to memref<2x3x4xT, #s>
  tile.copy %C[%c0, %c0] to %r : !g2T to memref<SHAPExT, #l>
  tile.reduce KIND %t along DIM into %r MODE : memref<2x3x4xT, #s>, memref<SHAPExT, #l>
  tile.copy %r to %C[%c0, %c0] : memref<SHAPExT, #l> to !g2T
  return
})";

template <class T> void testReduction(const char *kind, double (*combine)(double, double)) {
  constexpr Element element = detail::ElementOf<T>::value;
  const char *shapes[] = {"3x4", "2x4", "2x3"};
  int64_t sizes[] = {2, 3, 4};
  for (int64_t dim = 0; dim < 3; ++dim)
    for (bool accumulate : {false, true}) {
      std::string text = replaceAll(reduction, "SHAPE", shapes[dim]);
      text = replaceAll(text, "KIND", kind);
      text = replaceAll(text, "DIM", std::to_string(dim));
      text = replaceAll(text, "MODE", accumulate ? "accumulate" : "");
      SCOPED_TRACE(text);
      std::vector<int64_t> kept;
      for (int64_t d = 0; d < 3; ++d)
        if (d != dim)
          kept.push_back(sizes[d]);
      Tensor<T> A({2, 3, 4}), C(kept), before(kept);
      A.randomize(dim + 1, -3, 3);
      C.randomize(7, -3, 3);
      std::copy_n(C.data.get(), C.length, before.data.get());
      runClean(withElement(text, element), {A, C});
      for (int64_t i = 0; i < kept[0]; ++i)
        for (int64_t j = 0; j < kept[1]; ++j) {
          double expected = double(before(i, j));
          for (int64_t k = 0; k < sizes[dim]; ++k) {
            double value = double(dim == 0 ? A(k, i, j) : dim == 1 ? A(i, k, j) : A(i, j, k));
            expected = k == 0 && !accumulate ? value : combine(expected, value);
          }
          ASSERT_EQ(double(C(i, j)), expected);
        }
    }
}

template <class T> void testReductions() {
  SCOPED_TRACE(mlirName(detail::ElementOf<T>::value));
  testReduction<T>("sum", [](double a, double b) { return a + b; });
  testReduction<T>("max", [](double a, double b) { return a > b ? a : b; });
  testReduction<T>("min", [](double a, double b) { return a < b ? a : b; });
}

// As a reference for checks, a long sum must not have a larger error than the code under test. In
// f32, 1 followed by elements of half a unit in the last place of 1 stays 1 if each addition
// rounds.
TEST(Reduce, LongSumsRoundOnce) {
  std::string text = replaceAll(reduction, "2x3x4x", "1x1x4096x");
  text = replaceAll(replaceAll(text, "SHAPE", "1x1"), "KIND", "sum");
  text = replaceAll(replaceAll(text, "DIM", "2"), "MODE", "");
  Tensor<float> A({1, 1, 4096}), C({1, 1});
  std::fill_n(A.data.get(), 4096, 0x1p-24f);
  A(0, 0, 0) = 1;
  C(0, 0) = 0;
  runClean(withElement(text, Element::f32), {A, C});
  EXPECT_EQ(C(0, 0), 1 + 0x1p-12f); // 1 + 4095 * 2^-24, to nearest even
}

TEST(Reduce, AllKindsDimensionsAndTypes) {
  testReductions<f16>();
  testReductions<bf16>();
  testReductions<f32>();
  testReductions<f64>();
  testReductions<f8e4m3>();
  testReductions<f8e5m2>();
  testReductions<i8>();
  testReductions<i16>();
  testReductions<i32>();
  testReductions<i64>();
  auto multiply = [](double a, double b) { return a * b; };
  testReduction<f32>("prod", multiply);
  testReduction<f64>("prod", multiply);
  testReduction<i16>("prod", multiply);
  testReduction<i64>("prod", multiply);
}

TEST(Reduce, ConvertsFirstAndRoundsInTheTargetsType) {
  // 2048 + 1 is 2048 in f16: a sum in f32 that is rounded at the end differs.
  const char *text = R"(
func.func @order(%A: !g1f32, %C: !g1f16) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %t = tile.alloc "t" : memref<4xf32, #s>
  %r = tile.alloc "r" : memref<f16, #l>
  tile.copy %A[%c0] to %t : !g1f32 to memref<4xf32, #s>
  tile.reduce sum %t along 0 into %r : memref<4xf32, #s>, memref<f16, #l>
  tile.copy %r to %C[%c0] : memref<f16, #l> to !g1f16
  return
})";
  Tensor<f32> A = Tensor<f32>::with({2048.0f, 1.0f, 1.0f, 0.4999f});
  Tensor<f16> C({1});
  runClean(text, {A, C});
  EXPECT_EQ(float(C(0)), 2048.0f);
}

TEST(Reduce, MaxAndMinGiveNaN) {
  for (const char *kind : {"max", "min"})
    for (int position = 0; position < 3; ++position) {
      std::string text = R"(
func.func @nan(%A: !g1f32, %C: !g1f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %t = tile.alloc "t" : memref<3xf32, #s>
  %r = tile.alloc "r" : memref<f32, #l>
  tile.copy %A[%c0] to %t : !g1f32 to memref<3xf32, #s>
  tile.reduce KIND %t along 0 into %r : memref<3xf32, #s>, memref<f32, #l>
  tile.copy %r to %C[%c0] : memref<f32, #l> to !g1f32
  return
})";
      Tensor<f32> A({3}, 1.0f), C({1});
      A(position) = NAN;
      runClean(replaceAll(text, "KIND", kind), {A, C});
      EXPECT_TRUE(std::isnan(C(0))) << kind << position;
    }
}

TEST(Reduce, IntegersWrap) {
  const char *text = R"(
func.func @wrap(%A: !g1i8, %C: !g1i8) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %t = tile.alloc "t" : memref<3xi8, #s>
  %r = tile.alloc "r" : memref<i8, #l>
  tile.copy %A[%c0] to %t : !g1i8 to memref<3xi8, #s>
  tile.reduce sum %t along 0 into %r : memref<3xi8, #s>, memref<i8, #l>
  tile.copy %r to %C[%c0] : memref<i8, #l> to !g1i8
  return
})";
  Tensor<i8> A({3}, 100), C({1});
  runClean(text, {A, C});
  EXPECT_EQ(C(0), static_cast<i8>(300));
}

} // namespace
