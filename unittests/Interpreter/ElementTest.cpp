//===- ElementTest.cpp - Single elements and atomics ----------------------===//
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

template <class T> void testLoadStore() {
  constexpr Element element = detail::ElementOf<T>::value;
  const char *text = R"(
func.func @reverse(%A: !g2T, %C: !g2T) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %A, %c0 : !g2T
  %n = memref.dim %A, %c1 : !g2T
  %t = tile.alloc : memref<T, #l>
  scf.for %i = %c0 to %m step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %x = tile.load %A[%i, %j] : !g2T -> ELEMENT
      tile.store %x, %t[] : ELEMENT, memref<ELEMENT, #l>
      %y = tile.load %t[] : memref<ELEMENT, #l> -> ELEMENT
      %p = arith.subi %m, %i : index
      %q = arith.subi %p, %c1 : index
      tile.store %y, %C[%q, %j] : ELEMENT, !g2T
    }
  }
  return
})";
  std::string body = replaceAll(text, "memref<T,", "memref<ELEMENT,");
  body = replaceAll(withElement(body, element), "ELEMENT", mlirName(element));
  Tensor<T> A({3, 4}, T(), 6), C({3, 4});
  A.randomize(8);
  runClean(body, {A, C});
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j)
      EXPECT_EQ(double(C(2 - i, j)), double(A(i, j))) << mlirName(element);
}

TEST(Elements, LoadAndStoreAllTypes) {
  testLoadStore<f16>();
  testLoadStore<bf16>();
  testLoadStore<f32>();
  testLoadStore<f64>();
  testLoadStore<f8e4m3>();
  testLoadStore<f8e5m2>();
  testLoadStore<bool>();
  testLoadStore<i8>();
  testLoadStore<i16>();
  testLoadStore<i32>();
  testLoadStore<i64>();
}

template <class T> void testAtomic(const char *kind, T (*combine)(T, T)) {
  constexpr Element element = detail::ElementOf<T>::value;
  SCOPED_TRACE(kind);
  std::string text = replaceAll(R"(
func.func @atomic(%A: !g1T, %H: !g1T, %Old: !g1T) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %n = memref.dim %A, %c0 : !g1T
  scf.for %i = %c0 to %n step %c1 {
    %x = tile.load %A[%i] : !g1T -> ELEMENT
    %bin = arith.remui %i, %c3 : index
    %old = tile.atomic KIND %x, %H[%bin] : ELEMENT, !g1T -> ELEMENT
    tile.store %old, %Old[%i] : ELEMENT, !g1T
  }
  return
})",
                                "KIND", kind);
  text = replaceAll(withElement(text, element), "ELEMENT", mlirName(element));
  Tensor<T> A({20}), H({3}, T(2)), Old({20});
  A.randomize(12, -9, 9);
  runClean(text, {A, H, Old});
  T bins[3] = {T(2), T(2), T(2)};
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Old(i), bins[i % 3]) << i;
    bins[i % 3] = combine(bins[i % 3], A(i));
  }
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(H(i), bins[i]);
}

template <class T> void testAtomics() {
  testAtomic<T>("add", [](T a, T b) { return T(a + b); });
  testAtomic<T>("max", [](T a, T b) { return a > b ? a : b; });
  testAtomic<T>("min", [](T a, T b) { return a < b ? a : b; });
  testAtomic<T>("exchange", [](T, T b) { return b; });
}

TEST(Elements, Atomics) {
  testAtomics<i32>();
  testAtomics<i64>();
  testAtomics<f32>();
  testAtomics<f64>();
}

TEST(Elements, AtomicsCountBlocks) {
  // The coordinates are not used; the grid still says how many blocks run.
  const char *text = R"(
func.func @count(%H: !g1i32, %n: index, %m: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %x, %y, %z = tile.grid %n, %m, %n : index, index, index
  %old = tile.atomic add %one, %H[%c0] : i32, !g1i32 -> i32
  return
})";
  Program program(text);
  for (int64_t n : {0, 1, 3})
    for (int64_t m : {0, 1, 4}) {
      Tensor<i32> H({1});
      program.runClean({H, index(n), index(m)});
      EXPECT_EQ(H(0), n * m * n);
    }
}

const char *parallel = R"(
func.func @parallel(%A: !g2i32, %Order: !g1i32, %Count: !g1i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i32
  tile.parallel [3, 4] {
  ^bb0(%i: index, %j: index):
    %k = arith.muli %i, %c4 : index
    %l = arith.addi %k, %j : index
    %v = arith.index_cast %l : index to i32
    %even = arith.andi %v, %one : i32
    %zero = arith.constant 0 : i32
    %c = arith.cmpi eq, %even, %zero : i32
    scf.if %c {
      tile.store %v, %A[%i, %j] : i32, !g2i32
    } else {
      %w = arith.subi %zero, %v : i32
      tile.store %w, %A[%i, %j] : i32, !g2i32
    }
    %at = tile.atomic add %one, %Count[%c0] : i32, !g1i32 -> i32
    %to = arith.index_cast %at : i32 to index
    tile.store %v, %Order[%to] : i32, !g1i32
  }
  return
})";

TEST(Elements, ParallelRunsEachElementOnce) {
  Program program(parallel);
  std::vector<std::vector<i32>> orders;
  for (uint64_t seed = 0; seed < 8; ++seed)
    for (Completion completion : {Completion::Eager, Completion::Random}) {
      Tensor<i32> A({3, 4}, -99), order({12}), count({1});
      program.runClean({A, order, count}, {.completion = completion, .seed = seed});
      EXPECT_EQ(count(0), 12);
      for (int i = 0; i < 12; ++i)
        EXPECT_EQ(A.data[i], i % 2 ? -i : i);
      std::vector<i32> sorted(order.data.get(), order.data.get() + 12);
      if (completion == Completion::Random)
        orders.push_back(sorted);
      else
        EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
      std::sort(sorted.begin(), sorted.end());
      for (int i = 0; i < 12; ++i)
        EXPECT_EQ(sorted[i], i);
    }
  std::sort(orders.begin(), orders.end());
  EXPECT_EQ(std::unique(orders.begin(), orders.end()), orders.end())
      << "each seed has an order of its own";
}

} // namespace
