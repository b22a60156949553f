//===- RequireTest.cpp - What kernels for GPUs ask of their arguments -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conditions of `require` are checked by the launch, and what they exclude is no
// bug of the barriers.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

/// Copies A to C through one tile, of which the first is loaded whether there is one
/// or not.
template <class Requirements> struct Through {
  Requirements requirements;
  static constexpr auto signature = "A[M,K] -> C[M,K]";

  void operator()(Block &b, In<f16, 2> A, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto m0 = b.grid(ceil_div(M, 32)) * 32;
    auto tiles = ceil_div(K, 32);
    b.threads(128);
    requirements(b, M, K);
    auto tile = b.shared<f16>(32, 32);
    auto held = b.local<f16>(32, 32);
    auto [full] = b.mbarrier.alloc<1>({1});
    auto load = [&](const Index &k) {
      b.warp(0, [&] {
        b.elect_one([&] { b.mbarrier.arrive_expect(full, tile.bytes()); });
        b.tma.load(A.at(m0, k * 32), tile, full); // [load]
      });
    };
    load(Index(0));
    Var<unsigned> phase(b, 0);
    for (Index k : b.range(tiles)) {
      b.mbarrier.wait(full, phase);
      b.copy(tile, held);
      b.copy(held, C.at(m0, k * 32));
      b.sync();
      b.when(k + 1 < tiles, [&] { load(k + 1); });
      phase ^= 1u;
    }
  }
};
template <class Requirements> Through(Requirements) -> Through<Requirements>;

struct Tensors {
  int64_t rows, columns;
  std::vector<f16> from, to;
  Tensors(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), from(size_t(rows * columns)), to(from.size(), f16(-77)) {
    for (size_t i = 0; i < from.size(); ++i)
      from[i] = f16(float(i % 1000));
  }
  template <class Kernel> std::vector<Diagnostic> launch(const Kernel &kernel) {
    return kernel.try_launch({}, view(from, {rows, columns}), view(to, {rows, columns}));
  }
  bool copied() const {
    return std::ranges::equal(
        from, to, {}, [](f16 x) { return float(x); }, [](f16 x) { return float(x); });
  }
  bool untouched() const {
    return std::ranges::all_of(to, [](f16 x) { return float(x) == -77; });
  }
};

using Size = const Index &;

TEST(Require, NothingIsRequired) {
  expectRefused(Through{[](Block &, Size, Size) {}}, Target::sm_90a().emulated(), {1615, "load"},
                __FILE__);
  // Of another size it excuses nothing.
  expectRefused(Through{[](Block &b, Size M, Size) { b.require(M > 0, "rows"); }},
                Target::sm_90a().emulated(), {1615, "load"}, __FILE__);
}

TEST(Require, ExcludesSizes) {
  Through kernel{[](Block &b, Size, Size K) {
    b.require(K > 32, "more than one tile"); // [more than a tile]
  }};
  auto compiled = try_compile(kernel, Target::sm_90a().emulated());
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  for (int64_t columns : {0, 8, 32}) {
    Tensors tensors(40, columns);
    auto found = tensors.launch(compiled.kernel);
    ASSERT_EQ(found.size(), 1u) << to_text(found);
    expectFinding(found, {1401, "more than a tile"}, __FILE__);
    EXPECT_EQ(found[0].message, "assertion failed: more than one tile");
    EXPECT_TRUE(tensors.untouched());
  }
  for (int64_t columns : {40, 64, 104}) {
    Tensors tensors(40, columns);
    auto found = tensors.launch(compiled.kernel);
    EXPECT_TRUE(found.empty()) << to_text(found);
    EXPECT_TRUE(tensors.copied());
  }
}

TEST(Require, TellsAllThatIsBroken) {
  Through kernel{[](Block &b, Size M, Size K) {
    b.require(K % 32 == 0, "whole tiles");
    b.require(K > 0 && M <= 64, "not too much");
  }};
  auto compiled = try_compile(kernel, Target::sm_90a().emulated());
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  Tensors both(72, 40), one(72, 64), none(64, 64);
  EXPECT_EQ(both.launch(compiled.kernel).size(), 2u);
  EXPECT_EQ(one.launch(compiled.kernel).size(), 1u);
  EXPECT_EQ(none.launch(compiled.kernel).size(), 0u);
  EXPECT_TRUE(none.copied());
}

TEST(Require, ComesBeforeDivisions) {
  auto kernel = [](Block &b, In<f16, 2> A, Scalar<int> parts, Out<f16, 2> C) {
    b.require(parts > 0, "there are parts"); // [parts]
    auto m0 = b.grid(A.size(0) / Index(parts));
    b.threads(32);
    b.elect_one([&] { b.store(C.at(m0, 0), A.load(m0, 0)); });
  };
  auto compiled = try_compile(kernel, Target::sm_90a().emulated());
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  std::vector<f16> a(8, f16(3)), c(8);
  auto launch = [&](int parts) {
    return compiled.kernel.try_launch({}, view(a, {8, 1}), parts, view(c, {8, 1}));
  };
  auto found = launch(0);
  ASSERT_EQ(found.size(), 1u) << to_text(found);
  expectFinding(found, {1401, "parts"}, __FILE__);
  found = launch(1);
  EXPECT_TRUE(found.empty()) << to_text(found);
  EXPECT_EQ(float(c[7]), 3);
}

/// The launch computes with numbers of 64 bits: those of 32 have no more digits than that.
TEST(Require, DividesUnsigned) {
  auto kernel = [](Block &b, Scalar<unsigned> mask, Out<i32, 1> C) {
    b.require(mask / 16u == 0x0fffffffu, "quotient");
    b.require(mask % 16u == 1u, "remainder");
    b.require((mask >> 28u) == 15u, "digits");
    b.threads(32);
    auto at = b.grid(C.size(0));
    b.elect_one([&] { b.store(C.at(at), cast<i32>(mask)); });
  };
  auto compiled = try_compile(kernel, Target::sm_90a().emulated());
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  std::vector<i32> c(1);
  auto launch = [&](unsigned mask) {
    return compiled.kernel.try_launch({}, mask, view(c, {1})).size();
  };
  EXPECT_EQ(launch(0xfffffff1u), 0u);
  EXPECT_EQ(launch(0xfffffff2u), 1u);
  EXPECT_EQ(launch(0x7ffffff1u), 2u);
}

/// Conditions that the arguments do not decide are checked by the blocks that reach them.
TEST(Require, IsCheckedByBlocks) {
  Through kernel{[](Block &b, Size, Size K) {
    b.require(K > 0, "there are columns");
    b.warp(0, [&] { b.require(K < 64, "in a role"); }); // [in a role]
  }};
  auto compiled = try_compile(kernel, Target::sm_90a().emulated());
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  Tensors narrow(40, 32), wide(40, 64);
  EXPECT_TRUE(narrow.launch(compiled.kernel).empty());
  auto found = wide.launch(compiled.kernel);
  ASSERT_EQ(found.size(), 1u) << to_text(found);
  expectFinding(found, {1401, "in a role"}, __FILE__);
  EXPECT_TRUE(wide.copied());
}

} // namespace
