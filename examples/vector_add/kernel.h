//===- kernel.h - c = a + b -------------------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The smallest kernel that shows all of its parts: arguments, a grid, tiles,
// copies in and out, and arithmetic on whole tiles.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_VECTOR_ADD_KERNEL_H
#define PENSTOCK_EXAMPLES_VECTOR_ADD_KERNEL_H

#include <penstock/tune.h>

namespace examples {
using namespace penstock;

struct VectorAdd {
  // Fields are choices made when the kernel is compiled.
  int block = 1024;

  // Names the arguments and their sizes. The launch checks that all three
  // tensors have the same size N, so the kernel need not.
  static constexpr auto signature = "a[N], b[N] -> c[N]";

  // The program of one block. It runs once, while compiling, to record what it
  // says; the recorded program then runs for every block of the grid.
  void operator()(Block &blk, In<f32, 1> a, In<f32, 1> b, Out<f32, 1> c) const {
    // Sizes are only known at run time. A last, partial block is launched too.
    Index n = a.size(0);
    Index i = blk.grid(ceil_div(n, block));

    auto x = blk.local<f32>(block);
    auto y = blk.local<f32>(block);

    // A copy fetches a tile from a slice of a tensor. What lies outside of the
    // tensor reads as zero, so the last block needs no special treatment.
    blk.copy(a.at(i * block), x);
    blk.copy(b.at(i * block), y);

    // Operators on tiles work element by element.
    blk.set(x, x + y);

    // Writing outside of the tensor does nothing: the copy is clipped.
    blk.copy(x, c.at(i * block));
  }

  static auto space() { return Space<VectorAdd>().over(&VectorAdd::block, {256, 1024, 4096}); }
};

} // namespace examples

#endif // PENSTOCK_EXAMPLES_VECTOR_ADD_KERNEL_H
