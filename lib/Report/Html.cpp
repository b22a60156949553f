//===- Html.cpp - Reports as self-contained web pages ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Report/Html.h"
#include "Diagnostics/SourceText.h"
#include "Diagnostics/Split.h"

#include <algorithm>
#include <array>

namespace penstock {
namespace {

/// Lines shown before the first and after the last marked line.
constexpr uint32_t context = 3;

const char *const style = R"(
:root { color-scheme: light dark; --text: #1b1f24; --back: #ffffff; --soft: #57606a; --line: #d0d7de; --code: #f6f8fa; --mark: #ffe8a3; --wrong: #c9302c; --undefined: #b87503; --note: #4a7ab5 }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --back: #0d1117; --soft: #9aa4af; --line: #3d444d; --code: #161b22; --mark: #5c4a10; --wrong: #ff7b72; --undefined: #e3a13a; --note: #79b0f0 } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; color: var(--text); background: var(--back) }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin: 1.4em 0 .4em } .finding h2 { font-size: 1.1em; margin: 0 0 .4em }
.scroll { overflow-x: auto } table { border-collapse: collapse } td, th { border: 1px solid var(--line); padding: .25em .7em; text-align: left; vertical-align: top }
th { background: var(--code) } td.number { text-align: right; font-variant-numeric: tabular-nums }
figure { margin: 1em 0 } figure img { max-width: 100%; border: 1px solid var(--line); border-radius: 4px } figcaption { color: var(--soft); font-size: .87em }
.finding { border: 1px solid var(--line); border-left: .5em solid var(--soft); border-radius: 4px; padding: .8em 1em; margin: 1em 0 }
.wrong { border-left-color: var(--wrong) } .undefined { border-left-color: var(--undefined) } .note { border-left-color: var(--note) }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26em, 100%), 1fr)); gap: 1em } .sides > div { min-width: 0 }
pre { background: var(--code); overflow-x: auto; padding: .5em; margin: .3em 0; font-size: 13px; line-height: 1.35 }
pre b { background: var(--mark); font-weight: normal; display: inline-block; min-width: 100% }
summary { cursor: pointer; margin: .6em 0 }
.tier { text-transform: uppercase; font-size: .75em; letter-spacing: .05em; color: var(--soft) }
.timeline td { border-width: 0 1px; padding: .1em .7em; font-size: 13px } .timeline .access { background: var(--mark) }
.timeline .completes, .timeline span { color: var(--soft) } .timeline span { font-size: .87em }
.facts { color: var(--soft); font-size: .87em }
)";

/// "1536", "45 %", "1140.2 GFLOP/s": a number, and maybe one word.
bool isNumber(const std::string &text) {
  size_t digits = text.find_first_not_of("+-");
  return digits != std::string::npos && text[digits] >= '0' && text[digits] <= '9' &&
         std::count(text.begin(), text.end(), ' ') <= 1 && text.size() <= 20;
}

std::string base64(std::string_view bytes) {
  static constexpr char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j)
      text += i + j > bytes.size() ? '=' : digits[group >> (18 - 6 * j) & 63];
  }
  return text;
}

} // namespace

std::string escapedHtml(std::string_view text) {
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

HtmlPage::HtmlPage(const std::string &title, const SourceLineFn &sourceLine)
    : sourceLine(sourceLine) {
  out = "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
        escapedHtml(title) + "</title>\n<style>" + style + "</style></head>\n<body>\n<h1>" +
        escapedHtml(title) + "</h1>\n";
}

void HtmlPage::heading(const std::string &text) { out += "<h2>" + escapedHtml(text) + "</h2>\n"; }

void HtmlPage::paragraph(const std::string &text) { out += "<p>" + escapedHtml(text) + "</p>\n"; }

void HtmlPage::table(const std::vector<std::string> &header,
                     const std::vector<std::vector<std::string>> &rows) {
  out += "<div class=\"scroll\"><table>";
  if (!header.empty()) {
    out += "<tr>";
    for (const std::string &cell : header)
      out += "<th>" + escapedHtml(cell) + "</th>";
    out += "</tr>\n";
  }
  for (const std::vector<std::string> &row : rows) {
    out += "<tr>";
    for (const std::string &cell : row) {
      out += isNumber(cell) ? "<td class=\"number\">" : "<td>";
      std::string text = escapedHtml(cell);
      for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 4)
        text.replace(at, 1, "<br>");
      out += text + "</td>";
    }
    out += "</tr>\n";
  }
  out += "</table></div>\n";
}

