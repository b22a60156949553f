//===- Style.h - Colored and wrapped text -----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIAGNOSTICS_STYLE_H
#define PENSTOCK_DIAGNOSTICS_STYLE_H

#include <string>
#include <string_view>

namespace penstock {

enum class Style { Bold, Error, Warning, Note, Help };

/// Text in a style of terminals, if \p colored.
std::string styled(std::string_view text, Style style, bool colored);

/// Breaks a line between words. The first line starts in \p column, the others are indented.
/// Words longer than a line are kept whole. \p width 0: the text as it is.
std::string wrapped(std::string_view line, unsigned width, unsigned indent, unsigned column = 0);

} // namespace penstock

#endif // PENSTOCK_DIAGNOSTICS_STYLE_H
