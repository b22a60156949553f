//===- Mutants.cpp - Kernels without one synchronizing instruction --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Mutants.h"
#include "Diagnostics/Codes.h"
#include "Emulator/Snapshot.h"
#include "Emulator/SyncInstructions.h"
#include "PTX/Parser.h"

#include <algorithm>
#include <set>

namespace penstock::emu {
namespace {

struct Outcome {
  std::set<std::array<uint32_t, 3>> findings; ///< codes and PTX lines
  /// Codes, PTX lines and warps, the lower line first.
  std::set<std::array<uint32_t, 5>> conflicts;
  std::vector<std::vector<uint8_t>> results; ///< contents of memory
  bool completed = false;
};

/// Warps of a cluster that are starved one after the other; of large ones, the first.
uint32_t warpsOf(const LoadedModule &module, const std::string &kernel,
                 const LaunchConfig &config) {
  const ptx::Function *entry = module.module->function(kernel);
  uint64_t warps = (uint64_t(config.block[0]) * config.block[1] * config.block[2] + 31) / 32;
  for (size_t d = 0; d < 3; ++d)
    warps *= std::max(1u, entry && entry->requiredCluster[0] ? entry->requiredCluster[d]
                                                             : config.cluster[d]);
  return uint32_t(std::min<uint64_t>(warps, 8));
}

class MutantRuns {
public:
  MutantRuns(Device &device, const LoadedModule &module, const std::string &kernel,
             const LaunchConfig &config, unsigned timings)
      : device(device), original(module), kernel(kernel), config(config),
        tried{std::max(1u, timings), warpsOf(module, kernel, config), 2}, before(device.memory) {}

  MutantReport run() {
    MutantReport report;
    const ptx::Function *entry = original.module->function(kernel);
    if (!entry || !runOriginal(report))
      return report;
    report.ran = true;
    for (const SyncInstruction &each : syncInstructions(*original.module, *entry)) {
      ++report.mutants;
      if (!executed.count(each.inst->line)) {
        ++report.unexecuted;
        report.findings.push_back(unexecutedFinding(*each.inst));
      } else if (!detected({each})) {
        survivors.push_back(each);
      }
    }
    report.survivors = unsigned(survivors.size());
    describeSurvivors(report);
    std::sort(report.findings.begin(), report.findings.end(),
              [](const Diagnostic &a, const Diagnostic &b) { return lineOfPtx(a) < lineOfPtx(b); });
    return report;
  }

private:
  static uint64_t lineOfPtx(const Diagnostic &d) {
    for (const auto &[key, value] : d.facts)
      if (key == "ptx_line")
        return std::stoull(value);
    return 0;
  }

  /// Runs the unchanged kernel, and notes what mutants are compared with.
  bool runOriginal(MutantReport &report) {
    std::set<uint32_t> all;
    uint64_t most = 0;
    for (uint64_t i = 0; i < tried.size(); ++i) {
      LaunchOptions options = tried[i];
      options.coverage = true;
      Report ran;
      expected.push_back(runOnce(copyOf(original.module), options, ran));
      if (ran.executed.lines.empty()) {
        report.findings = std::move(ran.findings);
        return false;
      }
      conflicts.insert(expected[i].conflicts.begin(), expected[i].conflicts.end());
      all.insert(ran.executed.lines.begin(), ran.executed.lines.end());
      executed.insert(ran.executed.reached.begin(), ran.executed.reached.end());
      most = std::max(most, ran.stats.spent);
      compareResults &= expected[i].results == expected[0].results;
    }
    report.lines = unsigned(all.size());
    report.executedLines = unsigned(executed.size());
    // A mutant may wait in vain or loop.
    budget = 4 * most + (1 << 20);
    return true;
  }

  std::shared_ptr<LoadedModule> copyOf(std::shared_ptr<const ptx::Module> module) const {
    auto copy = std::make_shared<LoadedModule>();
    copy->module = std::move(module);
    copy->globals = original.globals; // the variables of a mutant are the same
    return copy;
  }

  /// One host thread: findings do not depend on the host.
  Outcome runOnce(const std::shared_ptr<LoadedModule> &module, LaunchOptions options,
                  Report &report) {
    options.threads = 1;
    if (budget)
      options.maxInstructions = budget;
    report = device.launch(*module, kernel, config, options);
    Outcome outcome;
    for (const FindingSite &site : report.sites) {
      outcome.findings.insert({site.code, site.line, site.otherLine});
      for (auto [warp, other] : site.warps) {
        std::pair first(site.line, warp), second(site.otherLine, other);
        if (second < first)
          std::swap(first, second);
        outcome.conflicts.insert(
            {site.code, first.first, second.first, first.second, second.second});
      }
    }
    for (const Diagnostic &d : report.findings) // those without an instruction
      outcome.findings.insert({d.code, d.location.line, 0});
    outcome.results = before.now();
    outcome.completed = report.completed;
    before.restore();
    return outcome;
  }

