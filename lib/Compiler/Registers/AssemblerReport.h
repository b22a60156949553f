//===- AssemblerReport.h - Diagnostics from ptxas ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_REGISTERS_ASSEMBLERREPORT_H
#define PENSTOCK_COMPILER_REGISTERS_ASSEMBLERREPORT_H

#include "Compiler/Registers/RegisterModel.h"
#include "penstock/diagnostics.h"

namespace penstock {

/// The report of `ptxas -v` on one kernel.
struct AssemblerReport {
  int registers = 0;
  int spilledBytes = 0;
  /// C7602: registers that a thread has, those that an instruction needs, and its line in the PTX.
  int available = 0, required = 0, line = 0;
  std::string serialized; ///< reason; empty: wgmma instructions are not serialized
  std::string otherLoss;  ///< another warning of a performance loss; empty: none

  static AssemblerReport parse(const std::string &text);
};

/// Returns the error for a rejected kernel. Maps PTX lines to source lines with \p kernel, if
/// given.
Diagnostic rejectionOf(const AssemblerReport &report, const std::string &text,
                       const std::optional<ModeledKernel> &kernel,
                       const hw::Architecture &architecture);

/// Returns warnings for a kernel that ptxas accepts.
std::vector<Diagnostic> warningsOf(const AssemblerReport &report,
                                   const std::optional<ModeledKernel> &kernel,
                                   const hw::Architecture &architecture);

/// Returns warnings of the model alone.
std::vector<Diagnostic> predictionsOf(const ModeledKernel &kernel,
                                      const hw::Architecture &architecture);

} // namespace penstock

#endif // PENSTOCK_COMPILER_REGISTERS_ASSEMBLERREPORT_H
