//===- FragmentTest.cpp - Rows and columns of tiles in registers ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every thread knows the row and the column of each element that it holds, however
// a tile is spread over the threads: as an accumulator of wgmma, as rows of tensor
// memory, or for plain copies.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

/// Where the element stands, and zero above the diagonal.
Expr<f32> positions(const Tile<f32, 2> &tile) {
  return where(row(tile) >= col(tile), cast<f32>(row(tile) * 1000 + col(tile)), 0);
}

template <class Kernel> void expectPositions(const Kernel &kernel, int64_t rows, int64_t cols) {
  std::vector<float> c(size_t(rows * cols), -1);
  auto found = kernel.try_launch({}, view(c, {rows, cols}));
  EXPECT_TRUE(found.empty()) << to_text(found);
  int64_t wrong = 0;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      wrong += c[size_t(i * cols + j)] != (i >= j ? float(i * 1000 + j) : 0);
  EXPECT_EQ(wrong, 0);
}

TEST(ElementPositions, OfAccumulators) {
  for (int warpgroups : {1, 2}) {
    auto kernel = compile(
        [&](Block &b, Out<f32, 2> C) {
          b.grid(1);
          b.threads(128 * warpgroups);
          auto As = b.shared<f16>(128, 16), Bs = b.shared<f16>(48, 16);
          b.fill(As, 0);
          b.fill(Bs, 0);
          auto acc = b.local<f32>(128, 48);
          b.fill(acc, 0);
          b.fence.proxy_async();
          b.sync();
          b.wgmma.fence();
          b.wgmma.mma(As, transposed(Bs), acc);
          b.wgmma.commit_group();
          b.wgmma.wait_group(0);
          b.set(acc, acc + positions(acc));
          b.copy(acc, C.at(0, 0));
        },
        Target::sm_90a().emulated(), {.name = "accumulator"});
    expectPositions(kernel, 128, 48);
  }
}

/// Slabs of columns of an accumulator: read through a shared tile, copied and overwritten.
TEST(ElementPositions, OfSlicesOfAccumulators) {
  for (int64_t rows : {64, 128, 256}) {
    auto kernel = compile(
        [&](Block &b, Out<f32, 2> C) {
          b.grid(1);
          b.threads(rows == 64 ? 128 : 256);
          auto As = b.shared<f16>(rows, 16), Bs = b.shared<f16>(48, 16);
          auto slab = b.shared<f32>(rows, 16);
          b.fill(As, 0);
          b.fill(Bs, 0);
          auto acc = b.local<f32>(rows, 48);
          b.fill(acc, 0);
          b.fence.proxy_async();
          b.sync();
          b.wgmma.fence();
          b.wgmma.mma(As, transposed(Bs), acc);
          b.wgmma.commit_group();
          b.wgmma.wait_group(0);
          b.fill(slice(acc, {0, 8}, {rows, 24}), 5); // overwritten again below
          b.set(acc, positions(acc));
          b.store(slab, slice(acc, {0, 0}, {rows, 16}));
          b.sync();
          b.copy(slab, C.at(0, 0));
          b.copy(slice(acc, {0, 16}, {rows, 24}), C.at(0, 16));
          b.copy(slice(slice(acc, {0, 32}, {rows, 16}), {0, 8}, {rows, 8}), C.at(0, 40));
        },
        Target::sm_90a().emulated(), {.name = "slices"});
    expectPositions(kernel, rows, 48);
  }
}

TEST(ElementPositions, OfTensorMemory) {
  auto kernel = compile(
      [](Block &b, Out<f32, 2> C) {
        b.grid(1);
        b.threads(128);
        auto cells = b.tcgen05.alloc<f32>(128, 48);
        auto own = b.local<f32>(128, 48);
        b.set(own, positions(own));
        b.tcgen05.store(own, cells);
        b.tcgen05.wait_store();
        auto back = b.tcgen05.load(cells);
        b.tcgen05.wait_load();
        b.set(back, where(row(back) >= col(back), back, 0));
        b.copy(back, C.at(0, 0));
        b.sync();
        b.tcgen05.dealloc(cells);
      },
      Target::sm_100a().emulated(), {.name = "tensor_memory"});
  expectPositions(kernel, 128, 48);
}

TEST(ElementPositions, OfPlainCopies) {
  auto kernel = compile(
      [](Block &b, Out<f32, 2> C) {
        b.grid(1);
        b.threads(96);
        auto own = b.local<f32>(40, 20);
        b.set(own, positions(own));
        b.copy(own, C.at(0, 0));
      },
      Target::sm_90a().emulated(), {.name = "plain"});
  expectPositions(kernel, 40, 20);
}

} // namespace
