//===- Serialize.cpp - Diagnostics as JSON and SARIF ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Serialize.h"
#include "Diagnostics/Codes.h"

#include <cstdio>
#include <set>

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

std::string placeJson(const SourcePlace &place) {
  std::string out =
      "{\"file\":" + jsonString(place.file) + ",\"line\":" + std::to_string(place.line);
  if (place.column)
    out += ",\"column\":" + std::to_string(place.column);
  return out + "}";
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

std::string sarifLocation(const SourcePlace &place, const std::string *text) {
  std::string out =
      "{\"physicalLocation\":{\"artifactLocation\":{\"uri\":" + jsonString(uriOf(place.file)) + "}";
  if (place.line) {
    out += ",\"region\":{\"startLine\":" + std::to_string(place.line);
    if (place.column)
      out += ",\"startColumn\":" + std::to_string(place.column);
    out += "}";
  }
  out += "}";
  if (text)
    out += ",\"message\":{\"text\":" + jsonString(*text) + "}";
  return out + "}";
}

template <typename Range, typename Fn> std::string joined(const Range &range, Fn fn) {
  std::string out;
  for (const auto &element : range) {
    if (!out.empty())
      out += ",";
    out += fn(element);
  }
  return out;
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

std::string toJsonArray(std::span<const Diagnostic> diagnostics) {
  return "[" +
         joined(diagnostics,
                [](const Diagnostic &d) {
                  std::string out = "{\"severity\":\"";
                  out += severityWord(d.severity);
                  out += "\",\"code\":" + jsonString(codeName(d.code)) +
                         ",\"message\":" + jsonString(d.message) +
                         ",\"place\":" + placeJson(d.place) + ",\"label\":" + jsonString(d.label) +
                         ",\"notes\":[";
                  out += joined(d.notes, [](const DiagnosticNote &note) {
                    return "{\"message\":" + jsonString(note.message) +
                           ",\"place\":" + placeJson(note.place) +
                           ",\"label\":" + jsonString(note.label) + "}";
                  });
                  out += "],\"help\":[" + joined(d.helps, jsonString) + "],\"facts\":{";
                  out += joined(d.facts, [](const auto &fact) {
                    return jsonString(fact.first) + ":" + jsonString(fact.second);
                  });
                  return out + "}}";
                }) +
         "]";
}

std::string toJson(std::span<const Diagnostic> diagnostics) {
  return "{\"diagnostics\":" + toJsonArray(diagnostics) + "}\n";
}

std::string toSarif(std::span<const Diagnostic> diagnostics, const std::string &toolName) {
  std::set<unsigned> codes;
  for (const Diagnostic &d : diagnostics)
    codes.insert(d.code);
  std::string rules = joined(codes, [](unsigned code) {
    return "{\"id\":" + jsonString(codeName(code)) +
           ",\"shortDescription\":{\"text\":" + jsonString(codeSummary(code)) + "}}";
  });
  std::string results = joined(diagnostics, [](const Diagnostic &d) {
    std::string text = d.message;
    for (const std::string &help : d.helps)
      text += "\nhelp: " + help;
    std::string out = "{\"ruleId\":" + jsonString(codeName(d.code)) + ",\"level\":\"" +
                      severityWord(d.severity) + "\",\"message\":{\"text\":" + jsonString(text) +
                      "},\"locations\":[";
    if (d.place.known())
      out += sarifLocation(d.place, nullptr);
    out += "],\"relatedLocations\":[";
    std::vector<DiagnosticNote> placed;
    for (const DiagnosticNote &note : d.notes)
      if (note.place.known())
        placed.push_back(note);
    out += joined(placed, [](const DiagnosticNote &note) {
      return sarifLocation(note.place, &note.message);
    });
    return out + "]}";
  });
  return "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\","
         "\"version\":\"2.1.0\",\"runs\":[{\"tool\":{\"driver\":{\"name\":" +
         jsonString(toolName) + ",\"rules\":[" + rules + "]}},\"results\":[" + results + "]}]}\n";
}

} // namespace penstock
