//===- EnginesTest.cpp - Which instructions a program becomes -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

using namespace penstock;
using namespace programs;

namespace {

/// One product in one block, of tiles of a shape.
template <class T, class S> struct OneProduct {
  int m = 32, n = 16, k = 32;
  bool tf32 = false;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<T, 2> A, In<T, 2> B, Out<S, 2> C) const {
    auto As = b.shared<T>(m, k), Bs = b.shared<T>(n, k);
    auto acc = b.local<S>(m, n);
    b.copy(A.at(0, 0), As);
    b.copy(B.at(0, 0), Bs);
    b.gemm(As, transposed(Bs), acc, {.accumulate = false, .tf32 = tf32});
    b.copy(acc, C.at(0, 0));
  }
};

template <class Kernel> std::string ptxOf(const Kernel &kernel, Target target) {
  auto compiled = try_compile(kernel, target);
  EXPECT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  return compiled ? compiled.kernel.ptx() : "";
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(Engines, TensorCoresMultiplyWhatTheyCan) {
  for (const Target &target : gpus) {
    EXPECT_TRUE(contains(ptxOf(OneProduct<f16, f32>{}, target),
                         "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"));
    EXPECT_TRUE(contains(ptxOf(OneProduct<bf16, f32>{}, target), "m16n8k16.row.col.f32.bf16"));
    EXPECT_TRUE(contains(ptxOf(OneProduct<f8e4m3, f32>{}, target), "m16n8k32.row.col.f32.e4m3"));
    EXPECT_TRUE(contains(ptxOf(OneProduct<i8, i32>{}, target), "m16n8k32.row.col.s32.s8.s8.s32"));
    EXPECT_TRUE(
        contains(ptxOf(OneProduct<f32, f32>{.tf32 = true}, target), "m16n8k8.row.col.f32.tf32"));
  }
}

/// f32 keeps its precision unless the user allows TF32; other shapes are multiplied by
/// threads.
TEST(Engines, ThreadsMultiplyTheRest) {
  for (const Target &target : gpus) {
    EXPECT_FALSE(contains(ptxOf(OneProduct<f32, f32>{}, target), "mma.sync"));
    EXPECT_FALSE(contains(ptxOf(OneProduct<f16, f32>{.m = 24}, target), "mma.sync"));
    EXPECT_FALSE(contains(ptxOf(OneProduct<f16, f32>{.k = 24}, target), "mma.sync"));
  }
}

/// Operands whose elements lie together, or across, are loaded by ldmatrix.
TEST(Engines, OperandsAreLoadedAsMatrices) {
  for (const Target &target : gpus) {
    std::string ptx = ptxOf(OneProduct<f16, f32>{}, target);
    EXPECT_TRUE(contains(ptx, "ldmatrix.sync.aligned.m8n8.x4.shared.b16"));
    EXPECT_TRUE(contains(ptx, "ldmatrix.sync.aligned.m8n8.x2.shared.b16"));
    EXPECT_FALSE(contains(ptx, ".local"));
  }
}

} // namespace
