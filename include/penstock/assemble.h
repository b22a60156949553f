//===- assemble.h - From PTX to machine code --------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An extra header. Runs CUDA's assembler, ptxas, as a process. It is looked up in
// $PENSTOCK_PTXAS, $CUDA_HOME/bin, $CUDA_PATH/bin, the search path, and
// /usr/local/cuda/bin.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ASSEMBLE_H
#define PENSTOCK_ASSEMBLE_H

#include "penstock/compile.h"

namespace penstock {

struct AssembleOptions {
  /// Accepts register spills and MMAs that the assembler serializes (warnings C7500 to C7599):
  /// they are warnings, not errors.
  bool allow_slow_code = false;
};

struct Assembled {
  std::string cubin; ///< empty if there are errors
  int registers = 0; ///< per thread
  int spilled_bytes = 0;
  std::vector<Diagnostic> diagnostics;
};

/// Path of the assembler; empty if it is not installed.
PENSTOCK_EXPORT std::string find_assembler();

/// Assembles a kernel's PTX to machine code. Failures are diagnostics (PS1607).
PENSTOCK_EXPORT Assembled assemble(const std::string &ptx, Target target,
                                   AssembleOptions options = {});

} // namespace penstock

#endif // PENSTOCK_ASSEMBLE_H
