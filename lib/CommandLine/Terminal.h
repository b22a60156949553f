//===- Terminal.h - Color and width of output -------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMMANDLINE_TERMINAL_H
#define PENSTOCK_COMMANDLINE_TERMINAL_H

#include "Diagnostics/Render.h"

#include <string>

namespace penstock::cli {

/// The value of `--color`: "auto", "always" or "never".
std::string &colorChoice();

/// Returns whether output to \p descriptor (1 or 2) is colored: as `--color` says, or on a terminal
/// without NO_COLOR.
bool isColored(int descriptor);

/// Returns the columns that lines to \p descriptor are wrapped at: COLUMNS, or the width of the
/// terminal; 0: they are not wrapped.
unsigned widthOf(int descriptor);

/// Renders diagnostics for standard error.
std::string renderForTerminal(std::span<const Diagnostic> diagnostics);

} // namespace penstock::cli

#endif // PENSTOCK_COMMANDLINE_TERMINAL_H
