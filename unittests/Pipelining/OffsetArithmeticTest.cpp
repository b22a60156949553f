//===- OffsetArithmeticTest.cpp - Offsets that wrap around ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AgainstInterpreter.h"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr int width = 4;

/// Reads at `at(k)` and writes 16 elements further on. What wraps around comes back to
/// what an earlier iteration wrote.
template <typename At> auto updateAt(At at, int stages) {
  return [=](Block &b, In<f32, 1>, Index n, InOut<f32, 1> A) {
    auto s = b.shared<f32>(width);
    for (Index k : b.pipelined(n, {.num_stages = stages})) {
      Index offset = at(k);
      b.copy(A.at(offset), s);
      b.set(s, s * 2 + 1);
      b.copy(s, A.at(offset + 16));
    }
  };
}

template <typename At> void expectUpdates(At at) {
  for (int stages : {1, 2, 3, 4})
    expectSourceOrder(updateAt(at, stages), 6);
}

TEST(OffsetArithmetic, SumsOfI32Wrap) {
  expectUpdates([](Index k) {
    auto narrow = cast<i32>(k);
    return Index(narrow * (1 << 30) + narrow * (1 << 30) + narrow * 8 + 8);
  });
}

TEST(OffsetArithmetic, ProductsOfI16Wrap) {
  expectUpdates([](Index k) {
    auto narrow = cast<i16>(k);
    return Index(narrow * cast<i16>(Index(16384)) + narrow * cast<i16>(Index(8))) % 128 + 128;
  });
}

TEST(OffsetArithmetic, CastsToI8Wrap) {
  expectUpdates([](Index k) { return Index(cast<i8>(k * 136)) % 64 + 64; });
}

/// Where nothing can wrap, narrow integers are followed: the copies of a loop over
/// disjoint parts run ahead.
TEST(OffsetArithmetic, NarrowIntegersThatCannotWrapAreAffine) {
  auto kernel = [](Block &b, In<f32, 1>, Index, InOut<f32, 1> A) {
    auto s = b.shared<f32>(width);
    for (Index k : b.pipelined(8, {.num_stages = 2})) {
      Index offset = Index(cast<i32>(k) * width);
      b.copy(A.at(offset), s);
      b.set(s, s * 2 + 1);
      b.copy(s, A.at(offset));
    }
  };
  auto compiled = try_compile(kernel, Target::native(), {.late_completion = true});
  ASSERT_TRUE(compiled);
  EXPECT_TRUE(compiled.diagnostics.empty()) << to_text(compiled.diagnostics);
  expectSourceOrder(kernel, 1);
}

/// A load from a place that memory decides may read what lies far away. Only the
/// verdict is looked at: tensors of that size are not made here.
TEST(OffsetArithmetic, PlacesThatAreNotKnownReachBeyondTwoToTheThirty) {
  auto kernel = [](int64_t base) {
    return [=](Block &b, In<i64, 1> J, Index n, InOut<i8, 2> A) {
      auto s = b.shared<i8>(1, width), t = b.shared<i8>(1, width);
      for (Index k : b.pipelined(n, {.num_stages = 2})) {
        b.copy(A.at(0, Index(J.load(k))), s);
        b.set(t, s + s);
        b.copy(t, A.at(0, k * width + (base + width)));
      }
    };
  };
  for (int shift : {0, 20, 30}) {
    auto compiled = try_compile(kernel(int64_t(1) << shift), Target::native());
    ASSERT_EQ(compiled.diagnostics.size(), 1u) << "2^" << shift;
    EXPECT_EQ(codeName(compiled.diagnostics[0].code), "PS1220") << to_text(compiled.diagnostics);
  }
}

} // namespace
