//===- AddedTilesTest.cpp - Tiles that are added to tensors ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile that a program adds to a tensor by atomics is added by TMA, in loops and after
// them, where nothing but the tensor's edges leaves elements out. Each synchronization
// around it is needed: without one of them the emulator reports a race.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

using namespace penstock;
using namespace programs;

namespace {

template <class T>
void addTile(Block &b, const Tile<T, 2> &S, const InOut<T, 2> &C, const Index &m0,
             const Index &n0) {
  auto [M, N] = C.sizes();
  b.parallel(64, 32, [&](Index i, Index j) {
    b.when(m0 + i < M && n0 + j < N, [&] { b.atomic(Add, C.at(m0 + i, n0 + j), b.load(S, i, j)); });
  });
}

/// Blocks add their matrix to one sum.
template <class T> struct AddMatrices {
  static constexpr auto signature = "X[K,M,N] -> C[M,N]";
  void operator()(Block &b, In<T, 3> X, InOut<T, 2> C) const {
    auto [K, M, N] = X.sizes();
    auto [k, bm, bn] = b.grid(K, ceil_div(M, 64), ceil_div(N, 32));
    auto x = b.local<T>(64, 32);
    auto S = b.shared<T>(64, 32);
    b.copy(X.at(k, bm * 64, bn * 32), x);
    b.set(S, x + x);
    addTile(b, S, C, bm * 64, bn * 32);
  }
};
using AddMatricesF32 = AddMatrices<f32>;
using AddMatricesI32 = AddMatrices<i32>;
using AddMatricesI64 = AddMatrices<i64>;
PENSTOCK_KERNEL(AddMatricesF32);
PENSTOCK_KERNEL(AddMatricesI32);
PENSTOCK_KERNEL(AddMatricesI64);

/// A block adds all matrices, one after the other, from one tile.
struct AddInLoop {
  static constexpr auto signature = "X[K,M,N] -> C[M,N]";
  void operator()(Block &b, In<f32, 3> X, InOut<f32, 2> C) const {
    auto [K, M, N] = X.sizes();
    auto [bm, bn] = b.grid(ceil_div(M, 64), ceil_div(N, 32));
    auto x = b.local<f32>(64, 32);
    auto S = b.shared<f32>(64, 32);
    for (Index k : b.range(K)) {
      b.copy(X.at(k, bm * 64, bn * 32), x);
      b.set(S, x + x);
      addTile(b, S, C, bm * 64, bn * 32);
    }
  }
};
PENSTOCK_KERNEL(AddInLoop);

/// Adds products of columns of A and B from k0 on, in a warp-specialized loop.
void multiply(Block &b, const In<f16, 2> &A, const In<f16, 2> &B, const Tile<f32, 2> &acc,
              const Index &m0, const Index &n0, const Index &k0, const Index &steps) {
  auto As = b.shared<f16>(64, 64), Bs = b.shared<f16>(32, 64);
  for (Index k : b.pipelined(steps, {.num_stages = 2})) {
    b.copy(A.at(m0, k0 + k * 64), As);
    b.copy(B.at(n0, k0 + k * 64), Bs);
    b.gemm(As, transposed(Bs), acc);
  }
}

/// A product whose depth is divided among blocks, in a warp-specialized loop; the sum is added
/// after it.
struct SplitDepth {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, InOut<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto [bm, bn, part] = b.grid(ceil_div(M, 64), ceil_div(B.size(0), 32), ceil_div(K, 256));
    auto acc = b.local<f32>(64, 32);
    auto S = b.shared<f32>(64, 32);
    b.fill(acc, 0);
    multiply(b, A, B, acc, bm * 64, bn * 32, part * 256, 4);
    b.copy(acc, S);
    addTile(b, S, C, bm * 64, bn * 32);
  }
};
PENSTOCK_KERNEL(SplitDepth);

/// Each step of a warp-specialized loop adds its product to other rows.
struct AddEachStep {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, InOut<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto [bn, bk] = b.grid(ceil_div(B.size(0), 32), ceil_div(K, 64));
    auto As = b.shared<f16>(64, 64), Bs = b.shared<f16>(32, 64);
    auto acc = b.local<f32>(64, 32);
    auto S = b.shared<f32>(64, 32);
    b.copy(B.at(bn * 32, bk * 64), Bs);
    for (Index m : b.pipelined(ceil_div(M, 64), {.num_stages = 2})) {
      b.copy(A.at(m * 64, bk * 64), As);
      b.gemm(As, transposed(Bs), acc, {.accumulate = false});
      b.statement("add", [&] {
        b.copy(acc, S);
        addTile(b, S, C, m * 64, bn * 32);
      });
    }
  }
};
PENSTOCK_KERNEL(AddEachStep);

/// The tensor is also read: threads add.
struct AddAndRead {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, InOut<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto [bm, bn] = b.grid(ceil_div(M, 64), ceil_div(B.size(0), 32));
    auto acc = b.local<f32>(64, 32);
    auto S = b.shared<f32>(64, 32);
    b.copy(C.at(bm * 64, bn * 32), acc);
    multiply(b, A, B, acc, bm * 64, bn * 32, 0, ceil_div(K, 64));
    b.copy(acc, S);
    addTile(b, S, C, bm * 64, bn * 32);
  }
};
PENSTOCK_KERNEL(AddAndRead);

