//===- Style.cpp - Colored and wrapped text -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Style.h"

#include <algorithm>

namespace penstock {

std::string styled(std::string_view text, Style style, bool colored) {
  if (!colored)
    return std::string(text);
  const char *code = "1";
  switch (style) {
  case Style::Bold:
    break;
  case Style::Error:
    code = "1;31";
    break;
  case Style::Warning:
    code = "1;35";
    break;
  case Style::Note:
    code = "1;36";
    break;
  case Style::Help:
    code = "1;32";
    break;
  }
  return "\033[" + std::string(code) + "m" + std::string(text) + "\033[0m";
}

std::string wrapped(std::string_view line, unsigned width, unsigned indent, unsigned column) {
  if (width == 0)
    return std::string(line);
  std::string text;
  size_t at = column;
  bool first = true; // of its line
  while (!line.empty()) {
    size_t begin = std::min(line.find_first_not_of(' '), line.size());
    size_t end = std::min(line.find(' ', begin), line.size());
    std::string_view word = line.substr(begin, end - begin), gap = line.substr(0, begin);
    if (!first && at + gap.size() + word.size() > width) {
      text += "\n" + std::string(indent, ' ');
      at = indent;
      gap = {};
    }
    text += gap;
    text += word;
    at += gap.size() + word.size();
    first = false;
    line.remove_prefix(end);
  }
  return text;
}

} // namespace penstock
