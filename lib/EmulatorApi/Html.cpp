//===- Html.cpp - Findings as a web page ----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "EmulatorApi/Html.h"
#include "Diagnostics/SourceText.h"
#include "Diagnostics/Split.h"
#include "Emulator/Tier.h"

#include <algorithm>
#include <array>

namespace penstock::emu {
namespace {

/// Lines shown before and after the line of a finding.
constexpr uint32_t context = 3;

const char *const style = R"(
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; color: #1b1f24; }
h1 { font-size: 1.5em } h2 { font-size: 1.1em; margin: 0 0 .4em }
table { border-collapse: collapse } td, th { border: 1px solid #d0d7de; padding: .25em .7em; text-align: left }
.finding { border: 1px solid #d0d7de; border-left: .5em solid #888; border-radius: 4px; padding: .8em 1em; margin: 1em 0 }
.wrong { border-left-color: #c9302c } .undefined { border-left-color: #d98e04 } .note { border-left-color: #4a7ab5 }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(26em, 1fr)); gap: 1em }
pre { background: #f6f8fa; overflow-x: auto; padding: .5em; margin: .3em 0; font-size: 13px }
pre b { background: #ffe8a3; font-weight: normal; display: inline-block; min-width: 100% }
.tier { text-transform: uppercase; font-size: .75em; letter-spacing: .05em; color: #57606a }
.timeline td { border-width: 0 1px; padding: .1em .7em; font-size: 13px } .timeline .access { background: #ffe8a3 }
.timeline .completes { color: #57606a } .timeline span { color: #57606a; font-size: .87em }
.facts { color: #57606a; font-size: .87em }
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text)
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  return out;
}

class Page {
public:
  explicit Page(const SourceLineFn &sourceLine) : sourceLine(sourceLine) {}

  void begin(std::span<const Diagnostic> findings) {
    out += "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n"
           "<title>penstock-emu report</title>\n<style>" +
           std::string(style) + "</style></head>\n<body>\n<h1>penstock-emu report</h1>\n";
    if (findings.empty()) {
      out += "<p>No findings.</p>\n";
      return;
    }
    out += "<table><tr><th>tier</th><th>findings</th></tr>\n";
    for (Tier tier : {Tier::Wrong, Tier::Undefined, Tier::Note})
      out += "<tr><td>" + std::string(tierText(tier)) + "</td><td>" +
             std::to_string(std::count_if(findings.begin(), findings.end(),
                                          [&](const Diagnostic &d) { return tierOf(d) == tier; })) +
             "</td></tr>\n";
    out += "</table>\n";
  }

  void finding(const Diagnostic &d) {
    Tier tier = tierOf(d);
    out += "<section class=\"finding " + std::string(tierName(tier)) + "\">\n<div class=\"tier\">" +
           tierText(tier) + "</div>\n<h2>" + escaped(codeName(d.code)) + ": " + escaped(d.message) +
           "</h2>\n<div class=\"sides\">\n";
    side(d.location, "", d.label);
    for (const DiagnosticNote &note : d.notes)
      side(note.location, note.message, note.label);
    out += "</div>\n";
    for (const std::string &help : d.helps)
      out += "<p><strong>help:</strong> " + escaped(help) + "</p>\n";
    for (const auto &[key, value] : d.facts)
      if (key == "timeline")
        timeline(value);
    out += "<p class=\"facts\">";
    for (const auto &[key, value] : d.facts)
      if (key != "tier" && key != "timeline")
        out += escaped(key) + ": " + escaped(value) + "<br>";
    out += "</p>\n</section>\n";
  }

  std::string end() && {
    out += "</body>\n</html>\n";
    return std::move(out);
  }

private:
  /// Steps between the two accesses, one column for each warp and one for engines. The lines of the
  /// fact have a mark, a name, an instruction, a line of the PTX and one of the source.
  void timeline(const std::string &steps) {
    std::vector<std::array<std::string, 5>> rows;
    std::vector<std::string> columns;
    for (const std::string &row : split(steps, '\n')) {
      std::vector<std::string> cells = split(row, '\t');
      cells.resize(5);
      rows.push_back({cells[0], cells[1], cells[2], cells[3], cells[4]});
      if (!cells[1].empty() && std::find(columns.begin(), columns.end(), cells[1]) == columns.end())
        columns.push_back(cells[1]);
    }
    out += "<details open><summary>from the first access to the second</summary>\n"
           "<table class=\"timeline\"><tr>";
    for (const std::string &name : columns)
      out += "<th>" + escaped(name) + "</th>";
    out += "</tr>\n";
    for (const auto &[mark, who, what, ptxLine, source] : rows) {
      out += "<tr>";
      if (who.empty())
        out += "<td colspan=\"" + std::to_string(columns.size()) + "\">" + escaped(what) +
               " left out</td>";
      else
        for (const std::string &name : columns)
          out += name != who
                     ? "<td></td>"
                     : "<td class=\"" + mark + "\"><code>" + escaped(what) + "</code>" +
                           (mark == "completes" ? " completes" : "") + " <span>line " + ptxLine +
                           (source.empty() ? "" : ", " + escaped(source)) + "</span></td>";
      out += "</tr>\n";
    }
    out += "</table></details>\n";
  }

  std::optional<std::string> line(const std::string &file, uint32_t number) const {
    return sourceLine ? sourceLine(file, number) : readSourceLine(file, number);
  }

  void side(const SourceLocation &at, const std::string &message, const std::string &label) {
    out += "<div>\n";
    if (!message.empty())
      out += "<div>" + escaped(message) + "</div>\n";
    out += "<code>" + escaped(at.file) + (at.line ? ":" + std::to_string(at.line) : "") +
           "</code>" + (label.empty() ? "" : " " + escaped(label)) + "\n";
    if (at.line && line(at.file, at.line)) {
      out += "<pre>";
      for (uint32_t n = at.line > context ? at.line - context : 1; n <= at.line + context; ++n)
        if (auto text = line(at.file, n)) {
          std::string number = std::to_string(n);
          number.insert(0, number.size() < 6 ? 6 - number.size() : 0, ' ');
          std::string row = number + "  " + escaped(*text);
          out += n == at.line ? "<b>" + row + "</b>\n" : row + "\n";
        }
      out += "</pre>\n";
    }
    out += "</div>\n";
  }

  const SourceLineFn &sourceLine;
  std::string out;
};

} // namespace

std::string toHtml(std::span<const Diagnostic> findings, const SourceLineFn &sourceLine) {
  Page page(sourceLine);
  page.begin(findings);
  for (Tier tier : {Tier::Wrong, Tier::Undefined, Tier::Note})
    for (const Diagnostic &d : findings)
      if (tierOf(d) == tier)
        page.finding(d);
  return std::move(page).end();
}

} // namespace penstock::emu