/// Counts an instruction in the PTX of a kernel, in the variant for rows that TMA takes.
size_t occurrences(const std::string &kernel, const Target &target,
                   const std::string &instruction) {
  std::string ptx = compileFor(kernel, target).ptx();
  ptx = ptx.substr(0, ptx.find(".entry", ptx.find(".entry") + 1));
  size_t count = 0;
  for (size_t at = 0; (at = ptx.find(instruction, at)) != std::string::npos; at += 1)
    ++count;
  return count;
}

const std::string byTma = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add";

TEST(AddedTiles, AreAddedByTma) {
  for (const Target &target : gpus)
    for (std::string kernel : {"AddMatricesF32", "AddMatricesI32", "AddMatricesI64", "AddInLoop",
                               "SplitDepth", "AddEachStep"}) {
      EXPECT_GE(occurrences(kernel, target, byTma), 1u) << kernel;
      EXPECT_EQ(occurrences(kernel, target, "atom.global"), 0u) << kernel;
      EXPECT_EQ(occurrences(kernel, target, "red.global"), 0u) << kernel;
    }
}

TEST(AddedTiles, AreRightAtEdges) {
  // Full tiles, edges that TMA clips, and rows that it does not take.
  std::vector<Shape> shapes = {{{"K", 3}, {"M", 64}, {"N", 32}},
                               {{"K", 2}, {"M", 70}, {"N", 44}},
                               {{"K", 2}, {"M", 5}, {"N", 4}},
                               {{"K", 2}, {"M", 65}, {"N", 33}}};
  for (std::string kernel : {"AddMatricesF32", "AddMatricesI32", "AddMatricesI64", "AddInLoop"})
    expectSameEverywhere(kernel, shapes);
  shapes = {{{"M", 128}, {"N", 64}, {"K", 512}},
            {{"M", 200}, {"N", 36}, {"K", 328}},
            {{"M", 70}, {"N", 33}, {"K", 65}},
            {{"M", 70}, {"N", 32}, {"K", 0}}};
  for (std::string kernel : {"SplitDepth", "AddEachStep", "AddAndRead"})
    expectSameEverywhere(kernel, shapes);
}

TEST(AddedTiles, AreExplained) {
  for (std::string gpu : {"sm_90a", "sm_100a"}) {
    for (std::string kernel : {"SplitDepth", "AddEachStep"}) {
      std::string plan = planOf(kernel, gpu);
      EXPECT_NE(plan.find("`S` (64x32 f32, shared) is added to `C`"), std::string::npos) << plan;
    }
    std::string plan = planOf("AddAndRead", gpu);
    EXPECT_NE(plan.find("threads add element by element: `C`"), std::string::npos) << plan;
    EXPECT_NE(plan.find("is also accessed in other ways"), std::string::npos) << plan;
  }
}

TEST(AddedTiles, PassAllChecks) {
  for (const Target &target : gpus)
    for (std::string kernel : {"AddInLoop", "SplitDepth", "AddEachStep"}) {
      CheckOptions options;
      options.timings = 20;
      options.shapes = {{{"K", 130}, {"M", 130}, {"N", 36}}};
      if (kernel == "AddInLoop")
        options.shapes = {{{"K", 5}, {"M", 70}, {"N", 36}}};
      CheckReport report = check_registered(kernel, target, options);
      EXPECT_TRUE(report.sound()) << to_text(report);
    }
}

/// Removes each synchronization in turn. Those around additions are the proxy fence, the barriers
/// before the addition and before the tile is overwritten, the wait before that, and the last wait.
TEST(AddedTiles, NeedEachSynchronization) {
  for (const Target &target : gpus)
    for (std::string kernel : {"AddInLoop", "SplitDepth", "AddEachStep"}) {
      MutateOptions options;
      options.shapes = {{{"K", 64}, {"M", 320}, {"N", 32}}};
      if (kernel == "AddInLoop")
        options.shapes = {{{"K", 5}, {"M", 64}, {"N", 32}}};
      if (kernel == "SplitDepth")
        options.shapes = {{{"K", 512}, {"M", 64}, {"N", 32}}};
      MutateReport report = mutate_registered(kernel, target, options);
      EXPECT_EQ(report.count(Mutant::Survived), 0u) << to_text(report);
      size_t fences = 0, waits = 0;
      for (const Mutant &mutant : report.mutants)
        if (mutant.change == "removed" && mutant.fate == Mutant::Killed) {
          fences += mutant.instruction.find("fence.proxy.async") != std::string::npos;
          waits += mutant.instruction.find("cp.async.bulk.wait_group.read") != std::string::npos;
        }
      EXPECT_GE(fences, 1u) << kernel << "\n" << to_text(report);
      EXPECT_GE(waits, kernel == "SplitDepth" ? 1u : 2u) << kernel << "\n" << to_text(report);
    }
}

} // namespace
