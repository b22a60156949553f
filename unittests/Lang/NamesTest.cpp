//===- NamesTest.cpp - Names that kernels share with others ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels and fields with names that the library or the system uses as well. It
// is a test that they compile.
//
//===----------------------------------------------------------------------===//
#include "penstock/penstock.h"
#include "penstock/registry.h"
#include "penstock/tune.h"
#include "gtest/gtest.h"

#include <sys/select.h>

using namespace penstock;

/// A kernel whose name was a template of tune.h, with fields that hide rows(v) and cols(v).
struct Tuned {
  int rows = 4, cols = 8;
  static constexpr auto signature = "x[R,C] -> y[R,C]";
  static auto space() { return Space<Tuned>().over(&Tuned::rows, {2, 4}); }

  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto first = b.grid(ceil_div(x.size(0), rows)) * rows;
    auto t = b.local<f32>(rows, cols);
    auto top = b.local<f32>(rows), left = b.local<f32>(cols);
    b.copy(x.at(first, 0), t);
    b.reduce(Max, t, 1, top);
    b.reduce(Min, t, 0, left);
    b.set(t, t - broadcast_rows(top) + broadcast_cols(left));
    b.copy(t, y.at(first, 0));
  }
};
PENSTOCK_KERNEL(Tuned, rows, cols);

/// select with numbers of C++, where POSIX declares a function of this name, and conversions of
/// variables.
struct Chosen {
  void operator()(Block &b, Index n, Out<i64, 1> y) const {
    b.grid(1);
    Var<int> count(b, 3);
    Var<int64_t> wide(b, 5);
    Var<float> real(b, 2.5f);
    int at = 0;
    auto store = [&](Index value) { b.store(y.at(at++), cast<i64>(value)); };
    store(select(n > 4, 0, n));
    store(select(n > 4, n, 0));
    store(cast<index_t>(select(n > 4, count, 7)));
    store(cast<index_t>(select(n > 4, 7, count)));
    store(cast<index_t>(select(n > 4, count, count)));
    store(Index(count) + Index(wide));
    store(cast<index_t>(count) + cast<index_t>(wide));
    store(cast<index_t>(cast<int>(real)));
  }
};

namespace {

TEST(Names, FieldsAndKernelsMayShareThem) {
  std::vector<float> x(32), y(32);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i);
  compile(Tuned{}, Target::interpreter())(view(x, {4, 8}), view(y, {4, 8}));
  // x[r][c] - max of the row + min of the column, of numbers that count on.
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 8; ++c)
      EXPECT_EQ(y[size_t(8 * r + c)], float(8 * r + c) - float(8 * r + 7) + float(c));
}

TEST(Names, SelectAndConversionsTakeNumbersAndVariables) {
  auto chosen = compile(Chosen{}, Target::interpreter());
  for (int64_t n : {int64_t(3), int64_t(9)}) {
    std::vector<int64_t> y(8);
    chosen(n, view(y, {8}));
    EXPECT_EQ(y, (n > 4 ? std::vector<int64_t>{0, 9, 3, 7, 3, 8, 8, 2}
                        : std::vector<int64_t>{3, 0, 7, 3, 3, 8, 8, 2}));
  }
}

} // namespace
