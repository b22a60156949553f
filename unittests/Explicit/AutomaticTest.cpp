//===- AutomaticTest.cpp - Tile programs that the compiler divides --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which forms of a matmul become roles around a ring, and which are refused with the
// line that stands in the way. examples/device_kernels.cpp has the plain form, in many
// shapes.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

enum class Form {
  Plain,
  CopiesInAGroup,
  Requires,
  StoredBefore, ///< the first block's result begins before the tensor
  ProductBeforeCopy,
  Conditional,
  LoadedTwice,
  PartOfATile,
  ConditionBehind,
};

struct Divided {
  Form form;
  int stages = 3;
  int block_m = 128, block_n = 64, block_k = 32;
  bool is(Form one) const { return form == one; }

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n));
    auto As = b.shared<f16>(block_m, block_k), Bs = b.shared<f16>(block_n, block_k);
    auto acc = b.local<f32>(block_m, block_n);
    if (is(Form::Requires))
      b.require(K <= 64, "short sums"); // [short sums]
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(K, block_k), {.num_stages = stages})) {
      auto load = [&] {
        b.copy(A.at(bm * block_m, k * block_k), As); // [load A]
        b.copy(B.at(bn * block_n, k * block_k), Bs);
      };
      auto multiply = [&] { b.gemm(As, transposed(Bs), acc); }; // [multiply]
      if (is(Form::CopiesInAGroup)) {
        b.statement("load", load);
        multiply();
      } else if (is(Form::ProductBeforeCopy)) {
        b.copy(B.at(bn * block_n, k * block_k), Bs);
        multiply();
        b.copy(A.at(bm * block_m, k * block_k), As); // [load later]
      } else {
        load();
        if (is(Form::LoadedTwice))
          b.copy(A.at(bm * block_m, k * block_k + 1), As); // [load twice]
        if (is(Form::PartOfATile))
          b.gemm(As, transposed(slice(Bs, {0, 0}, {block_n, block_k})), acc); // [part]
        else if (is(Form::Conditional))
          b.when(k > 0, multiply);
        else
          multiply();
      }
    }
    b.copy(acc, C.at(bm * block_m - (is(Form::StoredBefore) ? 8 : 0), bn * block_n));
    if (is(Form::ConditionBehind))
      b.when(bm == 0, [&] { b.store(C.at(0, 0), 1); }); // [condition]
  }
};

void expectDivided(Form form, int64_t tiles) {
  for (Target target : {Target::sm_90a().emulated(), Target::sm_100a().emulated()})
    expectRight(Divided{form}, target, tiles);
}

TEST(Automatic, CopiesMayStandInAGroup) {
  for (int64_t tiles : {0, 1, 2, 7})
    expectDivided(Form::CopiesInAGroup, tiles);
}

TEST(Automatic, RequirementsAreCheckedByTheLaunch) {
  expectDivided(Form::Requires, 2);
  auto compiled = try_compile(Divided{Form::Requires}, Target::sm_90a().emulated());
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  Product large(64, 64, 96);
  expectFinding(large.launch(compiled.kernel, timings[0]), {1401, "short sums"}, __FILE__);
}

TEST(Automatic, OneSlotIsEnough) {
  for (Target target : {Target::sm_90a().emulated(), Target::sm_100a().emulated()})
    for (int64_t tiles : {1, 2, 5})
      expectRight(Divided{Form::Plain, 1}, target, tiles);
}

TEST(Automatic, PlacesBeforeTheTensorAreClipped) {
  // Engines store at no negative place.
  for (Target target : {Target::sm_90a().emulated(), Target::sm_100a().emulated()}) {
    auto compiled = try_compile(Divided{Form::StoredBefore}, target);
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    Product product(128, 64, 64), shifted = product;
    auto found = product.launch(compiled.kernel, timings[0]);
    EXPECT_TRUE(found.empty()) << to_text(found);
    // Row i holds what belongs into row i + 8; the last ones are not written.
    found = shifted.launch(try_compile(Divided{Form::Plain}, target).kernel, timings[0]);
    EXPECT_TRUE(found.empty()) << to_text(found);
    for (size_t i = 0; i < 128 * 64; ++i)
      EXPECT_EQ(float(product.c[i]), i < 120 * 64 ? float(shifted.c[i + 8 * 64]) : -77) << i;
  }
}

/// Products of other elements.
template <class E> struct Tiles {
  bool tf32 = false;
  bool three = false; ///< always three tiles, whether there are any or not
  void operator()(Block &b, In<E, 2> A, In<E, 2> B, Out<f32, 2> C) const {
    auto [bm, bn] = b.grid(ceil_div(C.size(0), 128), ceil_div(C.size(1), 64));
    auto As = b.shared<E>(128, 32), Bs = b.shared<E>(64, 32);
    auto acc = b.local<f32>(128, 64);
    b.fill(acc, 0);
    Index tiles = three ? Index(3) : ceil_div(A.size(1), 32);
    for (Index k : b.pipelined(tiles, {.num_stages = 2})) {
      b.copy(A.at(bm * 128, k * 32), As);
      b.copy(B.at(bn * 64, k * 32), Bs);
      b.gemm(As, transposed(Bs), acc, {.tf32 = tf32}); // [product]
    }
    b.copy(acc, C.at(bm * 128, bn * 64));
  }
};

