//===- ExpressionsTest.cpp - Expressions by the threads of a GPU ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

/// The elements of s and of A that indices of the launch name, for every element of
/// a tile in registers or in shared memory.
struct Gather {
  bool inShared = false;
  void operator()(Block &b, In<f32, 1> s, In<f32, 2> A, In<i64, 2> at, Out<f32, 2> C) const {
    b.threads(128);
    auto t = b.local<f32>(32, 32);
    auto u = b.shared<f32>(32, 32);
    auto i = b.shared<i64>(32, 32);
    b.copy(at.at(0, 0), i);
    b.sync();
    auto value = s.gather(cast<index_t>(i)) + A.gather(row(t), cast<index_t>(i));
    if (inShared) {
      b.set(u, value);
      b.sync();
      b.set(t, u + 0.0f);
    } else {
      b.set(t, value);
    }
    b.copy(t, C.at(0, 0));
  }
};

TEST(Expressions, GatherReadsZeroOutside) {
  for (bool inShared : {false, true})
    for (Target target : {Target::sm_90a().emulated(), Target::sm_100a().emulated()}) {
      auto compiled = try_compile(Gather{inShared}, target);
      ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
      std::vector<float> s(40), a(32 * 50), c(32 * 32);
      for (size_t i = 0; i < s.size(); ++i)
        s[i] = 1000 + float(i);
      for (size_t i = 0; i < a.size(); ++i)
        a[i] = float(i);
      // Inside of both, of A alone, of neither; some that 32 bits would bring back inside.
      std::vector<int64_t> at(32 * 32);
      for (size_t i = 0; i < at.size(); ++i)
        at[i] = i % 7 == 6   ? (int64_t(1) << 32) + 3
                : i % 7 == 5 ? -(int64_t(1) << 40) + 3
                             : int64_t(i % 60) - 4;
      auto found = compiled.kernel.try_launch({}, view(s, {40}), view(a, {32, 50}),
                                              view(at, {32, 32}), view(c, {32, 32}));
      EXPECT_TRUE(found.empty()) << to_text(found);
      for (size_t i = 0; i < at.size(); ++i) {
        float fromVector = at[i] >= 0 && at[i] < 40 ? s[size_t(at[i])] : 0;
        float fromMatrix = at[i] >= 0 && at[i] < 50 ? a[i / 32 * 50 + size_t(at[i])] : 0;
        ASSERT_EQ(c[i], fromVector + fromMatrix) << i << " at " << at[i];
      }
    }
}

/// Tiles of wide and of narrow elements: register by register, threads hold the same
/// elements of both.
struct Widths {
  void operator()(Block &b, In<f32, 2> A, Out<f32, 2> C) const {
    b.threads(128);
    auto x = b.local<f32>(16, 64);
    auto h = b.local<f16>(16, 64);
    auto y = b.local<f32>(16, 64);
    b.copy(A.at(0, 0), x);
    b.set(h, cast<f16>(x));
    b.set(y, cast<f32>(h) + x);
    b.copy(y, C.at(0, 0));
  }
};

TEST(Expressions, TilesOfDifferentElementsMeet) {
  auto compiled = try_compile(Widths{}, Target::sm_90a().emulated());
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  std::vector<float> a(16 * 64), c(a.size());
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(i);
  auto found = compiled.kernel.try_launch({}, view(a, {16, 64}), view(c, {16, 64}));
  EXPECT_TRUE(found.empty()) << to_text(found);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(c[i], 2 * float(i)) << i; // exact in f16
}

} // namespace
