//===- Render.cpp - Diagnostics as text for people ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Render.h"
#include "Diagnostics/SourceText.h"

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

class Renderer {
public:
  explicit Renderer(const RenderOptions &options) : options(options) {}

  void location(const SourceLocation &at) {
    if (!at.known())
      return;
    std::string file = at.file;
    if (options.shortFileNames)
      if (auto slash = file.find_last_of('/'); slash != std::string::npos)
        file.erase(0, slash + 1);
    out += file;
    if (at.line)
      out += ":" + std::to_string(at.line);
    out += ": ";
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
    out += std::string(number.size(), ' ') + " | " + margin + "^";
    out += label.empty() ? "\n" : " " + label + "\n";
  }

  void diagnostic(const Diagnostic &d) {
    location(d.location);
    out += severityName(d.severity);
    if (d.code)
      out += " " + codeName(d.code);
    out += ": " + d.message + "\n";
    quote(d.location, d.label);
    for (const DiagnosticNote &note : d.notes) {
      location(note.location);
      out += "note: " + note.message + "\n";
      quote(note.location, note.label);
    }
    for (const std::string &help : d.helps)
      out += "  help: " + help + "\n";
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
