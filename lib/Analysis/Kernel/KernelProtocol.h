//===- KernelProtocol.h - From explicit kernels to protocols ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which barrier a role waits on, and for which phase, follows from scalars that
// the kernel computes: slots, phases, trip counts. They depend on sizes of
// tensors and on nothing else, so for given sizes they can be computed now, and
// what every role does with barriers and tiles is a list.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_KERNEL_KERNELPROTOCOL_H
#define PENSTOCK_ANALYSIS_KERNEL_KERNELPROTOCOL_H

#include "Scheduling/Protocol/Protocol.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock {

struct ProtocolReport {
  /// First operation that cannot be simulated, with the reason in `why`; null if there is none.
  mlir::Operation *unsupportedAt = nullptr;
  std::string why;
  /// Largest number of iterations that was checked, from 0 on.
  int64_t iterations = 0;
  int64_t rounds = 0;     ///< of loops around them
  bool allAllowed = true; ///< none of them is excluded by a `require`
  /// Its rings, and whether the event graph answers for every number.
  std::optional<sched::RoleSystem> roles;
  bool everyNumber = false;
  std::vector<Diagnostic> findings;
};

/// Follows an explicit kernel with barriers; no value if it has none.
std::optional<ProtocolReport> checkProtocol(mlir::func::FuncOp kernel);

/// The warning for a kernel that cannot be simulated to its end.
Diagnostic unsupportedWarning(const ProtocolReport &report);

/// Describes the result for a kernel without findings, as a sentence.
std::string describe(const ProtocolReport &report);

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_KERNEL_KERNELPROTOCOL_H
