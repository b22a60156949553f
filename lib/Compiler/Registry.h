//===- Registry.h - Kernels that were registered ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_REGISTRY_H
#define PENSTOCK_COMPILER_REGISTRY_H

#include "penstock/registry.h"

namespace penstock {

/// All registered kernels, in order of registration.
std::vector<detail::Registration> registeredKernels();

/// A kernel with fields set from text: {"stages", "3"}. Empty, with the
/// error in \p diagnostics, if a field is unknown or a value does not fit.
std::shared_ptr<void> makeKernel(const detail::Registration &registration,
                                 const std::vector<std::pair<std::string, std::string>> &fields,
                                 std::vector<Diagnostic> &diagnostics);

} // namespace penstock

#endif // PENSTOCK_COMPILER_REGISTRY_H
