//===- KernelWork.h - Work of a GPU kernel, for timing ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From an explicit or warp-specialized kernel and sizes to the work that lib/Timing
// predicts. The steps of each role are those of the barrier check (KernelTrace.h),
// for as many iterations as the steady state needs; each operation gets its bytes,
// rows, products and cycles; the boxes of tensors that blocks read, in their order,
// become strips of operands.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_KERNEL_KERNELWORK_H
#define PENSTOCK_ANALYSIS_KERNEL_KERNELWORK_H

#include "Diagnostics/Diagnostic.h"
#include "Hardware/Chip.h"
#include "Timing/Work.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace penstock {

struct KernelWork {
  timing::Kernel kernel;
  /// Why there is no prediction, and where; empty if there is one.
  std::string unsupported;
  SourceLocation unsupportedAt;
  std::string assumption; ///< what was assumed beyond the constants; empty: nothing
  /// Names of the protocol's roles, for texts.
  std::vector<std::string> roles;
  int64_t stages = 0;       ///< slots of the smallest ring; 0: none
  double loadBytes = 0;     ///< per block and iteration
  SourceLocation loadAt;    ///< of the first load in the loop
  SourceLocation productAt; ///< of the first product
  std::string ring;         ///< names of the ring's tiles
  /// Threads compute in the loop for longer than the tensor core multiplies.
  bool boundByThreads = false;
};

/// \p sizes by their names in the kernel's signature.
KernelWork kernelWork(mlir::func::FuncOp kernel, const std::map<std::string, int64_t> &sizes,
                      const hw::Chip &chip);

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_KERNEL_KERNELWORK_H
