//===- ExplainRoles.h - Warp roles of a tile program ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXPLAIN_EXPLAINROLES_H
#define PENSTOCK_EXPLAIN_EXPLAINROLES_H

#include "Diagnostics/Diagnostic.h"
#include "Hardware/Architecture.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace penstock {

/// Runs the passes of \p architecture on a tile program until its roles, threads and
/// barriers are explicit; explicit kernels stay as they are. Returns false, with
/// \p reasons, if it does not compile. Functions of \p module may be replaced.
/// Warps with a job of their own: "warp 0" "issues TMA loads".
struct WarpJob {
  int64_t first; ///< warp
  std::string warps, job;
};
/// Lists the jobs of a lowered kernel's warp scopes in the order of warps.
std::vector<WarpJob> warpJobs(mlir::func::FuncOp kernel);
/// "warp 0", "warps 4 to 11".
std::string warpsText(int64_t first, int64_t count);
/// Returns the number of threads of a block.
int64_t threadsOf(mlir::func::FuncOp kernel);
/// Returns the number of threads that execute what no role does.
int64_t computeThreads(mlir::func::FuncOp kernel);
/// Describes the result of the barrier check; empty if the kernel has no barriers. Findings go to
/// \p diagnostics.
std::string describeProtocol(mlir::func::FuncOp kernel, std::vector<Diagnostic> &diagnostics);

/// Lowers a tile program up to its warp roles, synchronization and memory plan, as the compiler
/// does. An explicit kernel has all of that but the plan, and stays as it is.
bool lowerToRoles(mlir::ModuleOp module, const std::string &kernel,
                  const hw::Architecture &architecture, std::vector<Diagnostic> &reasons);

/// Describes the roles of an explicit or warp-specialized kernel, its rings and
/// barriers, the result of the barrier check and the order of its blocks; or why it is
/// not warp-specialized. Empty for other kernels. Errors with barriers are added to
/// \p diagnostics.
std::string explainRoles(mlir::ModuleOp module, const std::string &kernel,
                         const hw::Architecture &architecture,
                         std::vector<Diagnostic> &diagnostics);

} // namespace penstock

#endif // PENSTOCK_EXPLAIN_EXPLAINROLES_H
