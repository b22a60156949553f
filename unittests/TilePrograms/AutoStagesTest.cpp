//===- AutoStagesTest.cpp - `num_stages = Auto` -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The expected depth is found by trying: a program with Auto must give the code of the same program
// with the largest number that compiles.
//
//===----------------------------------------------------------------------===//
#include <gtest/gtest.h>
#include <penstock/inspect.h>
#include <penstock/penstock.h>

#include <array>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

using namespace penstock;

namespace {

struct Matmul {
  int rows = 128, columns = 128, depth = 64, stages = Auto;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    auto [bm, bn] = b.grid(ceil_div(A.size(0), rows), ceil_div(B.size(0), columns));
    auto As = b.shared<f16>(rows, depth), Bs = b.shared<f16>(columns, depth);
    auto acc = b.local<f32>(rows, columns);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(A.size(1), depth), {.num_stages = stages})) {
      b.copy(A.at(bm * rows, k * depth), As);
      b.copy(B.at(bn * columns, k * depth), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(bm * rows, bn * columns));
  }
};

/// Two loops share the memory of a block.
struct TwoLoops {
  int depth = 64, first = Auto, second = Auto;
  static constexpr auto signature = "A[M,K], B[N,K], D[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, In<f16, 2> D, Out<f32, 2> C) const {
    auto [bm, bn] = b.grid(ceil_div(A.size(0), 128), ceil_div(B.size(0), 128));
    auto acc = b.local<f32>(128, 128);
    b.fill(acc, 0);
    auto multiply = [&](const In<f16, 2> &other, int stages) {
      auto As = b.shared<f16>(128, depth), Bs = b.shared<f16>(128, depth);
      for (Index k : b.pipelined(ceil_div(A.size(1), depth), {.num_stages = stages})) {
        b.copy(A.at(bm * 128, k * depth), As);
        b.copy(other.at(bn * 128, k * depth), Bs);
        b.gemm(As, transposed(Bs), acc);
      }
    };
    multiply(B, first);
    multiply(D, second);
    b.copy(acc, C.at(bm * 128, bn * 128));
  }
};

/// PTX without the lines of the calls that compile it.
template <class Compiled> std::string codeOf(const Compiled &kernel) {
  std::istringstream ptx(kernel.ptx());
  std::string code;
  for (std::string line; std::getline(ptx, line);)
    if (!line.starts_with("\t.loc"))
      code += line + "\n";
  return code;
}

TEST(AutoStages, LargestThatCompiles) {
  for (Target target : {Target::sm_80(), Target::sm_86(), Target::sm_89(), Target::sm_90a(),
                        Target::sm_100a(), Target::sm_120a()})
    for (auto [rows, columns, depth] :
         {std::array{64, 64, 32}, std::array{128, 128, 64}, std::array{64, 128, 128}}) {
      Matmul kernel{rows, columns, depth};
      auto chosen = try_compile(kernel, target);
      ASSERT_TRUE(chosen) << to_text(chosen.diagnostics);
      EXPECT_TRUE(chosen.diagnostics.empty()) << to_text(chosen.diagnostics);
      std::string expected;
      int stages = 8;
      for (; stages > 0 && expected.empty(); --stages) {
        kernel.stages = stages;
        if (auto stated = try_compile(kernel, target))
          expected = codeOf(stated.kernel);
      }
      EXPECT_GT(stages, 0);
      EXPECT_TRUE(codeOf(chosen.kernel) == expected)
          << rows << " x " << columns << " x " << depth << ": not " << stages + 1 << " stages";
    }
}

/// Numbers of stages of the two loops.
using Depths = std::pair<int, int>;

TEST(AutoStages, LoopsShareTheMemory) {
  constexpr int most = 8; // one version of both tiles takes 32 of 227 KiB
  std::map<int, Depths> onHopper;
  for (Target target : {Target::sm_90a(), Target::sm_100a()}) {
    std::map<Depths, std::string> stated;
    for (int first = 1; first <= most; ++first)
      for (int second = 1; second <= most; ++second)
        if (auto compiled = try_compile(TwoLoops{.first = first, .second = second}, target))
          stated[{first, second}] = codeOf(compiled.kernel);
    for (int first : {Auto, 2, 5}) {
      auto chosen = try_compile(TwoLoops{.first = first}, target);
      ASSERT_TRUE(chosen) << to_text(chosen.diagnostics);
      std::vector<Depths> same;
      for (auto &[depths, code] : stated)
        if (code == codeOf(chosen.kernel))
          same.push_back(depths);
      ASSERT_EQ(same.size(), 1u) << "first = " << first;
      auto [ours, second] = same.front();
      EXPECT_TRUE(first == Auto || first == ours);
      if (target.kind == Target::Kind::Sm90a) {
        // No loop with Auto can have one more.
        EXPECT_FALSE(stated.contains({ours, second + 1})) << ours << " and " << second;
        EXPECT_TRUE(first != Auto || !stated.contains({ours + 1, second}))
            << ours << " and " << second;
        onHopper[first] = same.front();
      } else {
        // The loops' tiles overlap in the same memory, which the choice does not count on.
        EXPECT_EQ(same.front(), onHopper[first]);
      }
    }
  }
}

TEST(AutoStages, ResultsOnTargets) {
  int64_t M = 130, N = 72, K = 300;
  std::vector<f16> A(size_t(M * K)), B(size_t(N * K));
  for (size_t i = 0; i < A.size(); ++i)
    A[i] = f16(float(int(i * 7 % 5) - 2));
  for (size_t i = 0; i < B.size(); ++i)
    B[i] = f16(float(int(i * 3 % 7) - 3));
  for (Target target : {Target::interpreter(), Target::native(), Target::sm_80().emulated(),
                        Target::sm_90a().emulated(), Target::sm_100a().emulated()}) {
    std::vector<float> C(size_t(M * N), -1.0f);
    compile(Matmul{64, 64, 32}, target)(view(A, {M, K}), view(B, {N, K}), view(C, {M, N}));
    for (int64_t m = 0; m < M; ++m)
      for (int64_t n = 0; n < N; ++n) {
        float sum = 0;
        for (int64_t k = 0; k < K; ++k)
          sum += float(A[size_t(m * K + k)]) * float(B[size_t(n * K + k)]);
        ASSERT_EQ(C[size_t(m * N + n)], sum) << m << " " << n;
      }
  }
}

} // namespace
