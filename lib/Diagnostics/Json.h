//===- Json.h - A writer of JSON --------------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIAGNOSTICS_JSON_H
#define PENSTOCK_DIAGNOSTICS_JSON_H

#include <concepts>
#include <string>
#include <vector>

namespace penstock {

/// Quotes and escapes \p text as a JSON string. Bytes that are not UTF-8 become
/// U+FFFD, so that the result is valid whatever a user's source holds.
std::string jsonString(const std::string &text);

/// A JSON object. Fields keep the order in which they are added.
class JsonObject {
public:
  JsonObject &text(const std::string &name, const std::string &value) {
    return json(name, jsonString(value));
  }
  template <std::integral T> JsonObject &number(const std::string &name, T value) {
    return json(name, std::to_string(value));
  }
  /// Prints 15 significant digits.
  JsonObject &number(const std::string &name, double value);
  JsonObject &boolean(const std::string &name, bool value) {
    return json(name, value ? "true" : "false");
  }
  /// Adds a value that is JSON already.
  JsonObject &json(const std::string &name, const std::string &value);

  std::string str() const { return "{" + fields + "}"; }

private:
  std::string fields;
};

/// A JSON array of \p toJson of each element.
template <class Range, class Fn> std::string jsonArray(const Range &range, Fn toJson) {
  std::string elements;
  for (const auto &element : range)
    elements += (elements.empty() ? "" : ",") + toJson(element);
  return "[" + elements + "]";
}

/// A JSON array of \p elements, which are JSON already, with one line for each:
/// for files that are compared line by line.
std::string jsonLines(const std::vector<std::string> &elements);

} // namespace penstock

#endif // PENSTOCK_DIAGNOSTICS_JSON_H
