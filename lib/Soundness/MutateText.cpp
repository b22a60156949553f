//===- MutateText.cpp - Reports of mutate, for people and tools -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
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
  case Mutant::Harmless:
    return "harmless";
  case Mutant::Unreached:
    return "unreached";
  }
  return "";
}

std::string placeText(const SourcePlace &place) {
  return place.file + ":" + std::to_string(place.line);
}

Diagnostic survivor(const Mutant &mutant) {
  Diagnostic d;
  d.code = MutantSurvived;
  d.place = mutant.source.known() ? mutant.source : mutant.ptx;
  d.message = "`" + mutant.instruction + "` of `" + mutant.kernel + "` (" + mutant.target + ") " +
              mutant.change + ": " + mutant.reason;
  d.label = mutant.change;
  DiagnosticNote note;
  note.message = "at " + placeText(mutant.ptx);
  d.notes.push_back(std::move(note));
  d.helps.push_back("either the instruction does nothing, or no shape and timing that was tried "
                    "needs it");
  d.facts = {{"ptx_line", std::to_string(mutant.ptx.line)}, {"change", mutant.change}};
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
  return mutants.size() - count(Mutant::Harmless) - count(Mutant::Unreached);
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
         " harmless=" + std::to_string(report.count(Mutant::Harmless)) +
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
        text += std::string("  ") + wordOf(mutant.fate) + ": " + placeText(mutant.ptx) + " `" +
                mutant.instruction + "` " + mutant.change + ": " + mutant.reason + "\n";
  }
  for (const SkippedKernel &kernel : report.skipped)
    text += kernel.kernel + "  " + kernel.target + "  skipped: " + kernel.reason + "\n";
  return text + to_text(diagnosticsOf(report)) + summary_of(report);
}

std::string penstock::to_json(const MutateReport &report) {
  std::string text = "{\"mutants\":[";
  auto field = [](const char *name, const std::string &value) {
    return jsonString(name) + ":" + jsonString(value);
  };
  for (const Mutant &mutant : report.mutants) {
    text += &mutant == report.mutants.data() ? "{" : ",{";
    text += field("kernel", mutant.kernel) + "," + field("target", mutant.target) + "," +
            field("instruction", mutant.instruction) + "," + field("change", mutant.change) + "," +
            field("ptx", placeText(mutant.ptx)) + "," +
            field("source", mutant.source.known() ? placeText(mutant.source) : "") + "," +
            field("fate", wordOf(mutant.fate)) + "," +
            field("code", mutant.code ? codeName(mutant.code) : "") + "," +
            field("reason", mutant.reason) + "}";
  }
  return text + "],\"diagnostics\":" + toJsonArray(report.diagnostics) +
         ",\"killed\":" + std::to_string(report.count(Mutant::Killed)) +
         ",\"explained\":" + std::to_string(report.count(Mutant::Explained)) +
         ",\"survivors\":" + std::to_string(report.count(Mutant::Survived)) +
         ",\"harmless\":" + std::to_string(report.count(Mutant::Harmless)) +
         ",\"unreached\":" + std::to_string(report.count(Mutant::Unreached)) +
         ",\"cancelled\":" + (report.cancelled ? "true" : "false") + "}\n";
}

std::string penstock::to_sarif(const MutateReport &report) {
  return toSarif(diagnosticsOf(report), "penstock mutate");
}
