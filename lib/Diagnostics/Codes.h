//===- Codes.h - The stable codes of all diagnostics ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table behind these functions is Codes.def: one line per code with a
// summary. A code is never reused for another meaning.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIAGNOSTICS_CODES_H
#define PENSTOCK_DIAGNOSTICS_CODES_H

#include <string>
#include <utility>
#include <vector>

namespace penstock {

enum DiagnosticCode : unsigned {
#define PENSTOCK_CODE(NAME, NUMBER, SUMMARY) NAME = NUMBER,
#include "Diagnostics/Codes.def"
};

/// One line that says what a code means, or "unknown code".
std::string codeSummary(unsigned code);

/// All codes in increasing order, for the generated reference page.
std::vector<std::pair<unsigned, std::string>> allCodes();

} // namespace penstock

#endif // PENSTOCK_DIAGNOSTICS_CODES_H