void HtmlPage::picture(const std::string &svg, const std::string &caption) {
  // An image keeps the styles of the picture and of the page apart.
  out += "<figure><img alt=\"" + escapedHtml(caption) + "\" src=\"data:image/svg+xml;base64," +
         base64(svg) + "\">\n<figcaption>" + escapedHtml(caption) + "</figcaption></figure>\n";
}

void HtmlPage::details(const std::string &summary, const std::string &text, bool open) {
  out += std::string("<details") + (open ? " open" : "") + "><summary>" + escapedHtml(summary) +
         "</summary>\n<pre>" + escapedHtml(text) + "</pre></details>\n";
}

std::optional<std::string> HtmlPage::line(const std::string &file, uint32_t number) const {
  return sourceLine ? sourceLine(file, number) : readSourceLine(file, number);
}

void HtmlPage::lines(const std::string &file, uint32_t first, uint32_t last,
                     const std::set<uint32_t> &marked) {
  out += "<pre>";
  for (uint32_t n = first; n <= last; ++n)
    if (auto text = line(file, n)) {
      std::string number = std::to_string(n);
      number.insert(0, number.size() < 6 ? 6 - number.size() : 0, ' ');
      std::string row = number + "  " + escapedHtml(*text);
      out += marked.contains(n) ? "<b>" + row + "</b>\n" : row + "\n";
    }
  out += "</pre>\n";
}

void HtmlPage::source(const std::string &file, const std::set<uint32_t> &marked) {
  if (marked.empty() || !line(file, *marked.begin()))
    return;
  out += "<div><code>" + escapedHtml(file) + "</code></div>\n";
  uint32_t first = *marked.begin();
  lines(file, first > context ? first - context : 1, *marked.rbegin() + context, marked);
}

void HtmlPage::side(const SourceLocation &at, const std::string &message,
                    const std::string &label) {
  out += "<div>\n";
  if (!message.empty())
    out += "<div>" + escapedHtml(message) + "</div>\n";
  out += "<code>" + escapedHtml(at.file) + (at.line ? ":" + std::to_string(at.line) : "") +
         "</code>" + (label.empty() ? "" : " " + escapedHtml(label)) + "\n";
  if (at.line && line(at.file, at.line))
    lines(at.file, at.line > context ? at.line - context : 1, at.line + context, {at.line});
  out += "</div>\n";
}

/// Steps between the two accesses, one column for each warp and one for engines. The lines of the
/// fact have a mark, a name, an instruction, a line of the PTX and one of the source.
void HtmlPage::timeline(const std::string &steps) {
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
         "<div class=\"scroll\"><table class=\"timeline\"><tr>";
  for (const std::string &name : columns)
    out += "<th>" + escapedHtml(name) + "</th>";
  out += "</tr>\n";
  for (const auto &[mark, who, what, ptxLine, source] : rows) {
    out += "<tr>";
    if (who.empty())
      out += "<td colspan=\"" + std::to_string(columns.size()) + "\">" + escapedHtml(what) +
             " left out</td>";
    else
      for (const std::string &name : columns)
        out += name != who
                   ? "<td></td>"
                   : "<td class=\"" + mark + "\"><code>" + escapedHtml(what) + "</code>" +
                         (mark == "completes" ? " completes" : "") + " <span>line " + ptxLine +
                         (source.empty() ? "" : ", " + escapedHtml(source)) + "</span></td>";
    out += "</tr>\n";
  }
  out += "</table></div></details>\n";
}

void HtmlPage::finding(const Diagnostic &d, const HtmlTier &tier) {
  out += "<section class=\"finding " + tier.name + "\">\n<div class=\"tier\">" +
         escapedHtml(tier.text) + "</div>\n<h2>" +
         (d.code ? escapedHtml(codeName(d.code)) + ": " : "") + escapedHtml(d.message) +
         "</h2>\n<div class=\"sides\">\n";
  if (d.location.known())
    side(d.location, "", d.label);
  for (const DiagnosticNote &note : d.notes)
    side(note.location, note.message, note.label);
  out += "</div>\n";
  for (const std::string &help : d.helps)
    out += "<p><strong>help:</strong> " + escapedHtml(help) + "</p>\n";
  for (const auto &[key, value] : d.facts)
    if (key == "timeline")
      timeline(value);
  out += "<p class=\"facts\">";
  for (const auto &[key, value] : d.facts)
    if (key != "tier" && key != "timeline")
      out += escapedHtml(key) + ": " + escapedHtml(value) + "<br>";
  out += "</p>\n</section>\n";
}

std::string HtmlPage::end() && {
  out += "</body>\n</html>\n";
  return std::move(out);
}

} // namespace penstock