  /// Returns true if a timing tells the kernel without these instructions from the original.
  bool detected(const std::vector<SyncInstruction> &removed) {
    ptx::ParseResult parsed =
        ptx::parse(withoutInstructions(*original.module, removed), original.module->name);
    if (!parsed.module)
      return false; // an error of ours, which shows as a survivor
    std::shared_ptr<LoadedModule> mutant = copyOf(parsed.module);
    for (uint64_t i = 0; i < tried.size(); ++i) {
      Report report;
      Outcome found = runOnce(mutant, tried[i], report);
      // The original may have the same race between other warps. Which of them appear depends on
      // the timing.
      if (!std::includes(conflicts.begin(), conflicts.end(), found.conflicts.begin(),
                         found.conflicts.end()) ||
          found.findings != expected[i].findings || found.completed != expected[i].completed ||
          (compareResults && found.results != expected[i].results))
        return true;
    }
    return false;
  }

  Diagnostic findingAt(unsigned code, const ptx::Instruction &inst) const {
    const ptx::Module &module = *original.module;
    Diagnostic d;
    d.code = code;
    d.severity = Severity::Warning;
    d.location = module.location(inst.line, inst.column);
    if (auto file = module.files.find(inst.loc.file); inst.loc.line && file != module.files.end())
      d.location = {file->second, inst.loc.line, inst.loc.column};
    d.facts.emplace_back("ptx_line", std::to_string(inst.line));
    return d;
  }
  std::string nameOf(const ptx::Instruction &inst) const {
    return "`" + inst.opcode + "` (" + original.module->name + ":" + std::to_string(inst.line) +
           ")";
  }

  Diagnostic unexecutedFinding(const ptx::Instruction &inst) const {
    Diagnostic d = findingAt(EmuSyncNotExecuted, inst);
    d.message = "this launch never executes " + nameOf(inst) + ", so that it is untested";
    d.helps.push_back("try other sizes");
    return d;
  }

  /// Tells survivors that can be removed together from those of which one must remain.
  void describeSurvivors(MutantReport &report) {
    std::vector<SyncInstruction> together;
    for (const SyncInstruction &each : survivors) {
      Diagnostic d = findingAt(MutantSurvived, *each.inst);
      d.message = "surviving mutant: without " + nameOf(*each.inst) +
                  " findings and results are the same in " + std::to_string(tried.size()) +
                  " timings";
      std::vector<SyncInstruction> more = together;
      more.push_back(each);
      if (together.empty() || !detected(more)) {
        together = std::move(more);
        d.helps.push_back("it is redundant in this launch; try other sizes");
        d.facts.emplace_back("redundant", "alone");
      } else {
        auto other = std::find_if(together.begin(), together.end(),
                                  [&](const SyncInstruction &of) { return detected({of, each}); });
        d.helps.push_back(other == together.end()
                              ? "it is redundant because of the survivors before it: removing all "
                                "of them is detected"
                              : "it is redundant because of " + nameOf(*other->inst) +
                                    ": removing both is detected");
        d.facts.emplace_back("redundant", other == together.end()
                                              ? "with several"
                                              : "with " + std::to_string(other->inst->line));
      }
      report.findings.push_back(std::move(d));
    }
  }

  Device &device;
  const LoadedModule &original;
  const std::string &kernel;
  const LaunchConfig &config;
  TimingSequence tried;
  Snapshot before;
  std::vector<Outcome> expected;
  std::set<std::array<uint32_t, 5>> conflicts; ///< of the original in all timings
  std::set<uint32_t> executed;
  uint64_t budget = 0; ///< of mutants; 0: there are none yet
  /// Off if results depend on the timing, as sums by atomics do.
  bool compareResults = true;
  std::vector<SyncInstruction> survivors;
};

} // namespace

std::string MutantReport::summary() const {
  auto count = [](unsigned number, const char *what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  return count(mutants, "mutant") + ": " + std::to_string(detected()) + " detected, " +
         count(survivors, "survivor") + ", " + std::to_string(unexecuted) + " never executed; " +
         std::to_string(executedLines) + " of " + count(lines, "line") + " executed";
}

MutantReport runMutants(Device &device, const LoadedModule &module, const std::string &kernel,
                        const LaunchConfig &config, unsigned timings) {
  return MutantRuns(device, module, kernel, config, timings).run();
}

} // namespace penstock::emu
