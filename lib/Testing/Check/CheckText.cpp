//===- CheckText.cpp - Reports of check, for people and tools -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "Diagnostics/Serialize.h"
#include "penstock/check.h"

#include <cstdio>
#include <map>
#include <set>

using namespace penstock;

namespace {

struct Sums {
  size_t kernels = 0, shapes = 0, runs = 0, skipped = 0, wrong = 0, findings = 0, refused = 0;
  size_t notRun = 0, holes = 0, waived = 0;

  explicit Sums(const CheckReport &report) {
    std::set<std::pair<std::string, std::string>> names;
    for (const CheckedShape &shape : report.shapes) {
      names.emplace(shape.kernel, shape.target);
      refused += !shape.refused.empty();
      shapes += shape.refused.empty();
      runs += size_t(shape.runs);
      skipped += size_t(shape.skipped);
      wrong += size_t(shape.wrong);
      notRun += size_t(shape.not_run);
      for (const Diagnostic &d : shape.findings)
        findings += d.code != CheckWrongResult;
    }
    kernels = names.size();
    for (const CheckedCoverage &coverage : report.coverage) {
      for (const Diagnostic &hole : coverage.holes)
        holes += hole.severity == Severity::Error;
      waived += coverage.waived.size();
    }
  }
};

std::vector<Diagnostic> allOf(const CheckReport &report) {
  std::vector<Diagnostic> all = report.diagnostics;
  for (const CheckedShape &shape : report.shapes)
    all.insert(all.end(), shape.findings.begin(), shape.findings.end());
  for (const CheckedCoverage &coverage : report.coverage)
    all.insert(all.end(), coverage.holes.begin(), coverage.holes.end());
  return all;
}

/// The shape that a finding was first shown for; empty: this one.
std::string firstShapeOf(const Diagnostic &finding) {
  for (const auto &[name, value] : finding.facts)
    if (name == "first_shape")
      return value;
  return "";
}

} // namespace

bool CheckReport::sound() const {
  bool ran = false;
  for (const CheckedShape &shape : shapes) {
    if (shape.wrong || !shape.findings.empty())
      return false;
    ran |= shape.runs + shape.skipped > 0;
  }
  std::vector<Diagnostic> others = diagnostics;
  for (const CheckedCoverage &one : coverage)
    others.insert(others.end(), one.holes.begin(), one.holes.end());
  for (const Diagnostic &d : others)
    if (d.severity == Severity::Error)
      return false;
  return ran && !cancelled;
}

std::string penstock::to_text(const CheckedShape &shape) {
  std::string text = shape.kernel + "  " + shape.target + "  " + shape.shape + "  ";
  if (!shape.refused.empty())
    return text + "refused: " + shape.refused + "\n";
  size_t races = 0, deadlocks = 0, misuse = 0;
  for (const Diagnostic &d : shape.findings)
    if (d.code == EmuDataRace || d.code == EmuMissingProxyFence)
      ++races;
    else if (d.code == EmuDeadlock || d.code == EmuNoProgress)
      ++deadlocks;
    else if (d.code != CheckWrongResult)
      ++misuse;
  text += std::to_string(shape.blocks) + " blocks x " + std::to_string(shape.warps) + " warps  " +
          std::to_string(shape.runs) + " runs";
  if (shape.skipped)
    text += " (" + std::to_string(shape.skipped) + " passed before)";
  if (shape.not_run)
    text += " (" + std::to_string(shape.not_run) + " or more not made for lack of time)";
  if (shape.reference.empty())
    text += "  no reference, findings only";
  else if (shape.wrong)
    text += "  results differ from " + shape.reference + " in " + std::to_string(shape.wrong);
  else if (shape.findings.empty())
    text += std::string("  results ") +
            (shape.exactly && shape.within_bounds ? "equal to and within bounds of "
             : shape.exactly                      ? "equal to "
                                                  : "within bounds of ") +
            shape.reference;
  else
    text += "  results compared with " + shape.reference + " where runs were clean";
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f s\n", shape.seconds);
  text += "  " + std::to_string(races) + " races  " + std::to_string(deadlocks) + " deadlocks  " +
          std::to_string(misuse) + " misuse  " + seconds;
  // Findings that an earlier shape has printed are only counted.
  std::map<std::string, size_t> asFor;
  std::vector<Diagnostic> fresh;
  for (const Diagnostic &d : shape.findings)
    if (std::string first = firstShapeOf(d); first.empty())
      fresh.push_back(d);
    else
      ++asFor[first];
  text += to_text(fresh);
  for (const auto &[first, count] : asFor)
    text += "  " + std::to_string(count) + (count == 1 ? " finding" : " findings") + " as for " +
            first + "\n";
  return text;
}

