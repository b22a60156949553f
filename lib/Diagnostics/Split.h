//===- Split.h - Fields of a text -------------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIAGNOSTICS_SPLIT_H
#define PENSTOCK_DIAGNOSTICS_SPLIT_H

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// Returns the parts of \p text between separators, also empty ones: one more than separators.
inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

} // namespace penstock

#endif // PENSTOCK_DIAGNOSTICS_SPLIT_H
