//===- ShapesTest.cpp - Matmuls of many tile shapes and depths ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tile shapes and numbers of stages of a published study of matmuls on Hopper:
// 128 columns, k in steps of 16, and as many stages as fit in shared memory. All
// of them compile as tile programs, those without room for a staged result, too.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

using namespace penstock;
using namespace programs;

namespace {

struct AnyTile {
  int m = 128, k = 64, stages = 3;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [bm, bn] = b.grid(ceil_div(A.size(0), m), ceil_div(B.size(0), 128));
    auto As = b.shared<f16>(m, k), Bs = b.shared<f16>(128, k);
    auto acc = b.local<f32>(m, 128);
    b.fill(acc, 0);
    for (Index i : b.pipelined(ceil_div(A.size(1), k), {.num_stages = stages})) {
      b.copy(A.at(bm * m, i * k), As);
      b.copy(B.at(bn * 128, i * k), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(bm * m, bn * 128));
  }
};

struct Cell {
  int m, k, stages;
};

/// One row for each number of rows of a tile; k is 32, 64, 96, ..
std::vector<Cell> cells() {
  std::vector<Cell> all;
  std::pair<int, std::vector<int>> rows[] = {{64, {18, 9, 6, 4, 3, 3, 2, 2}},
                                             {128, {13, 6, 4, 3, 2, 2, 1, 1}},
                                             {192, {10, 5, 3, 2, 2, 1, 1, 1}},
                                             {256, {8, 4, 2, 2, 1, 1, 1, 1}},
                                             {320, {7, 3, 2, 1, 1, 1, 1}}};
  for (auto &[m, stages] : rows)
    for (size_t i = 0; i < stages.size(); ++i)
      all.push_back({m, int(32 * (i + 1)), stages[i]});
  return all;
}

TEST(Shapes, AllOfAPublishedStudyCompile) {
  ASSERT_EQ(cells().size(), 39u);
  for (const Cell &cell : cells()) {
    SCOPED_TRACE(std::to_string(cell.m) + " x 128 x " + std::to_string(cell.k) + ", " +
                 std::to_string(cell.stages) + " stages");
    auto compiled = try_compile(AnyTile{cell.m, cell.k, cell.stages}, Target::sm_90a().emulated());
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    EXPECT_NE(compiled.kernel.ptx().find("wgmma.mma_async"), std::string::npos);
    EXPECT_NE(compiled.kernel.ptx().find("cp.async.bulk.tensor"), std::string::npos);
    // One block, k beyond one round of the slots.
    int64_t k = int64_t(cell.k) * (cell.stages + 1) + 8;
    std::vector<f16> a(size_t(cell.m * k)), b(size_t(128 * k)), c(size_t(cell.m * 128));
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = f16(float(int(i % 7) - 3));
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = f16(float(int(i % 3) - 1));
    auto found = compiled.kernel.try_launch({}, view(a, {cell.m, k}), view(b, {128, k}),
                                            view(c, {cell.m, 128}));
    ASSERT_TRUE(found.empty()) << to_text(found);
    for (int64_t i : {0, 17, cell.m - 1})
      for (int64_t j : {0, 64, 127}) {
        float sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += float(a[size_t(i * k + l)]) * float(b[size_t(j * k + l)]);
        ASSERT_EQ(float(c[size_t(i * 128 + j)]), float(f16(sum))) << i << ", " << j;
      }
  }
}

} // namespace
