//===- tile.cpp - Examples of the C++ reference ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>
using namespace penstock;

// example: Tensor::size, Tensor::sizes, Tensor::at, Tile::elements, Tile::extent, Tile::bytes,
// Tile::named
auto scaled = [](Block &b, In<f32, 2> X, Out<f32, 2> Y) {
  auto [M, N] = X.sizes(); // as X.size(0) and X.size(1)
  auto [i, j] = b.grid(ceil_div(M, 32), ceil_div(X.size(1), 64));
  auto x = b.local<f32>(32, 64).named("block of X");
  b.copy(X.at(i * x.extent(0), j * 64), x);
  b.set(x, x * (1.0f / float(x.elements())));
  b.copy(x, Y.at(i * 32, j * 64)); // x.bytes() bytes
};

// example: Tensor::load, Tensor::gather
auto rows_of = [](Block &b, In<f32, 2> table, In<i32, 1> ids, Out<f32, 2> Y) {
  Index m = b.grid(ids.size(0));
  auto id = b.local<i32>(1);
  auto row_of_table = b.local<f32>(1, 64);
  b.copy(ids.at(m), id);
  b.set(row_of_table, table.gather(cast<index_t>(broadcast_rows(id)), col(row_of_table)));
  b.copy(row_of_table, Y.at(m, 0));
  b.print("first: {}", {table.load(0, 0)});
};

// example: Tile::Tile, Tile::operator[], slice, transposed, as_matrix
auto views = [](Block &b) {
  auto ring = b.shared<f16>(3, 128, 64);
  Tile<f16, 2> slot = ring[0];
  Tile<f16, 2> top = slice(slot, {0, 0}, {64, 64});
  Tile<f16, 2> columns = transposed(slot); // 64 x 128
  Tile<f16, 2> all = as_matrix(ring);      // 384 x 64
};

// example: Scales::Scales
auto block_scaled = [](Block &b, const Tile<f8e4m3, 2> &As, const Tile<f8e4m3, 2> &Bs,
                       const Tile<f8e8m0, 4> &SA, const Tile<f8e8m0, 4> &SB,
                       const Tile<f32, 2> &acc) {
  b.gemm(As, transposed(Bs), acc, {.scale_a = Scales(SA), .scale_b = Scales(SB)});
};

// example: TensorSlice::dims
auto column = [](Block &b, In<f32, 2> X) {
  auto v = b.local<f32>(64);
  b.copy(X.at(0, 3).dims(0), v); // column 3: along dimension 0
};

// example: broadcast_rows, broadcast_cols, row, col, index, where, cast
auto masked = [](Block &b, In<f32, 1> bias, Out<f16, 2> Y) {
  b.grid(1);
  auto v = b.local<f32>(64);
  auto x = b.local<f32>(64, 64);
  b.copy(bias.at(0), v);
  b.set(x, broadcast_rows(v) + broadcast_cols(v)); // v[i] + v[j]
  b.set(x, where(row(x) >= col(x) && index(x, 1) < 60, x, -infinity));
  auto y = b.local<f16>(64, 64);
  b.set(y, cast<f16>(x));
  b.copy(y, Y.at(0, 0));
};

// example: rows, cols
auto deprecated = [](Block &b, const Tile<f32, 1> &v, const Tile<f32, 2> &x) {
  b.set(x, rows(v) + cols(v)); // broadcast_rows(v) + broadcast_cols(v)
};
