//===- ReadFile.h - Reading whole files, with a bound -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIAGNOSTICS_READFILE_H
#define PENSTOCK_DIAGNOSTICS_READFILE_H

#include "Diagnostics/Diagnostic.h"

#include <optional>

namespace penstock {

/// The largest input that tools read.
inline constexpr size_t maxInputBytes = size_t(256) << 20;

/// Reads a regular file or a pipe of at most \p limit bytes into \p text. Returns
/// PS1502 where that fails: directories and devices, which may have no end, are
/// refused.
std::optional<Diagnostic> readFile(const std::string &path, std::string &text,
                                   size_t limit = maxInputBytes);
/// The same for standard input, whatever it is.
std::optional<Diagnostic> readStandardInput(std::string &text, size_t limit = maxInputBytes);

} // namespace penstock

#endif // PENSTOCK_DIAGNOSTICS_READFILE_H
