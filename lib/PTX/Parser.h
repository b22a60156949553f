//===- Parser.h - From PTX text to a module ---------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_PTX_PARSER_H
#define PENSTOCK_PTX_PARSER_H

#include "PTX/Module.h"

namespace penstock::ptx {

struct ParseResult {
  /// Null if any diagnostic is an error.
  std::shared_ptr<const Module> module;
  std::vector<Diagnostic> diagnostics;
};

/// Parses \p text. \p name stands for the file in diagnostics. Whatever the
/// text holds, the call returns: limits on its size, on registers and on
/// nesting are errors, and nothing that is not understood is skipped.
ParseResult parse(std::string text, std::string name);

} // namespace penstock::ptx

#endif // PENSTOCK_PTX_PARSER_H
