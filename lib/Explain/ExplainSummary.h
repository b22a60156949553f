//===- ExplainSummary.h - Summary of a compiled kernel ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXPLAIN_EXPLAINSUMMARY_H
#define PENSTOCK_EXPLAIN_EXPLAINSUMMARY_H

#include "Hardware/Architecture.h"
#include "Scheduling/Schedule/Explain.h"
#include "mlir/IR/BuiltinOps.h"
#include "penstock/inspect.h"

namespace penstock {

/// Summarizes a kernel for a GPU. \p loops: its pipelined loops as scheduled. The text is empty,
/// with diagnostics, if the kernel does not compile for the architecture.
KernelSummary summarizeForGpu(mlir::ModuleOp module, const std::string &kernel,
                              const hw::Architecture &architecture,
                              const std::vector<sched::Explanation> &loops,
                              std::vector<Diagnostic> &diagnostics);

/// Summarizes the native code of a kernel.
KernelSummary summarizeForCpu(mlir::ModuleOp module, const std::string &kernel, Cpu cpu,
                              std::vector<Diagnostic> &diagnostics);

} // namespace penstock

#endif // PENSTOCK_EXPLAIN_EXPLAINSUMMARY_H
