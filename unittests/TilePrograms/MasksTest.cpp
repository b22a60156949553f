//===- MasksTest.cpp - Elements beyond the end of a row -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads compare the first of several neighbors with the end of a row, where rows
// are whole vectors. Random pieces of rows, ends, comparisons and sizes; rows may end
// inside of a vector.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

#include <random>

using namespace penstock;
using namespace programs;

namespace {

template <class T> struct MaskedRows {
  int rows = 16, columns = 128;
  int step = 128;     ///< from piece to piece
  int shift = 0;      ///< of the first piece
  int addend = 0;     ///< to the end of a row
  int comparison = 0; ///< <, >=, <= or >
  static constexpr auto signature = "X[M,N] -> Y[M]";
  void operator()(Block &b, In<T, 2> X, Out<f32, 1> Y) const {
    auto [M, N] = X.sizes();
    Index m0 = b.grid(ceil_div(M, rows)) * rows;
    auto x = b.local<f32>(rows, columns);
    auto sum = b.local<f32>(rows);
    b.fill(sum, 0);
    for (Index n : b.range(ceil_div(N, step))) {
      Index n0 = n * step + shift;
      b.copy(X.at(m0, n0), x);
      Index end = N + addend;
      auto at = col(x) + n0;
      if (comparison == 0)
        b.set(x, where(at < end, x + 1, 7));
      else if (comparison == 1)
        b.set(x, where(at >= end, x + 1, 7));
      else if (comparison == 2)
        b.set(x, where(at <= end, x + 1, 7));
      else
        b.set(x, where(end > at, x + 1, 7));
      b.reduce(Sum, x, 1, sum, {.accumulate = true});
    }
    b.copy(sum, Y.at(m0));
  }
};

using MaskedHalves = MaskedRows<f16>;
using MaskedFloats = MaskedRows<f32>;
using MaskedBytes = MaskedRows<f8e4m3>;
PENSTOCK_KERNEL(MaskedHalves, rows, columns, step, shift, addend, comparison);
PENSTOCK_KERNEL(MaskedFloats, rows, columns, step, shift, addend, comparison);
PENSTOCK_KERNEL(MaskedBytes, rows, columns, step, shift, addend, comparison);

template <class T> void expectSameForRandomMasks(unsigned seed) {
  std::mt19937 random(seed);
  auto oneOf = [&](std::initializer_list<int> choices) {
    return choices.begin()[random() % choices.size()];
  };
  for (int round = 0; round < 12; ++round) {
    MaskedRows<T> program;
    program.rows = oneOf({8, 16, 32});
    program.columns = oneOf({32, 64, 128});
    program.step = oneOf({program.columns, program.columns, 24, 17});
    program.shift = oneOf({0, 0, 0, 8, 16, 3});
    program.addend = oneOf({0, 0, 0, 1, -1, 8, -16});
    program.comparison = int(random() % 4);
    auto reference = compile(program, Target::interpreter());
    for (const Target &target : gpus) {
      auto kernel = compile(program, target);
      for (int64_t n : {int64_t(oneOf({16, 64, 128, 144, 400})), int64_t(1 + random() % 300)}) {
        int64_t m = 1 + int64_t(random() % 40);
        std::vector<T> x(size_t(m * n));
        for (T &element : x)
          element = T(float(int(random() % 9) - 4));
        std::vector<f32> expected(size_t(m), -1), found(size_t(m), -2);
        reference(view(x, {m, n}), view(expected, {m}));
        kernel(view(x, {m, n}), view(found, {m}));
        ASSERT_EQ(found, expected)
            << "M " << m << " N " << n << " rows " << program.rows << " columns " << program.columns
            << " step " << program.step << " shift " << program.shift << " addend "
            << program.addend << " comparison " << program.comparison;
      }
    }
  }
}

} // namespace

TEST(Masks, EndsOfRowsOfHalves) { expectSameForRandomMasks<f16>(1); }
TEST(Masks, EndsOfRowsOfFloats) { expectSameForRandomMasks<f32>(2); }
TEST(Masks, EndsOfRowsOfBytes) { expectSameForRandomMasks<f8e4m3>(3); }

/// One comparison for the neighbors of a vector: a thread of these holds 8 in a row.
TEST(Masks, OneComparisonForEachVector) {
  InspectOptions options;
  options.target = Target::sm_90a();
  std::vector<Diagnostic> diagnostics;
  AnyKernel kernel = compile_registered("MaskedHalves", options, diagnostics);
  ASSERT_TRUE(bool(kernel)) << to_text(diagnostics);
  std::string ptx = kernel.ptx();
  size_t comparisons = 0;
  for (size_t at = ptx.find("setp.lt.s32"); at != std::string::npos;
       at = ptx.find("setp.lt.s32", at + 1))
    ++comparisons;
  // 2048 elements of 128 threads are two vectors for each, in the same columns.
  EXPECT_LE(comparisons, 2u) << ptx;
}
