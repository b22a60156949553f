//===- Matmul.h - Matmul kernels, for timing --------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_TIMING_MATMUL_H
#define PENSTOCK_UNITTESTS_TIMING_MATMUL_H

#include "Hardware/Chip.h"
#include "Timing/Work.h"

namespace penstock::timing {

/// A tiled matmul C[M, N] = A[M, K] B[K, N].
struct Matmul {
  int64_t m = 0, n = 0, k = 0;
  /// Tile of one block; of a pair, tileN are the columns of both.
  int64_t tileM = 128, tileN = 128, tileK = 64;
  int64_t stages = 1;
  int64_t elementBytes = 2;
  int64_t outputBytes = 2;

  /// Overlap of loads and MMAs.
  enum class Form {
    Serial,     ///< load, multiply, wait
    Skewed,     ///< one role, stages - 1 loads ahead, each product awaited
    Trailing,   ///< one role, stages - 2 loads ahead, the previous product awaited
    Specialized ///< a load role and a product role around a ring
  };
  Form form = Form::Specialized;
  /// Specialized, Hopper: number of products by which releases trail.
  int64_t lag = 0;
  /// 2: a pair of blocks shares the columns.
  int64_t pair = 1;
  /// Blocks that receive one load of B.
  int64_t multicast = 1;
  /// Warpgroups that multiply (Hopper).
  int64_t consumers = 1;
  bool threadCopies = false; ///< cp.async instead of TMA
  int64_t rowBytes = 128;    ///< of a box row
  bool persistent = false;
  int64_t accumulators = 1; ///< 2: the epilogue runs beside the next tile
  int64_t group = 1;        ///< of the swizzled order; 0: along n first

  enum class Epilogue { None, Stores, Bulk };
  Epilogue epilogue = Epilogue::Bulk;
  int64_t epilogueColumns = 64; ///< per slice (Blackwell)
  int64_t epilogueWarps = 4;

  int64_t registers = 0; ///< per thread; 0: from the accumulators
  int64_t threads = 384;
  int64_t blocksPerSm = 0; ///< 0: what fits
  int64_t maxBlocks = 32;
  int64_t extraShared = 0;
};

std::string_view describe(Matmul::Form);

/// Index of the load and the product in the loop of \ref matmul.
inline constexpr unsigned loadOp = 0, productOp = 1;

Kernel matmul(const Matmul &, const hw::Chip &);

} // namespace penstock::timing

#endif // PENSTOCK_UNITTESTS_TIMING_MATMUL_H
