//===- Suggest.h - "did you mean" -------------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIAGNOSTICS_SUGGEST_H
#define PENSTOCK_DIAGNOSTICS_SUGGEST_H

#include <string>
#include <vector>

namespace penstock {

/// Returns the name among \p known that \p word was probably meant to be, or "".
/// Upper and lower case count as equal.
std::string closestName(const std::string &word, const std::vector<std::string> &known);

/// Returns "did you mean `x`?", or else \p otherwise and all known names.
std::string suggestName(const std::string &word, const std::vector<std::string> &known,
                        const std::string &otherwise);

} // namespace penstock

#endif // PENSTOCK_DIAGNOSTICS_SUGGEST_H
