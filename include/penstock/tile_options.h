//===- tile_options.h - Options of operations on tiles ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TILE_OPTIONS_H
#define PENSTOCK_TILE_OPTIONS_H

#include "penstock/tile.h"

#include <string>

namespace penstock {

// Options are structs, so that calls read {.num_stages = 3}.
struct TileOptions {
  /// Number of buffers that a pipeline keeps for the tile; 0: computed.
  int versions = 0;
};
struct CopyOptions {
  /// Value of elements outside of the tensor.
  double fill = 0;
  /// Name of the wait that completes the copy; empty: the copy is synchronous.
  std::string async = {};
};
struct GemmOptions {
  bool accumulate = true;
  /// Rounds f32 operands to TF32, as tensor cores do.
  bool tf32 = false;
  /// The elements of an i8 first operand are 0 to 255. Only on CPUs.
  bool unsigned_a = false;
  std::string async = {};
  /// Scales of f8 and of packed floating-point operands: the matmul adds
  /// (a * scale_a) * (b * scale_b).
  Scales scale_a = {}, scale_b = {};
};
struct ReduceOptions {
  /// Combines with the old value of the target.
  bool accumulate = false;
};

} // namespace penstock

#endif // PENSTOCK_TILE_OPTIONS_H
