//===- Study.cpp - How often repairs restore a kernel ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Repair/Study.h"
#include "PTX/InstructionTable.h"
#include "PTX/Parser.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace penstock::emu {

std::string RepairedMutant::text() const {
  static const char *const fates[] = {"not reported", "restored", "WRONG", "gave up"};
  std::string text = std::to_string(line) + " " + instruction + ": " + fates[fate] + " after " +
                     std::to_string(trials) + " candidates";
  for (const std::string &what : inserted)
    text += (&what == inserted.data() ? ": `" : " and `") + what + "`";
  return fate == Restored || why.empty() ? text : text + ": " + why;
}

RepairStudy::RepairStudy(RepairSubject original, std::vector<LaunchOptions> more,
                         RepairOptions options)
    : subject(std::move(original)), all(subject.timings), options(std::move(options)) {
  all.insert(all.end(), more.begin(), more.end());
  uint64_t most = 0;
  for (const LaunchOptions &timing : all) {
    Trial trial = subject.run(subject.module, timing);
    most = std::max(most, trial.report.stats.spent);
    for (const Diagnostic &d : trial.report.findings)
      if (tierOf(d) >= this->options.limit && whyNot.empty())
        whyNot = d.message;
    if (!trial.report.completed && whyNot.empty())
      whyNot = "it does not run to its end";
    expected.push_back(std::move(trial.results));
    deterministic &= expected.back() == expected.front();
  }
  budget = 4 * most + (1 << 18);
}

std::vector<SyncInstruction> RepairStudy::instructions() const {
  const ptx::Function *entry = subject.module->function(subject.kernel);
  return entry ? syncInstructions(*subject.module, *entry) : std::vector<SyncInstruction>();
}

RepairedMutant RepairStudy::study(const SyncInstruction &removed) const {
  RepairedMutant mutant;
  mutant.instruction = removed.inst->opcode;
  mutant.kind = removed.inst->form->name;
  mutant.line = removed.inst->line;
  ptx::ParseResult parsed =
      ptx::parse(withoutInstructions(*subject.module, {removed}), subject.module->name);
  if (!parsed.module)
    return mutant;
  RepairSubject broken = subject;
  broken.module = parsed.module;
  for (LaunchOptions &timing : broken.timings)
    timing.maxInstructions = budget;
  RepairReport report = repair(broken, options);
  mutant.trials = report.trials;
  if (report.findings.empty())
    return mutant;
  if (report.patches.empty()) {
    mutant.fate = RepairedMutant::GaveUp;
    mutant.why = report.triedText();
    return mutant;
  }
  const Patch &patch = report.patches[0];
  mutant.inserted = patch.inserted;
  mutant.why = report.triedText();
  mutant.fate = RepairedMutant::Restored;
  ptx::ParseResult patched = ptx::parse(patch.text, subject.module->name);
  auto wrong = [&](const std::string &why) {
    mutant.fate = RepairedMutant::Wrong;
    mutant.why = why;
  };
  if (!patched.module)
    wrong("the patched text cannot be read");
  for (size_t t = 0; t < all.size() && mutant.fate == RepairedMutant::Restored; ++t) {
    LaunchOptions timing = all[t];
    timing.maxInstructions = budget;
    Trial trial = subject.run(patched.module, timing);
    for (const Diagnostic &d : trial.report.findings)
      if (tierOf(d) >= options.limit)
        wrong(d.message);
    if (!trial.report.completed)
      wrong("it does not run to its end");
    else if (deterministic && trial.results != expected[t])
      wrong("results differ");
  }
  return mutant;
}

std::vector<size_t> spreadOrder(size_t count) {
  constexpr double goldenRatio = 0.6180339887;
  size_t step = std::max<size_t>(1, size_t(double(count) * goldenRatio));
  while (count && std::gcd(step, count) != 1)
    ++step;
  std::vector<size_t> order;
  for (size_t i = 0; i < count; ++i)
    order.push_back(i * step % count);
  return order;
}

void StudyTotals::add(const RepairedMutant &mutant) {
  trials += mutant.trials;
  if (mutant.fate == RepairedMutant::Unreported) {
    ++unreported;
    return;
  }
  Counts &counts = kinds[mutant.kind];
  ++(mutant.fate == RepairedMutant::Restored ? counts.restored
     : mutant.fate == RepairedMutant::Wrong  ? counts.wrong
                                             : counts.gaveUp);
}

StudyTotals::Counts StudyTotals::all() const {
  Counts sum;
  for (const auto &[kind, counts] : kinds) {
    sum.restored += counts.restored;
    sum.wrong += counts.wrong;
    sum.gaveUp += counts.gaveUp;
  }
  return sum;
}

std::string StudyTotals::text() const {
  auto line = [](const char *form, const std::string &kind, const Counts &counts) {
    char buffer[160];
    snprintf(buffer, sizeof buffer, form, kind.c_str(), counts.reported(), counts.restored,
             counts.wrong, counts.gaveUp);
    return std::string(buffer);
  };
  std::string text = "removed                                   reported restored wrong gave up\n";
  for (const auto &[kind, counts] : kinds)
    text += line("%-41s %8u %8u %5u %7u\n", kind, counts);
  text += line("%-41s %8u %8u %5u %7u\n", "all", all());
  Counts sum = all();
  text += "mutants=" + std::to_string(sum.reported() + unreported) +
          " reported=" + std::to_string(sum.reported()) +
          " restored=" + std::to_string(sum.restored) + " wrong=" + std::to_string(sum.wrong) +
          " gave_up=" + std::to_string(sum.gaveUp) + " trials=" + std::to_string(trials) + "\n";
  return text;
}

} // namespace penstock::emu
