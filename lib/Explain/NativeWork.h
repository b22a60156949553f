//===- NativeWork.h - Work of native code, for timing -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a tile program and sizes to the steps that lib/Timing predicts. Loops over elements
// are those of tile-fuse-elements, products those that tile-lower-gemm reports. Scalars of
// the program decide trip counts, branches and which slices of tensors a block touches; no
// element is computed.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXPLAIN_NATIVEWORK_H
#define PENSTOCK_EXPLAIN_NATIVEWORK_H

#include "Diagnostics/Diagnostic.h"
#include "Target/X86/NativeCpu.h"
#include "Timing/Native.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace penstock {

struct NativeWork {
  timing::NativeKernel kernel;
  /// Why there is no prediction, and where; empty if there is one.
  std::string unsupported;
  SourceLocation unsupportedAt;
};

/// The work of kernel \p name for instructions of \p isa on \p threads threads. No value, with
/// diagnostics, if the program is invalid.
std::optional<NativeWork> nativeWork(mlir::ModuleOp module, const std::string &name,
                                     const std::map<std::string, int64_t> &sizes,
                                     const NativeCpu &isa, int64_t threads,
                                     std::vector<Diagnostic> &diagnostics);

} // namespace penstock

#endif // PENSTOCK_EXPLAIN_NATIVEWORK_H
