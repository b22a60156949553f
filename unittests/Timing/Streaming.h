//===- Streaming.h - Memory-bound kernels, for timing -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_TIMING_STREAMING_H
#define PENSTOCK_UNITTESTS_TIMING_STREAMING_H

#include "Hardware/Chip.h"
#include "Timing/Work.h"

namespace penstock::timing {

/// Blocks that read a tensor once, through a ring of loads.
struct Streaming {
  double totalBytes = 0;
  int64_t rows = 1;        ///< of one load
  int64_t rowBytes = 128;  ///< of one row; longer ones are several box rows
  int64_t stages = 1;      ///< loads in flight per block
  int64_t blocksPerSm = 1; ///< resident from the beginning to the end
  double storedBytes = 0;  ///< written back
  /// Cycles of threads per load: arithmetic on what has arrived.
  double computeCycles = 0;
};

Kernel streaming(const Streaming &, const hw::Chip &);

} // namespace penstock::timing

#endif // PENSTOCK_UNITTESTS_TIMING_STREAMING_H
