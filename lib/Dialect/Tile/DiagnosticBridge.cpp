//===- DiagnosticBridge.cpp - From MLIR's diagnostics to ours -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each entry of the metadata is an array attribute: what it is, then its values.
//
//   ["penstock.code", 1102, 2]           the code; the message's first argument
//   ["penstock.fact", "buffer", "As"]    key and value
//   ["penstock.help", 1]                 of a note; the sentence's first argument
//   ["penstock.label", 1]                the same
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/Locations.h"
#include "mlir/IR/Builders.h"

using namespace penstock;
using namespace penstock::tile;

namespace {

constexpr llvm::StringLiteral codeKind = "penstock.code", factKind = "penstock.fact",
                              helpKind = "penstock.help", labelKind = "penstock.label";

void addData(mlir::Diagnostic &to, llvm::StringRef kind, llvm::ArrayRef<mlir::Attribute> values) {
  mlir::Builder b(to.getLocation().getContext());
  llvm::SmallVector<mlir::Attribute> entry = {b.getStringAttr(kind)};
  entry.append(values.begin(), values.end());
  to.getMetadata().push_back(mlir::DiagnosticArgument(b.getArrayAttr(entry)));
}

/// Marks what is appended to \p to from here on as its text.
void beginText(mlir::Diagnostic &to, llvm::StringRef kind, std::optional<unsigned> code = {}) {
  mlir::Builder b(to.getLocation().getContext());
  llvm::SmallVector<mlir::Attribute> values;
  if (code)
    values.push_back(b.getI64IntegerAttr(*code));
  values.push_back(b.getI64IntegerAttr(static_cast<int64_t>(to.getArguments().size())));
  addData(to, kind, values);
}

/// The values of all entries of a kind. MLIR has no const access to metadata.
llvm::SmallVector<llvm::ArrayRef<mlir::Attribute>> dataOf(const mlir::Diagnostic &from,
                                                          llvm::StringRef kind) {
  llvm::SmallVector<llvm::ArrayRef<mlir::Attribute>> found;
  for (const mlir::DiagnosticArgument &argument :
       const_cast<mlir::Diagnostic &>(from).getMetadata()) {
    if (argument.getKind() != mlir::DiagnosticArgument::DiagnosticArgumentKind::Attribute)
      continue;
    auto entry = mlir::dyn_cast<mlir::ArrayAttr>(argument.getAsAttribute());
    if (!entry || entry.empty())
      continue;
    auto name = mlir::dyn_cast<mlir::StringAttr>(entry[0]);
    if (name && name.getValue() == kind)
      found.push_back(entry.getValue().drop_front());
  }
  return found;
}

int64_t numberOf(mlir::Attribute value) { return mlir::cast<mlir::IntegerAttr>(value).getInt(); }
std::string stringOf(mlir::Attribute value) { return mlir::cast<mlir::StringAttr>(value).str(); }

/// Returns the text appended from argument \p start on.
std::string textFrom(const mlir::Diagnostic &from, int64_t start) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const mlir::DiagnosticArgument &argument :
       from.getArguments().drop_front(static_cast<size_t>(start)))
    argument.print(os);
  return text;
}

mlir::Diagnostic &attach(mlir::InFlightDiagnostic &to, mlir::Location loc, llvm::StringRef kind,
                         const char *visible) {
  mlir::Diagnostic &note = to.attachNote(loc);
  note << visible;
  beginText(note, kind);
  return note;
}

} // namespace

mlir::InFlightDiagnostic tile::withCode(mlir::InFlightDiagnostic diagnostic, DiagnosticCode code) {
  if (mlir::Diagnostic *active = diagnostic.getUnderlyingDiagnostic()) {
    *active << codeName(code) << ": ";
    beginText(*active, codeKind, code);
  }
  return diagnostic;
}

mlir::InFlightDiagnostic tile::emitCoded(mlir::Location loc, DiagnosticCode code) {
  return withCode(mlir::emitError(loc), code);
}

mlir::InFlightDiagnostic tile::emitCoded(mlir::Operation *op, DiagnosticCode code) {
  return emitCoded(op->getLoc(), code);
}

mlir::InFlightDiagnostic tile::warnCoded(mlir::Location loc, DiagnosticCode code) {
  return withCode(mlir::emitWarning(loc), code);
}

mlir::Diagnostic &tile::attachHelp(mlir::InFlightDiagnostic &diagnostic) {
  return attach(diagnostic, diagnostic.getUnderlyingDiagnostic()->getLocation(), helpKind,
                "help: ");
}

Diagnostic tile::convert(const mlir::Diagnostic &from, DiagnosticCode fallback) {
  Diagnostic to;
  to.severity = from.getSeverity() == mlir::DiagnosticSeverity::Error     ? Severity::Error
                : from.getSeverity() == mlir::DiagnosticSeverity::Warning ? Severity::Warning
                                                                          : Severity::Note;
  to.location = sourceLocationOf(from.getLocation());
  auto coded = dataOf(from, codeKind);
  to.code = coded.empty() ? fallback : static_cast<unsigned>(numberOf(coded[0][0]));
  to.message = textFrom(from, coded.empty() ? 0 : numberOf(coded[0][1]));
  for (llvm::ArrayRef<mlir::Attribute> fact : dataOf(from, factKind))
    to.facts.emplace_back(stringOf(fact[0]), stringOf(fact[1]));
  for (const mlir::Diagnostic &note : const_cast<mlir::Diagnostic &>(from).getNotes()) {
    if (auto help = dataOf(note, helpKind); !help.empty())
      to.helps.push_back(textFrom(note, numberOf(help[0][0])));
    else if (auto label = dataOf(note, labelKind); !label.empty())
      (to.notes.empty() ? to.label : to.notes.back().label) = textFrom(note, numberOf(label[0][0]));
    else
      to.notes.push_back({sourceLocationOf(note.getLocation()), note.str(), ""});
  }
  return to;
}

void tile::emit(mlir::Location loc, const Diagnostic &from) {
  mlir::MLIRContext *context = loc.getContext();
  auto locationOf = [&](const SourceLocation &location) -> mlir::Location {
    if (!location.known())
      return mlir::UnknownLoc::get(context);
    return mlir::FileLineColLoc::get(context, location.file, location.line, location.column);
  };
  if (from.location.known())
    loc = locationOf(from.location);
  auto code = static_cast<DiagnosticCode>(from.code);
  auto diagnostic = from.severity == Severity::Error ? emitCoded(loc, code) : warnCoded(loc, code);
  diagnostic << from.message;
  mlir::Builder b(context);
  for (const auto &[key, value] : from.facts)
    addData(*diagnostic.getUnderlyingDiagnostic(), factKind,
            {b.getStringAttr(key), b.getStringAttr(value)});
  auto label = [&](const SourceLocation &location, const std::string &text) {
    if (!text.empty())
      attach(diagnostic, locationOf(location), labelKind, "label: ") << text;
  };
  label(from.location, from.label);
  for (const DiagnosticNote &note : from.notes) {
    diagnostic.attachNote(locationOf(note.location)) << note.message;
    label(note.location, note.label);
  }
  for (const std::string &help : from.helps)
    attachHelp(diagnostic) << help;
}
