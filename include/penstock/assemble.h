//===- assemble.h - From PTX to machine code --------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An extra header. CUDA's assembler, ptxas, is run as a process where it is
// installed: $PENSTOCK_PTXAS, the search path, or /usr/local/cuda/bin.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ASSEMBLE_H
#define PENSTOCK_ASSEMBLE_H

#include "penstock/compile.h"

namespace penstock {

struct AssembleOptions {
  /// Registers that do not fit, and products that the assembler serialises
  /// (warnings C7500 to C7599), are errors unless this is set.
  bool allow_slow_code = false;
};

struct Assembled {
  std::string cubin; ///< empty if there are errors
  int registers = 0; ///< of each thread
  int spilled_bytes = 0;
  std::vector<Diagnostic> diagnostics;
};

/// Where the assembler is; empty if there is none.
PENSTOCK_EXPORT std::string find_assembler();

/// Machine code for a kernel's PTX, or why there is none (PS1607).
PENSTOCK_EXPORT Assembled assemble(const std::string &ptx, Target target,
                                   AssembleOptions options = {});

} // namespace penstock

#endif // PENSTOCK_ASSEMBLE_H
