//===- SourceText.h - Reading the user's own lines --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIAGNOSTICS_SOURCETEXT_H
#define PENSTOCK_DIAGNOSTICS_SOURCETEXT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

/// Line \p line of \p file, from a small thread-safe cache of whole files. No
/// value where the file cannot be read (a program that was moved away from its
/// sources) or has no such line.
std::optional<std::string> readSourceLine(const std::string &file, uint32_t line);

/// Gives the text of a source that is not a file, e.g. a cell of a notebook. A later text replaces
/// an earlier one of the same name.
void addSourceText(const std::string &name, std::string_view text);

/// The start of the call that a column of a line of C++ belongs to. Compilers give the column of
/// the called name (clang) or of its opening parenthesis (g++); in `x = b.load(t, i)` both become
/// that of `b`. Any other column stays. All start at 0.
size_t startOfCall(std::string_view line, size_t column);

} // namespace penstock

#endif // PENSTOCK_DIAGNOSTICS_SOURCETEXT_H
