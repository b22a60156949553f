//===- Block.h - Kernels by what one block occupies, for timing -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TIMING_BLOCK_H
#define PENSTOCK_TIMING_BLOCK_H

#include "Hardware/Chip.h"
#include "Timing/Work.h"

namespace penstock::timing {

/// Run of one block alone on an SM. Blocks are alike, and no two touch the same bytes.
struct BlockRun {
  double cycles = 0; ///< from its first to its last instruction
  /// Of that, cycles that its busiest unit is occupied, and what kind of unit that is: Sfu,
  /// Tensor, or Cuda for issue slots, shared memory and all others.
  double busy = 0;
  Engine busiest = Engine::Cuda;
  double tensor = 0; ///< cycles of the tensor core
  double blocks = 1; ///< of the launch
  double bytes = 0;  ///< of global memory, by all blocks
  double asked = 0;  ///< of the fabric: all that they ask for, whether L2 has it or not
  Resources needs;
};

/// The run as a kernel for predict(): its blocks share the busiest unit of an SM; the rest of a
/// block's cycles are waits that other blocks fill.
Kernel blockKernel(const BlockRun &);

} // namespace penstock::timing

#endif // PENSTOCK_TIMING_BLOCK_H
