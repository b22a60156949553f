//===- FaultsTest.cpp - Faults of blocks on GPUs --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

using namespace penstock;
using namespace programs;

namespace {

struct GatherRows {
  void operator()(Block &b, In<i32, 1> ids, In<f32, 2> A, Out<f32, 2> B) const {
    auto t = b.local<f32>(8, 32);
    auto id = b.local<i32>(8);
    b.copy(ids.at(0), id);
    b.set(t, A.gather(cast<index_t>(rows(id)), col(t)));
    b.copy(t, B.at(0, 0));
  }
};

TEST(Faults, AnElementOutsideIsReportedAndReadsAsZero) {
  for (const Target &target : gpus) {
    auto compiled = try_compile(GatherRows{}, target);
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    std::vector<int32_t> ids = {0, 1, 2, 3, 3, 2, 1, 0};
    std::vector<float> a(4 * 32), b(8 * 32, -1);
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = float(i);
    auto launch = [&] {
      return compiled.kernel.try_launch({}, view(ids, {8}), view(a, {4, 32}), view(b, {8, 32}));
    };
    EXPECT_TRUE(launch().empty());
    EXPECT_EQ(b[4 * 32 + 5], 3 * 32 + 5);
    ids[4] = 4;
    auto found = launch();
    ASSERT_EQ(found.size(), 1u) << to_text(found);
    EXPECT_EQ(found[0].code, 1402u);
    EXPECT_EQ(b[4 * 32 + 5], 0);
    EXPECT_EQ(b[5 * 32 + 5], 2 * 32 + 5);
  }
}

struct Divides {
  void operator()(Block &b, In<i32, 1> x, In<i32, 1> y, Out<i32, 1> z) const {
    auto s = b.local<i32>(64), t = b.local<i32>(64);
    b.copy(x.at(0), s);
    b.copy(y.at(0), t);
    b.set(s, s / t);
    b.copy(s, z.at(0));
  }
};

TEST(Faults, ADivisionByZeroIsReported) {
  for (const Target &target : gpus) {
    auto compiled = try_compile(Divides{}, target);
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    std::vector<int32_t> x(64, 12), y(64, 5), z(64, -1);
    auto launch = [&] {
      return compiled.kernel.try_launch({}, view(x, {64}), view(y, {64}), view(z, {64}));
    };
    EXPECT_TRUE(launch().empty());
    EXPECT_EQ(z[63], 2);
    y[17] = 0;
    auto found = launch();
    ASSERT_EQ(found.size(), 1u) << to_text(found);
    EXPECT_EQ(found[0].code, 1403u);
    EXPECT_EQ(z[17], 0);
    EXPECT_EQ(z[18], 2);
  }
}

/// What the arguments alone do not decide is checked by the blocks.
struct Requires {
  void operator()(Block &b, In<i32, 1> x, Out<i32, 1> z) const {
    for (Index i : b.range(x.size(0))) {
      auto value = b.bind("value", x.load(i));
      b.require(value >= 0, "numbers are not negative");
      b.store(z.at(i), value);
    }
  }
};

TEST(Faults, RequirementsInsideOfLoops) {
  for (const Target &target : gpus) {
    auto compiled = try_compile(Requires{}, target);
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    std::vector<int32_t> x = {1, 2, 3}, z(3, -1);
    auto launch = [&] { return compiled.kernel.try_launch({}, view(x, {3}), view(z, {3})); };
    EXPECT_TRUE(launch().empty());
    x[1] = -5;
    auto found = launch();
    ASSERT_EQ(found.size(), 1u) << to_text(found);
    EXPECT_EQ(found[0].code, 1401u);
    EXPECT_EQ(found[0].message, "assertion failed: numbers are not negative");
    EXPECT_EQ(z[2], 3);
  }
}

} // namespace
