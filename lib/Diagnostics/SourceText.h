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

namespace penstock {

/// Line \p line of \p file, from a small thread-safe cache of whole files. No
/// value where the file cannot be read (a program that was moved away from its
/// sources) or has no such line.
std::optional<std::string> readSourceLine(const std::string &file, uint32_t line);

} // namespace penstock

#endif // PENSTOCK_DIAGNOSTICS_SOURCETEXT_H
