//===- AccessWidthTest.cpp - 16 bytes at a time, where rows allow it ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

#include <algorithm>
#include <cstring>

using namespace penstock;
using namespace programs;

namespace {

struct WideSum {
  static constexpr auto signature = "x[N], y[N] -> z[N]";
  void operator()(Block &b, In<f32, 1> x, In<f32, 1> y, Out<f32, 1> z) const {
    auto i = b.grid(ceil_div(x.size(0), 1024)) * 1024;
    auto s = b.local<f32>(1024), t = b.local<f32>(1024);
    b.copy(x.at(i), s);
    b.copy(y.at(i), t, {.fill = 1});
    b.set(s, s + t);
    b.copy(s, z.at(i));
  }
};

struct WideSoftmax {
  static constexpr auto signature = "x[R,C] -> y[R,C]";
  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto first = b.grid(ceil_div(x.size(0), 4)) * 4;
    auto t = b.local<f32>(4, 256);
    auto top = b.local<f32>(4), sum = b.local<f32>(4);
    b.copy(x.at(first, 0), t, {.fill = -infinity});
    b.reduce(Max, t, 1, top);
    b.set(t, exp(t - rows(top)));
    b.reduce(Sum, t, 1, sum);
    b.set(t, t / rows(sum));
    b.copy(t, y.at(first, 0));
  }
};

/// Rows of f16, computed in f32.
struct WideLayerNorm {
  static constexpr auto signature = "x[R,C], w[C] -> y[R,C]";
  void operator()(Block &b, In<f16, 2> x, In<f16, 1> w, Out<f16, 2> y) const {
    auto first = b.grid(ceil_div(x.size(0), 4)) * 4;
    auto C = x.size(1);
    auto in = b.local<f16>(4, 512);
    auto weight = b.local<f16>(512);
    auto t = b.local<f32>(4, 512);
    auto sum = b.local<f32>(4);
    b.copy(x.at(first, 0), in);
    b.copy(w.at(0), weight);
    b.set(t, cast<f32>(in));
    b.reduce(Sum, t, 1, sum);
    b.set(t, t - rows(sum) / cast<f32>(cast<i32>(C)));
    b.set(in, cast<f16>(t * cast<f32>(cols(weight))));
    b.copy(in, y.at(first, 0));
  }
};

struct WideTranspose {
  static constexpr auto signature = "x[M,N] -> y[N,M]";
  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto [bm, bn] = b.grid(ceil_div(x.size(0), 32), ceil_div(x.size(1), 64));
    auto t = b.shared<f32>(32, 64);
    b.copy(x.at(bm * 32, bn * 64), t);
    b.copy(transposed(t), y.at(bn * 64, bm * 32));
  }
};

/// Every element type, from a column that may be odd, in front of the first one, or
/// beyond the last.
template <class T> struct Moved {
  static constexpr auto signature = "x[M,N], from -> y[M,N]";
  void operator()(Block &b, In<T, 2> x, Scalar<i32> from, Out<T, 2> y) const {
    auto t = b.local<T>(8, 64);
    auto s = b.shared<T>(8, 64);
    b.copy(x.at(0, cast<index_t>(from)), t);
    b.copy(t, s);
    b.copy(s, y.at(0, cast<index_t>(from)));
  }
};

TEST(AccessWidth, AlignedRowsAreAccessedBy16Bytes) {
  for (const Target &target : gpus)
    for (const std::string &ptx :
         {compile(WideSum{}, target).ptx(), compile(WideSoftmax{}, target).ptx(),
          compile(WideLayerNorm{}, target).ptx(), compile(WideTranspose{}, target).ptx()}) {
      EXPECT_NE(ptx.find("ld.global.v4.b32"), std::string::npos) << ptx;
      EXPECT_NE(ptx.find("st.global.v4.b32"), std::string::npos) << ptx;
    }
}

TEST(AccessWidth, ResultsDoNotDependOnTheSizes) {
  expectSameEverywhere("WideSum", {{{"N", 1024}}, {{"N", 2052}}, {{"N", 1001}}, {{"N", 2050}}});
  // exp is an instruction of two ULP on GPUs.
  expectSameEverywhere("WideSoftmax",
                       {{{"R", 4}, {"C", 256}},
                        {{"R", 5}, {"C", 200}},
                        {{"R", 3}, {"C", 255}},
                        {{"R", 6}, {"C", 198}}},
                       1e-5);
  expectSameEverywhere("WideLayerNorm",
                       {{{"R", 4}, {"C", 512}}, {{"R", 3}, {"C", 504}}, {{"R", 2}, {"C", 501}}},
                       2e-3);
  expectSameEverywhere("WideTranspose", {{{"M", 32}, {"N", 64}},
                                         {{"M", 36}, {"N", 68}},
                                         {{"M", 35}, {"N", 64}},
                                         {{"M", 64}, {"N", 67}}});
}

/// Against plain C++: columns that exist are copied, and nothing else is written.
template <class T> void expectMoved() {
  for (const Target &target : gpus) {
    auto kernel = compile(Moved<T>{}, target);
    for (int64_t columns : {64, 63, 80})
      for (int64_t padding : {0, 1, 16})
        for (i32 from : {0, 1, 8, 16, -16, -3, 63, 2000}) {
          int64_t stride = columns + padding;
          std::vector<T> x(size_t(8 * stride)), y(x.size(), T(3)), expected = y;
          for (size_t i = 0; i < x.size(); ++i)
            x[i] = T(float(i % 13));
          for (int64_t row = 0; row < 8; ++row)
            for (int64_t col = std::max<i32>(0, from); col < std::min<int64_t>(columns, from + 64);
                 ++col)
              expected[size_t(row * stride + col)] = x[size_t(row * stride + col)];
          kernel(view(x.data(), {8, columns}, {stride, 1}), from,
                 view(y.data(), {8, columns}, {stride, 1}));
          ASSERT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(T)), 0)
              << columns << " columns, " << padding << " more in memory, from " << from;
        }
  }
}

TEST(AccessWidth, RowsOfAnyAlignment) {
  expectMoved<f64>();
  expectMoved<f32>();
  expectMoved<f16>();
  expectMoved<i8>();
}

} // namespace

PENSTOCK_KERNEL(WideSum);
PENSTOCK_KERNEL(WideSoftmax);
PENSTOCK_KERNEL(WideLayerNorm);
PENSTOCK_KERNEL(WideTranspose);
