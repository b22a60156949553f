//===- Render.h - Diagnostics as text for people ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIAGNOSTICS_RENDER_H
#define PENSTOCK_DIAGNOSTICS_RENDER_H

#include "Diagnostics/Diagnostic.h"

#include <functional>
#include <optional>
#include <span>

namespace penstock {

/// Gives a line of a source file, without its end-of-line. The default reads
/// files from disk; tests and text held in memory pass their own.
using SourceLineFn = std::function<std::optional<std::string>(const std::string &, uint32_t)>;

struct RenderOptions {
  SourceLineFn sourceLine;     ///< empty: read from disk
  bool shortFileNames = false; ///< print only the last component of paths
  bool color = false;          ///< for terminals
  unsigned width = 0;          ///< messages are wrapped at this column; 0: they are not
};

/// Renders in the form
///   file:line: error PS1203: message
///      31 |   the source line
///         |   ^ label
///   file:line: note: message
///     help: the cure
std::string render(const Diagnostic &, const RenderOptions & = {});
std::string render(std::span<const Diagnostic>, const RenderOptions & = {});

} // namespace penstock

#endif // PENSTOCK_DIAGNOSTICS_RENDER_H
