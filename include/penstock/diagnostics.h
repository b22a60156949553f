//===- diagnostics.h - Errors with source locations and fixes ---*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One data type for all messages: errors in a kernel, illegal schedules, launch
// faults, findings of the emulator. It is plain data, so that programs can process it.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIAGNOSTICS_H
#define PENSTOCK_DIAGNOSTICS_H

#include "penstock/export.h"

#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace penstock {

/// Location in a user's source. Line and column start at 1; 0 means unknown.
struct SourceLocation {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;

  /// Returns whether the location names a file.
  bool known() const { return !file.empty(); }
  friend bool operator==(const SourceLocation &, const SourceLocation &) = default;
};

/// Deprecated: SourceLocation.
using SourcePlace = SourceLocation;

enum class Severity { Note, Warning, Error };

/// Secondary location of a diagnostic.
struct DiagnosticNote {
  SourceLocation location;
  std::string message;
  /// Text under the caret; may be empty.
  std::string label;
};

struct Diagnostic {
  Severity severity = Severity::Error;
  /// Stable code, e.g. 1203 for PS1203. docs/reference/diagnostics.md lists them.
  unsigned code = 0;
  SourceLocation location;
  std::string message;
  std::string label;
  std::vector<DiagnosticNote> notes;
  /// Suggested fixes, without a leading "help:".
  std::vector<std::string> helps;
  /// Key and value pairs for tools (buffer, iteration, timing seed, ...).
  std::vector<std::pair<std::string, std::string>> facts;
};

/// Returns the code as text, e.g. "PS1203".
PENSTOCK_EXPORT std::string codeName(unsigned code);

/// Renders diagnostics as text with source lines.
PENSTOCK_EXPORT std::string to_text(const std::vector<Diagnostic> &diagnostics);
/// Renders diagnostics as one JSON object.
PENSTOCK_EXPORT std::string to_json(const std::vector<Diagnostic> &diagnostics);

/// The only exception type of this library. what() is the rendered text.
class PENSTOCK_EXPORT Error : public std::exception {
public:
  /// Wraps diagnostics, so that programs can report their errors in the same way.
  explicit Error(std::vector<Diagnostic> diagnostics);
  ~Error() override;
  /// Returns all diagnostics as text.
  const char *what() const noexcept override { return text.c_str(); }
  /// Returns the diagnostics.
  const std::vector<Diagnostic> &diagnostics() const { return all; }

private:
  std::vector<Diagnostic> all;
  std::string text;
};

namespace detail {
/// Throws an Error. Defined in the library, so that users can compile without exceptions.
[[noreturn]] PENSTOCK_EXPORT void raise(std::vector<Diagnostic>);
} // namespace detail

} // namespace penstock

#endif // PENSTOCK_DIAGNOSTICS_H
