//===- DiagnosticBridge.cpp - From MLIR's diagnostics to ours -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/Locations.h"

using namespace penstock;
using namespace penstock::tile;

/// Takes "PS1102: " off the front of \p text, also behind the "'tile.copy' op "
/// and "custom op .." that upstream puts there.
static unsigned takeCode(std::string &text, unsigned fallback) {
  size_t at = text.find("PS");
  if (at == std::string::npos || at + 8 > text.size() || text.compare(at + 6, 2, ": ") != 0)
    return fallback;
  unsigned code = 0;
  for (size_t i = at + 2; i < at + 6; ++i) {
    if (text[i] < '0' || text[i] > '9')
      return fallback;
    code = code * 10 + static_cast<unsigned>(text[i] - '0');
  }
  text.erase(0, at + 8);
  return code;
}

Diagnostic tile::convert(const mlir::Diagnostic &from, DiagnosticCode fallback) {
  Diagnostic to;
  to.severity = from.getSeverity() == mlir::DiagnosticSeverity::Error     ? Severity::Error
                : from.getSeverity() == mlir::DiagnosticSeverity::Warning ? Severity::Warning
                                                                          : Severity::Note;
  to.message = from.str();
  to.code = takeCode(to.message, fallback);
  to.place = placeOf(from.getLocation());
  for (const mlir::Diagnostic &note : const_cast<mlir::Diagnostic &>(from).getNotes()) {
    std::string text = note.str();
    if (llvm::StringRef(text).starts_with("help: "))
      to.helps.push_back(text.substr(6));
    else if (llvm::StringRef(text).starts_with("label: "))
      (to.notes.empty() ? to.label : to.notes.back().label) = text.substr(7);
    else if (!llvm::StringRef(text).starts_with("see current operation"))
      to.notes.push_back({placeOf(note.getLocation()), text, ""});
  }
  return to;
}

void tile::emit(mlir::Location loc, const Diagnostic &from) {
  mlir::MLIRContext *context = loc.getContext();
  auto locationOf = [&](const SourcePlace &place) -> mlir::Location {
    if (!place.known())
      return mlir::UnknownLoc::get(context);
    return mlir::FileLineColLoc::get(context, place.file, place.line, place.column);
  };
  if (from.place.known())
    loc = locationOf(from.place);
  auto diagnostic =
      from.severity == Severity::Error ? mlir::emitError(loc) : mlir::emitWarning(loc);
  diagnostic << codeName(from.code) << ": " << from.message;
  auto note = [&](const SourcePlace &place, const std::string &text) {
    diagnostic.attachNote(locationOf(place)) << text;
  };
  if (!from.label.empty())
    note(from.place, "label: " + from.label);
  for (const DiagnosticNote &inner : from.notes) {
    note(inner.place, inner.message);
    if (!inner.label.empty())
      note(inner.place, "label: " + inner.label);
  }
  for (const std::string &help : from.helps)
    note(from.place, "help: " + help);
}
