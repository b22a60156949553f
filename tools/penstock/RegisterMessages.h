//===- RegisterMessages.h - Registers of compiled kernels -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_REGISTERMESSAGES_H
#define PENSTOCK_TOOLS_REGISTERMESSAGES_H

#include "penstock/assemble.h"
#include "penstock/inspect.h"

/// Returns what check_registers reports on a kernel that was compiled for \p gpu ("sm_90a"), with
/// the kernel's name. If \p suggest, messages on registers name a field of the kernel with which
/// they fit.
penstock::RegisterCheck checkRegisters(const penstock::AnyKernel &compiled,
                                       const std::string &kernel, const std::string &gpu,
                                       const penstock::InspectOptions &options, bool suggest);

/// Adds a field that helps to errors on registers of a kernel that does not compile.
void suggestFields(std::vector<penstock::Diagnostic> &diagnostics, const std::string &kernel,
                   const std::string &gpu, const penstock::InspectOptions &options);

/// Returns the outcome of a check and its numbers as a JSON object.
std::string registersJson(const penstock::RegisterCheck &check);

#endif // PENSTOCK_TOOLS_REGISTERMESSAGES_H
