//===- ContractionTest.cpp - Products fused with sums, where allowed ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

#include <gtest/gtest.h>

using namespace penstock;

namespace {

/// x * x - (1 + 2^-11), and (x + 10^8) - 10^8.
std::pair<f32, f32> compute(Target target, bool contract) {
  auto kernel = compile(
      [](Block &b, In<f32, 1> X, Out<f32, 1> Y, Out<f32, 1> Z) {
        auto x = b.local<f32>(64), y = b.local<f32>(64);
        b.copy(X.at(0), x);
        b.set(y, x * x - (1 + 0x1p-11f));
        b.copy(y, Y.at(0));
        b.set(y, (x + 1e8f) - 1e8f);
        b.copy(y, Z.at(0));
      },
      target, {.name = "fused", .contract = contract});
  // The square is 1 + 2^-11 + 2^-24: a rounding of its own loses the last term.
  std::vector<f32> x(64, 1 + 0x1p-12f), y(64), z(64);
  kernel(view(x, {64}), view(y, {64}), view(z, {64}));
  return {y[7], z[7]};
}

const Target compiled[] = {Target::native(), Target::sm_80().emulated(),
                           Target::sm_90a().emulated(), Target::sm_100a().emulated()};

TEST(Contraction, OneRoundingWhereItIsAllowed) {
  for (Target target : compiled) {
    EXPECT_EQ(compute(target, true).first, 0x1p-24f) << int(target.kind);
    EXPECT_EQ(compute(target, false).first, 0.0f) << int(target.kind);
  }
}

TEST(Contraction, SumsAreNotReordered) {
  for (Target target : compiled)
    EXPECT_EQ(compute(target, true).second, 0.0f) << int(target.kind);
}

TEST(Contraction, TheInterpreterNeverFuses) {
  EXPECT_EQ(compute(Target::interpreter(), true).first, 0.0f);
}

} // namespace
