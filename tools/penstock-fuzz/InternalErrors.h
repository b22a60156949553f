//===- InternalErrors.h - Errors that no input may cause --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_INTERNALERRORS_H
#define PENSTOCK_FUZZ_INTERNALERRORS_H

#include "penstock/diagnostics.h"

#include <algorithm>
#include <vector>

namespace penstock::fuzz {

/// Returns whether the compiler reports an internal error (PS0100): a bug, whatever the input is.
inline bool hasInternalError(const std::vector<Diagnostic> &diagnostics) {
  return std::ranges::any_of(diagnostics, [](const Diagnostic &d) { return d.code == 100; });
}

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_INTERNALERRORS_H
