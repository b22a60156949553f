//===- MutateText.cpp - Reports of mutate, for people and tools -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "Diagnostics/Serialize.h"
#include "penstock/check.h"

#include <map>

using namespace penstock;

namespace {

const char *wordOf(Mutant::Fate fate) {
  switch (fate) {
  case Mutant::Killed:
    return "killed";
  case Mutant::Explained:
    return "explained";
  case Mutant::Survived:
    return "survived";
  case Mutant::Equivalent:
    return "harmless";
  case Mutant::Unreached:
    return "unreached";
  }
  return "";
}

std::string locationText(const SourceLocation &location) {
  return location.file + ":" + std::to_string(location.line);
}

Diagnostic survivor(const Mutant &mutant) {
  Diagnostic d;
  d.code = MutantSurvived;
  d.location = mutant.source.known() ? mutant.source : mutant.ptx;
  d.message = "`" + mutant.instruction + "` of `" + mutant.kernel + "` (" + mutant.target + ") " +
              mutant.change + ": " + mutant.reason;
  d.label = mutant.change;
  d.facts = {{"change", mutant.change}};
  if (!mutant.ptx.known()) {
    d.helps.push_back("either the change is equivalent, which PENSTOCK_EQUIVALENT explains, or the "
                      "shapes and data of check do not notice it: add PENSTOCK_SHAPES, or "
                      "describe inputs in the signature");
    return d;
  }
  DiagnosticNote note;
  note.message = "at " + locationText(mutant.ptx);
  d.notes.push_back(std::move(note));
  d.helps.push_back("either the instruction does nothing, or no shape and timing that was tried "
                    "needs it");
  d.facts.emplace_back("ptx_line", std::to_string(mutant.ptx.line));
  return d;
}

std::vector<Diagnostic> diagnosticsOf(const MutateReport &report) {
  std::vector<Diagnostic> all = report.diagnostics;
  for (const Mutant &mutant : report.mutants)
    if (mutant.fate == Mutant::Survived)
      all.push_back(survivor(mutant));
  return all;
}

} // namespace

size_t MutateReport::count(Mutant::Fate fate) const {
  size_t number = 0;
  for (const Mutant &mutant : mutants)
    number += mutant.fate == fate;
  return number;
}

size_t MutateReport::tried() const {
  return mutants.size() - count(Mutant::Equivalent) - count(Mutant::Unreached);
}

bool MutateReport::all_accounted_for() const {
  for (const Diagnostic &d : diagnostics)
    if (d.severity == Severity::Error)
      return false;
  return !cancelled && tried() && count(Mutant::Survived) == 0;
}

std::string penstock::summary_of(const MutateReport &report) {
  return "mutants=" + std::to_string(report.tried()) +
         " killed=" + std::to_string(report.count(Mutant::Killed)) +
         " explained=" + std::to_string(report.count(Mutant::Explained)) +
         " survivors=" + std::to_string(report.count(Mutant::Survived)) +
         " harmless=" + std::to_string(report.count(Mutant::Equivalent)) +
         " unreached=" + std::to_string(report.count(Mutant::Unreached)) +
         (report.cancelled ? " (cancelled)\n" : "\n");
}

std::string penstock::to_text(const MutateReport &report) {
  std::string text;
  std::map<std::pair<std::string, std::string>, MutateReport> kernels;
  std::vector<std::pair<std::string, std::string>> order;
  for (const Mutant &mutant : report.mutants) {
    std::pair key(mutant.kernel, mutant.target);
    if (kernels[key].mutants.empty())
      order.push_back(key);
    kernels[key].mutants.push_back(mutant);
  }
  for (const auto &key : order) {
    text += key.first + "  " + key.second + "  " + summary_of(kernels[key]);
    for (const Mutant &mutant : kernels[key].mutants)
      if (mutant.fate != Mutant::Killed && mutant.fate != Mutant::Survived)
        text += std::string("  ") + wordOf(mutant.fate) + ": " +
                locationText(mutant.ptx.known() ? mutant.ptx : mutant.source) + " `" +
                mutant.instruction + "` " + mutant.change + ": " + mutant.reason + "\n";
  }
  for (const SkippedKernel &kernel : report.skipped)
    text += kernel.kernel + "  " + kernel.target + "  skipped: " + kernel.reason + "\n";
  return text + to_text(diagnosticsOf(report)) + summary_of(report);
}

std::string penstock::to_json(const MutateReport &report) {
  std::string mutants = jsonArray(report.mutants, [](const Mutant &mutant) {
    return JsonObject()
        .text("kernel", mutant.kernel)
        .text("target", mutant.target)
        .text("instruction", mutant.instruction)
        .text("change", mutant.change)
        .text("ptx", mutant.ptx.known() ? locationText(mutant.ptx) : "")
        .text("source", mutant.source.known() ? locationText(mutant.source) : "")
        .text("fate", wordOf(mutant.fate))
        .text("code", mutant.code ? codeName(mutant.code) : "")
        .text("reason", mutant.reason)
        .str();
  });
  return JsonObject()
             .json("mutants", mutants)
             .json("diagnostics", toJsonArray(report.diagnostics))
             .number("killed", report.count(Mutant::Killed))
             .number("explained", report.count(Mutant::Explained))
             .number("survivors", report.count(Mutant::Survived))
             .number("harmless", report.count(Mutant::Equivalent))
             .number("unreached", report.count(Mutant::Unreached))
             .boolean("cancelled", report.cancelled)
             .str() +
         "\n";
}

std::string penstock::to_sarif(const MutateReport &report) {
  return toSarif(diagnosticsOf(report), "penstock mutate");
}
