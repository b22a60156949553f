//===- Html.h - Findings as a web page --------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATORAPI_HTML_H
#define PENSTOCK_EMULATORAPI_HTML_H

#include "Diagnostics/Render.h"

#include <span>

namespace penstock::emu {

/// Renders findings as one self-contained HTML page. Both locations of a conflict are side by
/// side, each with its lines of the source and of the PTX, and the steps between them are below, if
/// the launch recorded a timeline. \p sourceLine reads the lines; empty:
/// from disk.
std::string toHtml(std::span<const Diagnostic> findings, const SourceLineFn &sourceLine = {});

} // namespace penstock::emu

#endif // PENSTOCK_EMULATORAPI_HTML_H
