//===- Mutants.cpp - Kernels without one synchronizing instruction --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Mutants.h"
#include "Diagnostics/Codes.h"
#include "PTX/InstructionTable.h"
#include "PTX/Parser.h"

#include <algorithm>
#include <set>

namespace penstock::emu {
namespace {

/// Returns true if removing an instruction can only remove order, not data.
bool synchronizes(const ptx::Instruction &inst) {
  static constexpr std::string_view prefixes[] = {"bar.",
                                                  "barrier.",
                                                  "membar",
                                                  "fence",
                                                  "wgmma.fence",
                                                  "wgmma.wait_group",
                                                  "wgmma.commit_group",
                                                  "cp.async.wait_",
                                                  "cp.async.commit_group",
                                                  "cp.async.bulk.wait_group",
                                                  "cp.async.bulk.commit_group",
                                                  "griddepcontrol.wait",
                                                  "mbarrier.arrive",
                                                  "mbarrier.try_wait",
                                                  "mbarrier.test_wait",
                                                  "tcgen05.commit",
                                                  "tcgen05.wait",
                                                  "tcgen05.fence"};
  const std::string &name = inst.form->name;
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// The memory of a device, to run several launches from the same state.
class Snapshot {
public:
  explicit Snapshot(const DeviceMemory &memory) {
    for (Allocation *allocation : memory.all())
      saved.push_back({allocation, contents(*allocation), allocation->written});
  }
  void restore() const {
    for (const Saved &each : saved) {
      std::copy(each.bytes.begin(), each.bytes.end(), each.allocation->bytes.get());
      each.allocation->written = each.written;
    }
  }
  std::vector<std::vector<uint8_t>> now() const {
    std::vector<std::vector<uint8_t>> all;
    for (const Saved &each : saved)
      all.push_back(contents(*each.allocation));
    return all;
  }

private:
  struct Saved {
    Allocation *allocation;
    std::vector<uint8_t> bytes, written;
  };
  static std::vector<uint8_t> contents(const Allocation &allocation) {
    return {allocation.bytes.get(), allocation.bytes.get() + allocation.size};
  }
  std::vector<Saved> saved;
};

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

/// A synchronizing instruction, and the function that has it.
struct Candidate {
  const ptx::Function *function;
  const ptx::Instruction *inst;
};

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
    for (const Candidate &each : candidates(*entry)) {
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

  /// Instructions of the kernel and of the functions that it calls.
  std::vector<Candidate> candidates(const ptx::Function &entry) const {
    std::vector<Candidate> found;
    std::vector<const ptx::Function *> functions = {&entry};
    for (size_t i = 0; i < functions.size(); ++i)
      for (const auto &inst : functions[i]->body) {
        if (synchronizes(*inst))
          found.push_back({functions[i], inst.get()});
        for (const ptx::Operand &operand : inst->operands)
          if (operand.kind == ptx::Operand::Kind::Function)
            if (const ptx::Function *called = original.module->function(operand.name);
                called && !std::count(functions.begin(), functions.end(), called))
              functions.push_back(called);
      }
    std::sort(found.begin(), found.end(), [](const Candidate &a, const Candidate &b) {
      return std::pair(a.inst->line, a.inst->column) < std::pair(b.inst->line, b.inst->column);
    });
    return found;
  }

  /// Replaces instructions of the text by blanks, so that all lines keep their numbers. A wait for
  /// an mbarrier becomes one that is over.
  std::string without(const std::vector<Candidate> &removed) const {
    std::string text = original.module->text;
    // From the end on, because replacements may be longer.
    std::vector<Candidate> order = removed;
    std::sort(order.begin(), order.end(), [](const Candidate &a, const Candidate &b) {
      return std::pair(a.inst->line, a.inst->column) > std::pair(b.inst->line, b.inst->column);
    });
    for (const auto &[function, inst] : order) {
      size_t from = 0;
      for (uint32_t line = 1; line < inst->line; ++line)
        from = text.find('\n', from) + 1;
      from += inst->column - 1;
      size_t end = std::min(text.find(';', from), text.size() - 1) + 1;
      std::string replacement;
      if (inst->form->name.starts_with("mbarrier.") &&
          inst->form->name.find("_wait") != std::string::npos &&
          inst->operands[0].kind == ptx::Operand::Kind::Register) {
        if (inst->guarded)
          replacement = text.substr(from, text.find_first_of(" \t", from) - from) + " ";
        replacement +=
            "setp.eq.u32 " + function->registers[inst->operands[0].index].name + ", 0, 0;";
      }
      replacement.append(
          size_t(std::count(text.begin() + int64_t(from), text.begin() + int64_t(end), '\n')),
          '\n');
      text.replace(from, end - from, replacement);
    }
    return text;
  }

  /// Returns true if a timing tells the kernel without these instructions from the original.
  bool detected(const std::vector<Candidate> &removed) {
    ptx::ParseResult parsed = ptx::parse(without(removed), original.module->name);
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
    std::vector<Candidate> together;
    for (const Candidate &each : survivors) {
      Diagnostic d = findingAt(MutantSurvived, *each.inst);
      d.message = "surviving mutant: without " + nameOf(*each.inst) +
                  " findings and results are the same in " + std::to_string(tried.size()) +
                  " timings";
      std::vector<Candidate> more = together;
      more.push_back(each);
      if (together.empty() || !detected(more)) {
        together = std::move(more);
        d.helps.push_back("it is redundant in this launch; try other sizes");
        d.facts.emplace_back("redundant", "alone");
      } else {
        auto other = std::find_if(together.begin(), together.end(),
                                  [&](const Candidate &of) { return detected({of, each}); });
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
  std::vector<Candidate> survivors;
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