TEST(Automatic, EightBitElements) {
  // Rows that engines copy, and rows that threads do.
  for (Target target : {Target::sm_90a().emulated(), Target::sm_100a().emulated()})
    for (int64_t k : {128, 75}) {
      auto compiled = try_compile(Tiles<f8e4m3>{}, target);
      ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
      int64_t m = 130, n = 68;
      std::vector<f8e4m3> a(size_t(m * k)), b(size_t(n * k));
      for (size_t i = 0; i < a.size(); ++i)
        a[i] = f8e4m3(float(int(i * 7 % 5) - 2));
      for (size_t i = 0; i < b.size(); ++i)
        b[i] = f8e4m3(float(int(i * 3 % 5) - 2));
      std::vector<float> c(size_t(m * n), -77);
      auto found =
          compiled.kernel.try_launch({}, view(a, {m, k}), view(b, {n, k}), view(c, {m, n}));
      EXPECT_TRUE(found.empty()) << to_text(found);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          float sum = 0;
          for (int64_t l = 0; l < k; ++l)
            sum += float(a[size_t(i * k + l)]) * float(b[size_t(j * k + l)]);
          ASSERT_EQ(c[size_t(i * n + j)], sum) << i << ", " << j;
        }
    }
}

TEST(Automatic, EmptyTensorsReadAsZero) {
  for (Target target : {Target::sm_90a().emulated(), Target::sm_100a().emulated()}) {
    auto compiled = try_compile(Tiles<f16>{.three = true}, target);
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    std::vector<f16> none;
    std::vector<float> c(128 * 64, -77);
    auto found = compiled.kernel.try_launch({}, view(none, {128, 0}), view(none, {64, 0}),
                                            view(c, {128, 64}));
    EXPECT_TRUE(found.empty()) << to_text(found);
    EXPECT_TRUE(std::ranges::all_of(c, [](float x) { return x == 0; }));
  }
}

/// Programs that are no plain matmul are executed by one group of warps, and give what
/// the interpreter gives.
TEST(Automatic, OtherFormsHaveOneGroupOfWarps) {
  for (Form form : {Form::ProductBeforeCopy, Form::Conditional, Form::LoadedTwice,
                    Form::PartOfATile, Form::ConditionBehind})
    for (Target target : {Target::sm_90a().emulated(), Target::sm_100a().emulated()}) {
      auto compiled = try_compile(Divided{form}, target);
      auto reference = try_compile(Divided{form}, Target::interpreter());
      Product found(130, 64, 96), expected = found;
      // What is multiplied before anything was copied holds anything: engines are checked
      // by the compiler, threads by the emulator.
      if (form == Form::ProductBeforeCopy) {
        if (compiled)
          EXPECT_FALSE(found.launch(compiled.kernel, timings[0]).empty());
        else
          EXPECT_EQ(compiled.diagnostics.back().code, 1616u) << to_text(compiled.diagnostics);
        continue;
      }
      ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
      ASSERT_TRUE(bool(reference)) << to_text(reference.diagnostics);
      auto findings = found.launch(compiled.kernel, timings[0]);
      EXPECT_TRUE(findings.empty()) << to_text(findings);
      EXPECT_TRUE(expected.launch(reference.kernel, timings[0]).empty());
      for (size_t i = 0; i < found.c.size(); ++i)
        ASSERT_EQ(float(found.c[i]), float(expected.c[i])) << i;
    }
}

/// The number of stages that a refusal names fits, with all that the compiler adds to
/// the tiles of the kernel, and one more does not.
TEST(Automatic, TheDepthThatIsSaidToFitFits) {
  for (const Target &target : {Target::sm_90a().emulated(), Target::sm_100a().emulated()})
    for (int block_n : {64, 128}) {
      Divided kernel{Form::Plain, 100, 128, block_n, 64};
      auto refused = try_compile(kernel, target);
      ASSERT_FALSE(refused);
      std::string fits;
      for (const auto &[key, value] : refused.diagnostics[0].facts)
        if (key == "num-stages-that-fit")
          fits = value;
      ASSERT_FALSE(fits.empty()) << to_text(refused.diagnostics);
      kernel.stages = std::stoi(fits);
      auto compiled = try_compile(kernel, target);
      EXPECT_TRUE(compiled) << fits << " stages\n" << to_text(compiled.diagnostics);
      ++kernel.stages;
      EXPECT_FALSE(try_compile(kernel, target)) << kernel.stages << " stages";
    }
}

} // namespace
