//===- Render.cpp - Diagnostics as text for people ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Render.h"
#include "Diagnostics/SourceText.h"
#include "Diagnostics/Style.h"

#include <algorithm>

namespace penstock {
namespace {

const char *severityName(Severity severity) {
  switch (severity) {
  case Severity::Note:
    return "note";
  case Severity::Warning:
    return "warning";
  case Severity::Error:
    return "error";
  }
  return "error";
}

Style styleOf(Severity severity) {
  switch (severity) {
  case Severity::Note:
    return Style::Note;
  case Severity::Warning:
    return Style::Warning;
  case Severity::Error:
    break;
  }
  return Style::Error;
}

/// Columns before the continuation of a message.
constexpr unsigned indent = 8;

class Renderer {
public:
  explicit Renderer(const RenderOptions &options) : options(options) {}

  /// "file:line: ".
  std::string location(const SourceLocation &at) const {
    if (!at.known())
      return "";
    std::string file = at.file;
    if (options.shortFileNames)
      if (auto slash = file.find_last_of('/'); slash != std::string::npos)
        file.erase(0, slash + 1);
    if (at.line)
      file += ":" + std::to_string(at.line);
    return file + ": ";
  }

  /// A message after its location and severity, in their styles.
  void message(const std::string &at, const std::string &severity, Style style,
               const std::string &text) {
    out += styled(at, Style::Bold, options.color) + styled(severity, style, options.color) +
           wrapped(text, options.width, indent, unsigned(at.size() + severity.size())) + "\n";
  }

  /// The source line with a caret: at the start of the call or word that the
  /// column belongs to, or at the first character that is not white space if no
  /// column is known.
  void quote(const SourceLocation &at, const std::string &label) {
    auto text = at.line ? (options.sourceLine ? options.sourceLine(at.file, at.line)
                                              : readSourceLine(at.file, at.line))
                        : std::nullopt;
    if (!text) {
      if (!label.empty())
        out += "      " + label + "\n";
      return;
    }
    std::string number = std::to_string(at.line);
    if (number.size() < 5)
      number.insert(0, 5 - number.size(), ' ');
    out += number + " | " + *text + "\n";
    size_t caret = at.column ? startOfCall(*text, at.column - 1) : text->find_first_not_of(" \t");
    caret = std::min(caret == std::string::npos ? 0 : caret, text->size());
    std::string margin = text->substr(0, caret);
    std::replace_if(margin.begin(), margin.end(), [](char c) { return c != '\t'; }, ' ');
    out += std::string(number.size(), ' ') + " | " + margin +
           styled(label.empty() ? "^" : "^ " + label, Style::Help, options.color) + "\n";
  }

  void diagnostic(const Diagnostic &d) {
    std::string severity = severityName(d.severity);
    if (d.code)
      severity += " " + codeName(d.code);
    message(location(d.location), severity + ": ", styleOf(d.severity), d.message);
    quote(d.location, d.label);
    for (const DiagnosticNote &note : d.notes) {
      message(location(note.location), "note: ", Style::Note, note.message);
      quote(note.location, note.label);
    }
    for (const std::string &help : d.helps)
      message("", "  help: ", Style::Help, help);
  }

  std::string out;

private:
  const RenderOptions &options;
};

} // namespace

std::string codeName(unsigned code) {
  std::string digits = std::to_string(code);
  if (digits.size() < 4)
    digits.insert(0, 4 - digits.size(), '0');
  return "PS" + digits;
}

std::string render(const Diagnostic &diagnostic, const RenderOptions &options) {
  Renderer renderer(options);
  renderer.diagnostic(diagnostic);
  return std::move(renderer.out);
}

std::string render(std::span<const Diagnostic> diagnostics, const RenderOptions &options) {
  std::string all;
  for (const Diagnostic &diagnostic : diagnostics)
    all += render(diagnostic, options);
  return all;
}

} // namespace penstock
