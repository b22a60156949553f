//===- HtmlReport.cpp - Pages of the commands on kernels ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "HtmlReport.h"
#include "LabeledRows.h"

#include <algorithm>
#include <cstdio>
#include <map>

using namespace penstock;

namespace {

std::string formatted(const char *format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

HtmlTier tierOf(const Diagnostic &d) {
  switch (d.severity) {
  case Severity::Error:
    return {"wrong", "error"};
  case Severity::Warning:
    return {"undefined", "warning"};
  case Severity::Note:
    break;
  }
  return {"note", "note"};
}

std::string resultOf(const CheckedShape &shape) {
  if (!shape.refused.empty())
    return "not supported: " + shape.refused;
  std::string text;
  auto add = [&](const std::string &part) { text += (text.empty() ? "" : ", ") + part; };
  if (shape.wrong)
    add(std::to_string(shape.wrong) + " wrong");
  if (!shape.findings.empty())
    add(std::to_string(shape.findings.size()) + " findings");
  if (shape.not_run)
    add(std::to_string(shape.not_run) + " not run");
  return text.empty() ? "passed" : text;
}

} // namespace

void addRows(HtmlPage &page, const std::string &rows) {
  std::vector<std::vector<std::string>> cells;
  for (const LabeledRow &row : rowsOf(rows)) {
    std::string content;
    for (const std::string &line : row.lines)
      content += (content.empty() ? "" : "\n") + line;
    if (row.label.empty())
      page.paragraph(content);
    else
      cells.push_back({row.label, content});
  }
  page.table({}, cells);
}

void addSource(HtmlPage &page, const std::vector<SourceLocation> &lines) {
  std::map<std::string, std::set<uint32_t>> byFile;
  for (const SourceLocation &at : lines)
    if (at.line)
      byFile[at.file].insert(at.line);
  if (byFile.empty())
    return;
  page.heading("Source");
  for (const auto &[file, marked] : byFile)
    page.source(file, marked);
}

void addDiagnostics(HtmlPage &page, const std::vector<Diagnostic> &diagnostics) {
  for (const Diagnostic &d : diagnostics)
    page.finding(d, tierOf(d));
}

std::string pageOf(const CheckReport &report,
                   const std::vector<std::pair<std::string, std::string>> &pictures) {
  HtmlPage page("penstock check");
  page.paragraph(summary_of(report));
  std::vector<std::vector<std::string>> rows;
  for (const CheckedShape &shape : report.shapes)
    rows.push_back({shape.kernel, shape.target, shape.shape, std::to_string(shape.blocks),
                    std::to_string(shape.warps), std::to_string(shape.runs), shape.reference,
                    resultOf(shape), formatted("%.1f s", shape.seconds)});
  if (!rows.empty())
    page.table(
        {"kernel", "target", "shape", "blocks", "warps", "runs", "reference", "result", "time"},
        rows);
  for (const auto &[caption, svg] : pictures)
    page.picture(svg, caption);
  addDiagnostics(page, report.diagnostics);
  for (const CheckedShape &shape : report.shapes)
    addDiagnostics(page, shape.findings);
  for (const CheckedCoverage &coverage : report.coverage)
    addDiagnostics(page, coverage.holes);
  std::vector<std::vector<std::string>> skipped;
  for (const SkippedKernel &kernel : report.skipped)
    skipped.push_back({kernel.kernel, kernel.target, kernel.reason});
  if (!skipped.empty()) {
    page.heading("Skipped");
    page.table({"kernel", "target", "reason"}, skipped);
  }
  return std::move(page).end();
}

std::string pageOf(const std::vector<TuneReport> &reports) {
  constexpr size_t shown = 20; // candidates
  HtmlPage page("penstock tune");
  for (const TuneReport &report : reports) {
    page.heading(report.kernel + ", " + report.target + ", " + report.shape);
    page.paragraph("Times: " + name_of(report.times) +
                   (report.machine.empty() ? "" : " on " + report.machine) + ".");
    std::vector<const TuneCandidate *> timed;
    for (const TuneCandidate &candidate : report.candidates)
      if (candidate.seconds > 0)
        timed.push_back(&candidate);
    std::ranges::sort(timed, {}, &TuneCandidate::seconds);
    std::vector<std::vector<std::string>> rows;
    for (const TuneCandidate *candidate : timed) {
      if (rows.size() == shown)
        break;
      rows.push_back({candidate->point() + (candidate->is_default ? " (default)" : ""),
                      formatted("%.4f ms", candidate->seconds * 1e3),
                      formatted("%.2f", candidate->seconds / timed[0]->seconds),
                      formatted("%.1f %%", 100 * candidate->spread),
                      std::to_string(candidate->samples.size())});
    }
    if (!rows.empty())
      page.table({"fields", "median", "ratio to the fastest", "spread", "samples"}, rows);
    addDiagnostics(page, report.diagnostics);
    if (!report.candidates.empty())
      page.picture(to_svg(report),
                   "All points of the space: times, or the stage that removed them");
    page.details("Report", to_text(report));
  }
  return std::move(page).end();
}
