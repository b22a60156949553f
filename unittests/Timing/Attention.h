//===- Attention.h - Attention kernels, for timing --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_TIMING_ATTENTION_H
#define PENSTOCK_UNITTESTS_TIMING_ATTENTION_H

#include "Hardware/Chip.h"
#include "Timing/Work.h"

namespace penstock::timing {

/// Forward attention softmax(Q K^T) V, 16-bit, one tile of rows per block.
struct Attention {
  int64_t batch = 1, heads = 16, sequence = 4096, dim = 128;
  bool causal = false;
  int64_t tileM = 128, tileN = 128;

  enum class Form {
    /// mma.sync by four warps that load by cp.async and do all of it in order; several
    /// blocks per SM overlap.
    InOrder,
    /// A load warp and warpgroups of 64 rows each that take turns: the product S of one
    /// block is issued together with the product O of the block before it.
    PingPong
  };
  Form form = Form::PingPong;
  int64_t stages = 2; ///< of K and of V
};

Kernel attention(const Attention &, const hw::Chip &);

} // namespace penstock::timing

#endif // PENSTOCK_UNITTESTS_TIMING_ATTENTION_H
