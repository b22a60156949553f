//===- diagnostics.h - What went wrong, where, and how to cure it -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One data type for everything Penstock has to say to a user: mistakes in a
// kernel, illegal schedules, faults of a launch, findings of the emulator. It
// is plain data, so that a program can act on it.
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

/// A place in a user's source. Line and column start at 1; 0 means unknown.
struct SourcePlace {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;

  bool known() const { return !file.empty(); }
  friend bool operator==(const SourcePlace &, const SourcePlace &) = default;
};

enum class Severity { Note, Warning, Error };

/// A second place that the reader has to see to understand the first.
struct DiagnosticNote {
  SourcePlace place;
  std::string message;
  /// What stands under the caret; empty if the message says it all.
  std::string label;
};

struct Diagnostic {
  Severity severity = Severity::Error;
  /// Stable code, e.g. 1203 for PS1203. docs/diagnostics.md lists them.
  unsigned code = 0;
  SourcePlace place;
  std::string message;
  std::string label;
  std::vector<DiagnosticNote> notes;
  /// The cure, as one or more sentences without a leading "help:".
  std::vector<std::string> helps;
  /// Key and value pairs for tools (buffer, iteration, timing seed, ...).
  std::vector<std::pair<std::string, std::string>> facts;
};

/// "PS1203".
PENSTOCK_EXPORT std::string codeName(unsigned code);

/// As text for people, with the user's own source lines.
PENSTOCK_EXPORT std::string to_text(const std::vector<Diagnostic> &diagnostics);
/// As one JSON object for tools.
PENSTOCK_EXPORT std::string to_json(const std::vector<Diagnostic> &diagnostics);

/// The one exception of this library: what() is the rendered text.
class PENSTOCK_EXPORT Error : public std::exception {
public:
  explicit Error(std::vector<Diagnostic> diagnostics);
  ~Error() override;
  const char *what() const noexcept override { return text.c_str(); }
  const std::vector<Diagnostic> &diagnostics() const { return all; }

private:
  std::vector<Diagnostic> all;
  std::string text;
};

namespace detail {
/// Throws an Error from the library, so that users need no exceptions of their own.
[[noreturn]] PENSTOCK_EXPORT void raise(std::vector<Diagnostic>);
} // namespace detail

} // namespace penstock

#endif // PENSTOCK_DIAGNOSTICS_H
