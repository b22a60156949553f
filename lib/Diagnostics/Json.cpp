//===- Json.cpp - A writer of JSON ----------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Json.h"

#include <cstdio>

namespace penstock {
namespace {

/// Length of the UTF-8 sequence that starts at text[i], or 0 if it is not one.
size_t utf8Length(const std::string &text, size_t i) {
  auto byte = [&](size_t at) -> unsigned {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
  };
  unsigned lead = byte(i);
  size_t length = lead < 0x80                   ? 1
                  : lead >= 0xC2 && lead < 0xE0 ? 2
                  : lead >= 0xE0 && lead < 0xF0 ? 3
                  : lead >= 0xF0 && lead < 0xF5 ? 4
                                                : 0;
  for (size_t k = 1; k < length; ++k)
    if ((byte(i + k) & 0xC0) != 0x80)
      return 0;
  unsigned second = byte(i + 1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F))
    return 0;
  return length;
}

} // namespace

std::string jsonString(const std::string &text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    size_t length = utf8Length(text, i);
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (length == 0) {
      out += "\\ufffd";
      ++i;
      continue;
    }
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[i];
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20 || c == 0x7F) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", c);
      out += buffer;
    } else {
      out.append(text, i, length);
    }
    i += length;
  }
  return out + "\"";
}

JsonObject &JsonObject::number(const std::string &name, double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return json(name, text);
}

JsonObject &JsonObject::json(const std::string &name, const std::string &value) {
  fields += (fields.empty() ? "" : ",") + jsonString(name) + ":" + value;
  return *this;
}

std::string jsonLines(const std::vector<std::string> &elements) {
  std::string lines;
  for (const std::string &element : elements)
    lines += (lines.empty() ? "\n" : ",\n") + element;
  return "[" + lines + (lines.empty() ? "]" : "\n]");
}

} // namespace penstock