std::string penstock::to_text(const CheckedCoverage &coverage) {
  std::string text, name = coverage.kernel + "  " + coverage.target + "  ";
  if (!coverage.inputs.empty())
    text += name + "inputs: " + coverage.inputs + "\n";
  for (const auto &[hole, reason] : coverage.waived)
    text += name + "waived: " + hole.location.file + ":" + std::to_string(hole.location.line) +
            ": " + hole.message + ": " + reason + "\n";
  // Holes of shapes that the caller chose are expected: their lines, and shapes that close them,
  // are enough.
  std::vector<Diagnostic> errors;
  std::vector<std::string> helps;
  std::string lines;
  for (const Diagnostic &hole : coverage.holes) {
    std::string line = std::to_string(hole.location.line);
    if (hole.severity == Severity::Error)
      errors.push_back(hole);
    else if (!lines.ends_with(" " + line))
      lines += (lines.empty() ? " " : ", ") + line;
    for (const std::string &help : hole.helps)
      if (hole.severity != Severity::Error && !llvm::is_contained(helps, help))
        helps.push_back(help);
  }
  if (!lines.empty())
    text += name + "these shapes leave holes in the coverage of lines" + lines + "\n";
  for (const std::string &help : helps)
    text += name + help + "\n";
  return text + to_text(errors);
}

std::string penstock::summary_of(const CheckReport &report) {
  Sums sums(report);
  std::string text = "kernels=" + std::to_string(sums.kernels) +
                     " shapes=" + std::to_string(sums.shapes) +
                     " runs=" + std::to_string(sums.runs);
  if (sums.skipped)
    text += " passed_before=" + std::to_string(sums.skipped);
  if (sums.refused)
    text += " refused=" + std::to_string(sums.refused);
  if (sums.notRun)
    text += " not_run=" + std::to_string(sums.notRun);
  text += " wrong=" + std::to_string(sums.wrong) + " findings=" + std::to_string(sums.findings);
  if (sums.holes)
    text += " holes=" + std::to_string(sums.holes);
  if (sums.waived)
    text += " waived=" + std::to_string(sums.waived);
  return text + (report.cancelled ? " (cancelled)\n" : "\n");
}

std::string penstock::to_text(const CheckReport &report) {
  std::string text;
  for (const CheckedShape &shape : report.shapes)
    text += to_text(shape);
  for (const CheckedCoverage &coverage : report.coverage)
    text += to_text(coverage);
  for (const SkippedKernel &kernel : report.skipped)
    text += kernel.kernel + "  " + kernel.target + "  skipped: " + kernel.reason + "\n";
  return text + to_text(report.diagnostics) + summary_of(report);
}

std::string penstock::to_json(const CheckReport &report) {
  std::string shapes = jsonArray(report.shapes, [](const CheckedShape &shape) {
    return JsonObject()
        .text("kernel", shape.kernel)
        .text("target", shape.target)
        .text("shape", shape.shape)
        .text("reference", shape.reference)
        .number("blocks", shape.blocks)
        .number("warps", shape.warps)
        .number("runs", shape.runs)
        .number("passed_before", shape.skipped)
        .number("not_run", shape.not_run)
        .number("wrong", shape.wrong)
        .text("refused", shape.refused)
        .number("seconds", shape.seconds)
        .json("findings", toJsonArray(shape.findings))
        .str();
  });
  std::string skipped = jsonArray(report.skipped, [](const SkippedKernel &kernel) {
    return JsonObject()
        .text("kernel", kernel.kernel)
        .text("target", kernel.target)
        .text("reason", kernel.reason)
        .str();
  });
  std::string coverage = jsonArray(report.coverage, [](const CheckedCoverage &one) {
    std::string waived = jsonArray(one.waived, [](const auto &hole) {
      return JsonObject()
          .text("location",
                hole.first.location.file + ":" + std::to_string(hole.first.location.line))
          .text("message", hole.first.message)
          .text("reason", hole.second)
          .str();
    });
    return JsonObject()
        .text("kernel", one.kernel)
        .text("target", one.target)
        .text("inputs", one.inputs)
        .json("holes", toJsonArray(one.holes))
        .json("waived", waived)
        .str();
  });
  Sums sums(report);
  return JsonObject()
             .json("shapes", shapes)
             .json("coverage", coverage)
             .json("skipped", skipped)
             .json("diagnostics", toJsonArray(report.diagnostics))
             .number("kernels", sums.kernels)
             .number("runs", sums.runs)
             .number("wrong", sums.wrong)
             .number("findings", sums.findings)
             .number("holes", sums.holes)
             .boolean("cancelled", report.cancelled)
             .boolean("sound", report.sound())
             .str() +
         "\n";
}

std::string penstock::to_sarif(const CheckReport &report) {
  return toSarif(allOf(report), "penstock check");
}
