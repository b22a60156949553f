//===- block.cpp - Examples of the C++ reference --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>
using namespace penstock;

// example: Block::grid, swizzled, Block::prefer, Block::shared, Block::local, Block::fill,
// Block::pipelined, Block::copy, Block::gemm
auto matmul = [](Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) { // C = A * transpose(B)
  auto [bm, bn] = b.grid(ceil_div(C.size(0), 128), ceil_div(C.size(1), 128), swizzled(8));
  b.prefer({.cluster = {2, 1}});
  auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(128, 64);
  auto acc = b.local<f32>(128, 128);
  b.fill(acc, 0);
  for (Index k : b.pipelined(ceil_div(A.size(1), 64), {.num_stages = 3})) {
    b.copy(A.at(bm * 128, k * 64), As);
    b.copy(B.at(bn * 128, k * 64), Bs);
    b.gemm(As, transposed(Bs), acc);
  }
  b.copy(acc, C.at(bm * 128, bn * 128));
};

// example: Block::range, Block::reduce, Block::set, Block::require
auto softmax = [](Block &b, In<f32, 2> X, Out<f32, 2> Y) {
  Index m = b.grid(ceil_div(X.size(0), 4));
  b.require(X.size(1) <= 1024, "a row is longer than the tile");
  auto x = b.local<f32>(4, 1024);
  auto top = b.local<f32>(4), sum = b.local<f32>(4);
  for (Index row : b.range(m * 4, min(m * 4 + 4, X.size(0)), 4)) {
    b.copy(X.at(row, 0), x, {.fill = -infinity});
    b.reduce(Max, x, 1, top);
    b.set(x, exp(x - broadcast_rows(top)));
    b.reduce(Sum, x, 1, sum);
    b.set(x, x / broadcast_rows(sum));
    b.copy(x, Y.at(row, 0));
  }
};

// example: Block::unpack
auto weights = [](Block &b, In<i4x2, 2> packed, Out<f16, 2> values) {
  Index m = b.grid(ceil_div(packed.size(0), 64));
  auto p = b.shared<i4x2>(64, 32);
  auto v = b.local<f16>(64, 64);
  b.copy(packed.at(m * 64, 0), p);
  b.unpack(p, v); // two values of each byte
  b.copy(v, values.at(m * 64, 0));
};

// example: Block::parallel, Block::load, Block::store, Block::atomic, Block::when, Block::bind
auto histogram = [](Block &b, In<i32, 1> x, InOut<i32, 1> counts) {
  Index begin = b.grid(ceil_div(x.size(0), 256)) * 256;
  auto tile = b.shared<i32>(256), seen = b.shared<i32>(1);
  b.copy(x.at(begin), tile, {.fill = -1});
  b.parallel(256, [&](Index i) {
    auto value = b.bind("value", b.load(tile, i));
    b.when(
        value >= 0, [&] { b.atomic(Add, counts.at(cast<index_t>(value)), 1); },
        [&] { b.store(seen, 0, 1); });
  });
};

// example: Block::statement, Block::wait
auto scheduled = [](Block &b, In<f16, 2> A, In<i8, 2> B, Out<f32, 2> C) {
  b.grid(1);
  auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(128, 64);
  auto bytes = b.shared<i8>(128, 64);
  auto acc = b.local<f32>(128, 128);
  b.copy(A.at(0, 0), As, {.async = "A"}); // completes at the wait
  b.wait("A");
  b.fill(acc, 0);
  for (Index k : b.pipelined(ceil_div(A.size(1), 64), {.num_stages = 3})) {
    b.copy(A.at(0, k * 64), As);
    b.copy(B.at(0, k * 64), bytes);
    b.statement("convert", [&] { b.set(Bs, cast<f16>(bytes)); }, {.role = "convert"});
    b.gemm(As, transposed(Bs), acc);
  }
  b.copy(acc, C.at(0, 0));
};

// example: Block::wait_for_previous, Block::launch_dependents, Block::print,
// Block::Printable::Printable
auto second = [](Block &b, In<f32, 1> x, Out<f32, 1> y) { // LaunchOptions::overlap_previous
  Index i = b.grid(ceil_div(x.size(0), 256));
  auto t = b.local<f32>(256);
  b.wait_for_previous(); // x is written by the previous kernel
  b.copy(x.at(i * 256), t);
  b.launch_dependents();
  b.print("block {}: {}", {i, t}); // a scalar and a tile: Printable
  b.copy(t, y.at(i * 256));
};

// example: Block::threads, Block::cluster, Block::cluster_sync, Block::warps, Block::warp,
// Block::elect_one, Block::sync, Block::warp_sync
auto roles = [](Block &b, In<f16, 2> A, Out<f16, 2> C) {
  auto m = b.grid(ceil_div(A.size(0), 128));
  b.threads(160);
  Index rank = b.cluster(2); // of this block in its cluster
  auto As = b.shared<f16>(128, 64);
  auto full = b.mbarrier.alloc(1);
  b.warp(4, [&] {
    b.elect_one([&] {
      b.mbarrier.arrive_expect(full[0], As.bytes());
      b.tma.load(A.at(m * 128, 0), As, full[0]);
    });
    b.warp_sync();
  });
  b.warps(0, 4, [&] { b.mbarrier.wait(full[0], 0); });
  b.sync();
  b.warp(0, [&] {
    b.elect_one([&] {
      b.tma.store(As, C.at(m * 128, 0));
      b.tma.commit_group();
      b.tma.wait_group(0);
    });
  });
  b.cluster_sync();
};

// example: Block::pair
auto paired = [](Block &b) {
  b.grid(2);
  b.threads(128);
  Index rank = b.pair(); // 0 issues the MMAs of both blocks
  b.when(rank == 0, [&] { b.print("first block of its pair"); });
};

// example: Block::loop_while
auto polling = [](Block &b, Out<i32, 1> steps) {
  b.grid(1);
  b.threads(32);
  Var<int> i(b, 0);
  b.loop_while([&] { return i < 10; }, [&] { i += 1; });
  b.elect_one([&] { b.store(steps.at(0), i); });
};

// example: Block::within, here
void zero(Block &b, const Tile<f32, 2> &tile, Loc at = here()) {
  b.fill(tile, 0, b.within(at)); // errors name the line that calls zero()
}
