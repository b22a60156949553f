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

#include "penstock/inspect.h"

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

/// Assembles a kernel's PTX to machine code. Failures are diagnostics (PS1607, PS1620 to PS1622).
PENSTOCK_EXPORT Assembled assemble(const std::string &ptx, Target target,
                                   AssembleOptions options = {});

/// Result of assembling a kernel, with respect to its registers.
struct RegisterCheck {
  enum class Outcome {
    Fits,
    Spills,     ///< registers are stored in local memory
    Serialized, ///< wgmma instructions wait for each other
    Rejected    ///< there is no machine code
  };
  Outcome outcome = Outcome::Fits;
  /// True if the assembler was run. Otherwise a register model predicts the outcome; it does not
  /// distinguish serialization from spills, and reports both as spills.
  bool measured = false;
  int registers = 0; ///< per thread; 0: not known
  int spilled_bytes = 0;
  int live = 0;      ///< most registers that are live in the PTX
  int available = 0; ///< of a thread
  /// An error if the assembler rejects the kernel, else warnings. The model only warns, with codes
  /// of its own (PS1623, PS1624).
  std::vector<Diagnostic> diagnostics;
};
/// The name of an outcome: "fits", "spills", "serialized" or "rejected".
PENSTOCK_EXPORT const char *name_of(RegisterCheck::Outcome outcome);

/// Runs the assembler, or a model of it where it is not installed, on a kernel's PTX.
PENSTOCK_EXPORT RegisterCheck check_registers(const std::string &ptx, Target target);

/// Returns a change of one field ("block_n=64") with which a registered kernel compiles for a GPU
/// and its registers fit. Empty: none was found.
PENSTOCK_EXPORT std::string change_that_fits(const std::string &kernel,
                                             const InspectOptions &options);

} // namespace penstock

#endif // PENSTOCK_ASSEMBLE_H
