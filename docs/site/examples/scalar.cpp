//===- scalar.cpp - Examples of the C++ reference -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>
using namespace penstock;

// example: Scalar::Scalar, ceil_div, fast_divmod, select
auto indices = [](Block &b, In<f32, 2> X, Scalar<f32> factor) {
  Index block = b.grid(ceil_div(X.size(0), 64) * ceil_div(X.size(1), 64));
  auto [row, column] = fast_divmod(block, ceil_div(X.size(1), 64));
  Scalar<f32> limit = select(factor > 0, factor, 1.0f);
  Bool first = row == 0 && column == 0;
  b.when(first, [&] { b.print("limit {}", {limit}); });
};

// example: Var::Var, Var::operator=, Var::operator Scalar< T >, Var::operator+=, Var::operator-=,
// Var::operator*=
auto counter = [](Block &b, Out<f32, 1> y) {
  b.grid(1);
  Var<f32> sum(b, 0);
  for (Index i : b.range(10)) {
    sum += 2.0f;
    sum *= 0.5f;
    sum -= 1.0f;
  }
  Scalar<f32> last = sum;
  sum = last * last;
  b.store(y.at(0), sum);
};

// example: Var::operator^=, Var::operator|=, Var::operator&=
auto flags = [](Block &b, Out<i32, 1> y) {
  b.grid(1);
  Var<i32> bits(b, 1);
  bits ^= 3;
  bits |= 4;
  bits &= 6;
  b.store(y.at(0), bits);
};
