//===- ExplainRoles.h - What a tile program becomes on a GPU ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_EXPLAINROLES_H
#define PENSTOCK_COMPILER_EXPLAINROLES_H

#include "Diagnostics/Diagnostic.h"
#include "Hardware/Architecture.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace penstock {

/// Runs the passes of \p architecture on a tile program until its roles, threads and
/// barriers are explicit; explicit kernels stay as they are. Returns false, with
/// \p reasons, if it does not compile. Functions of \p module may be replaced.
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

#endif // PENSTOCK_COMPILER_EXPLAINROLES_H
