//===- ExplainRoles.h - What a tile program becomes on a GPU ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_EXPLAINROLES_H
#define PENSTOCK_COMPILER_EXPLAINROLES_H

#include "Diagnostics/Diagnostic.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace penstock {

/// The roles of an explicit kernel, or those that a pipelined loop is divided into
/// on "sm_90a" or "sm_100a"; its rings and barriers, what following them shows, and
/// the order of its blocks; or why it is not divided. Empty for other kernels.
/// Mistakes with barriers are added to \p diagnostics.
std::string explainRoles(mlir::ModuleOp module, const std::string &kernel,
                         const std::string &architecture, std::vector<Diagnostic> &diagnostics);

} // namespace penstock

#endif // PENSTOCK_COMPILER_EXPLAINROLES_H
