//===- Serialize.cpp - Diagnostics as JSON and SARIF ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Serialize.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"

#include <cstdio>
#include <set>

namespace penstock {
namespace {

std::string locationJson(const SourceLocation &location) {
  JsonObject object;
  object.text("file", location.file).number("line", location.line);
  if (location.column)
    object.number("column", location.column);
  return object.str();
}

const char *severityWord(Severity severity) {
  return severity == Severity::Error ? "error" : severity == Severity::Warning ? "warning" : "note";
}

/// A file name as the URI reference that SARIF asks for.
std::string uriOf(const std::string &file) {
  std::string out;
  for (char c : file) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '/' || c == '-' || c == '_' || c == '.' || c == '~';
    char buffer[8];
    std::snprintf(buffer, sizeof buffer, plain ? "%c" : "%%%02X", static_cast<unsigned char>(c));
    out += buffer;
  }
  return out;
}

std::string textObject(const std::string &text) { return JsonObject().text("text", text).str(); }

std::string sarifLocation(const SourceLocation &location) {
  JsonObject physical;
  physical.json("artifactLocation", JsonObject().text("uri", uriOf(location.file)).str());
  if (location.line) {
    JsonObject region;
    region.number("startLine", location.line);
    if (location.column)
      region.number("startColumn", location.column);
    physical.json("region", region.str());
  }
  return physical.str();
}

std::string sarifResult(const Diagnostic &d) {
  std::string text = d.message;
  for (const std::string &help : d.helps)
    text += "\nhelp: " + help;
  std::vector<SourceLocation> locations;
  if (d.location.known())
    locations.push_back(d.location);
  std::vector<DiagnosticNote> related;
  for (const DiagnosticNote &note : d.notes)
    if (note.location.known())
      related.push_back(note);
  auto location = [](const SourceLocation &at) {
    return JsonObject().json("physicalLocation", sarifLocation(at)).str();
  };
  auto relatedLocation = [](const DiagnosticNote &note) {
    return JsonObject()
        .json("physicalLocation", sarifLocation(note.location))
        .json("message", textObject(note.message))
        .str();
  };
  return JsonObject()
      .text("ruleId", codeName(d.code))
      .text("level", severityWord(d.severity))
      .json("message", textObject(text))
      .json("locations", jsonArray(locations, location))
      .json("relatedLocations", jsonArray(related, relatedLocation))
      .str();
}

} // namespace

std::string toJsonArray(std::span<const Diagnostic> diagnostics) {
  return jsonArray(diagnostics, [](const Diagnostic &d) {
    auto noteJson = [](const DiagnosticNote &note) {
      return JsonObject()
          .text("message", note.message)
          .json("place", locationJson(note.location))
          .text("label", note.label)
          .str();
    };
    JsonObject facts;
    for (const auto &[name, value] : d.facts)
      facts.text(name, value);
    return JsonObject()
        .text("severity", severityWord(d.severity))
        .text("code", codeName(d.code))
        .text("message", d.message)
        .json("place", locationJson(d.location))
        .text("label", d.label)
        .json("notes", jsonArray(d.notes, noteJson))
        .json("help", jsonArray(d.helps, jsonString))
        .json("facts", facts.str())
        .str();
  });
}

std::string toJson(std::span<const Diagnostic> diagnostics) {
  return JsonObject().json("diagnostics", toJsonArray(diagnostics)).str() + "\n";
}

std::string toSarif(std::span<const Diagnostic> diagnostics, const std::string &toolName) {
  std::set<unsigned> codes;
  for (const Diagnostic &d : diagnostics)
    codes.insert(d.code);
  std::string rules = jsonArray(codes, [](unsigned code) {
    return JsonObject()
        .text("id", codeName(code))
        .json("shortDescription", textObject(codeSummary(code)))
        .str();
  });
  std::string driver = JsonObject().text("name", toolName).json("rules", rules).str();
  std::string run = JsonObject()
                        .json("tool", JsonObject().json("driver", driver).str())
                        .json("results", jsonArray(diagnostics, sarifResult))
                        .str();
  return JsonObject()
             .text("$schema", "https://json.schemastore.org/sarif-2.1.0.json")
             .text("version", "2.1.0")
             .json("runs", "[" + run + "]")
             .str() +
         "\n";
}

} // namespace penstock
