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
#include "Mistakes.h"

using namespace mistakes;

namespace {

enum class Form { CopiesInAGroup, Requires, ProductBeforeCopy, Conditional };

struct Divided {
  Form form;
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
    for (Index k : b.pipelined(ceil_div(K, block_k), {.num_stages = 3})) {
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
        if (is(Form::Conditional))
          b.when(k > 0, multiply);
        else
          multiply();
      }
    }
    b.copy(acc, C.at(bm * block_m, bn * block_n));
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

TEST(Automatic, OtherFormsAreRefused) {
  expectRefused(Divided{Form::ProductBeforeCopy}, Target::sm_100a(), {1601, "load later"},
                __FILE__);
  expectRefused(Divided{Form::Conditional}, Target::sm_100a(), {1601, "multiply"}, __FILE__);
}

} // namespace
