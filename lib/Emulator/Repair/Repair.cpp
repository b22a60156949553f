//===- Repair.cpp - Patches for findings ----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Repair/Repair.h"
#include "Emulator/Repair/Generators.h"
#include "Emulator/Repair/TextDiff.h"
#include "Emulator/Snapshot.h"
#include "Emulator/SyncInstructions.h"
#include "PTX/InstructionTable.h"
#include "PTX/Parser.h"

#include "Diagnostics/Codes.h"

#include <algorithm>
#include <charconv>

namespace penstock::emu {
namespace {

/// Candidates of one strength that are tried before all stronger ones: each generator proposes its
/// best ones first.
constexpr unsigned mostLikely = 300;

using Results = std::vector<std::vector<uint8_t>>;

uint32_t lineFact(const Diagnostic &d, std::string_view name) {
  uint32_t line = 0;
  for (const auto &[key, value] : d.facts)
    if (key == name)
      std::from_chars(value.data(), value.data() + value.size(), line);
  return line;
}

/// Returns whether results may depend on the order of atomic operations.
bool addsFloats(const ptx::Module &module, const ptx::Function &entry) {
  for (const ptx::Function *function : reachedFunctions(module, entry))
    for (const auto &inst : function->body) {
      std::string_view opcode = inst->opcode;
      bool atomic = opcode.starts_with("red.") || opcode.starts_with("atom.") ||
                    opcode.find("reduce") != std::string_view::npos;
      if (atomic && (opcode.find(".f32") != std::string_view::npos ||
                     opcode.find(".f16") != std::string_view::npos ||
                     opcode.find(".bf16") != std::string_view::npos ||
                     opcode.find(".f64") != std::string_view::npos))
        return true;
    }
  return false;
}

/// Findings and results of a kernel in all timings.
struct Behavior {
  std::vector<size_t> failing;   ///< timings with findings
  std::set<unsigned> codes;      ///< in all timings
  std::set<unsigned> firstCodes; ///< in the first of the failing ones
  std::set<uint32_t> lines;
  std::vector<Diagnostic> findings;
  std::vector<unsigned> scores;  ///< by timing
  std::vector<Results> clean;    ///< of runs without findings, each once
  std::vector<Results> complete; ///< of runs to the end
  uint64_t most = 0;             ///< instructions
  bool withinWarp = false;       ///< two lanes of one warp are in conflict
  ExecutionProfile profile;
};

class Repairer {
public:
  Repairer(const RepairSubject &subject, const RepairOptions &options, RepairReport &report)
      : subject(subject), options(options), report(report) {}

  void run() {
    const ptx::Function *entry = subject.module->function(subject.kernel);
    if (!entry)
      return;
    compares = !addsFloats(*subject.module, *entry);
    module = subject.module;
    Behavior first = observe();
    report.findings = first.findings;
    report.timings = subject.timings.size();
    report.ran = !first.profile.instructions.empty();
    if (first.failing.empty() || !report.ran)
      return;
    clean = first.clean;
    complete = first.complete;
    Behavior now = std::move(first);
    std::vector<std::string> steps;
    Strength strongest = Strength::InitFence;
    for (unsigned round = 1; round <= options.rounds; ++round) {
      std::optional<Step> partial;
      tried.clear();
      for (Effort effort : {Effort::Likely, Effort::Waits, Effort::All})
        if (report.patches.empty())
          tryAll(now, round, effort, steps, strongest, partial);
      if (!report.patches.empty() || !partial)
        return;
      steps.push_back(partial->what);
      strongest = std::max(strongest, partial->strength);
      module = partial->module;
      now = observe();
      if (now.failing.empty())
        return; // verified as a whole, and rejected
    }
  }

private:
  struct Step {
    std::shared_ptr<const ptx::Module> module;
    std::string what;
    Strength strength;
    unsigned score;
  };

  static unsigned weightOf(unsigned code) {
    return code == EmuMissingProxyFence                   ? 1
           : code == EmuDeadlock || code == EmuNoProgress ? 50
                                                          : 10;
  }

  bool counts(const Diagnostic &d) const { return tierOf(d) >= options.limit; }

  unsigned scoreOf(const Report &ran) const {
    unsigned score = ran.completed ? 0 : 1000;
    for (const Diagnostic &d : ran.findings)
      if (counts(d))
        score += weightOf(d.code);
    return score;
  }

  /// Runs the current kernel in all timings.
  Behavior observe() {
    Behavior now;
    for (size_t t = 0; t < subject.timings.size(); ++t) {
      LaunchOptions timing = subject.timings[t];
      if (now.most)
        timing.maxInstructions = std::min(timing.maxInstructions, 64 * now.most + (1 << 22));
      // A run that stops early does not show who executes what.
      bool profiled = !now.profile.complete;
      timing.profile = profiled ? &now.profile : nullptr;
      Trial trial = subject.run(module, timing);
      now.profile.complete |= profiled && trial.report.completed;
      note(now, t, std::move(trial));
    }
    return now;
  }

  void note(Behavior &now, size_t timing, Trial trial) {
    std::set<unsigned> codes;
    unsigned score = scoreOf(trial.report);
    now.scores.push_back(score);
    now.most = std::max(now.most, trial.report.stats.spent);
    for (const Diagnostic &d : trial.report.findings) {
      if (!counts(d))
        continue;
      codes.insert(d.code);
      now.lines.insert(lineFact(d, "ptx_line"));
      now.lines.insert(lineFact(d, "other_ptx_line"));
      bool known = std::any_of(now.findings.begin(), now.findings.end(), [&](const auto &other) {
        return other.code == d.code && findingLines(other) == findingLines(d);
      });
      if (!known)
        now.findings.push_back(d);
    }
    for (const FindingSite &site : trial.report.sites)
      if (codes.count(site.code)) {
        for (auto [warp, other] : site.warps)
          now.withinWarp |= warp == other;
        now.lines.insert(site.line);
        now.lines.insert(site.otherLine);
      }
    now.codes.insert(codes.begin(), codes.end());
    if (score && now.failing.empty())
      now.firstCodes = codes;
    if (score)
      now.failing.push_back(timing);
    auto keep = [&](std::vector<Results> &list) {
      if (!std::count(list.begin(), list.end(), trial.results))
        list.push_back(trial.results);
    };
    if (!score)
      keep(now.clean);
    if (trial.report.completed)
      keep(now.complete);
  }

  /// Tries all candidates for the findings of the current kernel.
  void tryAll(const Behavior &now, unsigned round, Effort effort,
              const std::vector<std::string> &steps, Strength strongest,
              std::optional<Step> &partial) {
    const ptx::Function *entry = module->function(subject.kernel);
    // Findings of other timings may be consequences.
    const std::set<unsigned> &codes = effort == Effort::Likely ? now.firstCodes : now.codes;
    RepairContext context(*module, *entry, now.profile, codes, now.lines, subject.blockWarps,
                          subject.clusterBlocks, now.withinWarp, effort);
    Candidates candidates = candidatesFor(context);
    std::set<Strength> accepted;
    std::map<Strength, unsigned> spent;
    std::optional<Patch> doubtful;
    RepairProgress progress;
    progress.round = round;
    progress.candidates = unsigned(candidates.size());
    for (const Candidate &candidate : candidates) {
      ++progress.trial;
      if (report.trials >= options.maxTrials)
        break;
      if (accepted.count(candidate.strength) ||
          (effort != Effort::All && spent[candidate.strength] >= mostLikely))
        continue;
      std::string text = applyEdits(module->text, candidate.edits);
      if (!tried.insert(text).second)
        continue;
      ptx::ParseResult parsed = ptx::parse(text, module->name);
      if (!parsed.module)
        continue;
      if (options.progress) {
        progress.what = candidate.what;
        options.progress(progress);
      }
      ++report.trials;
      ++report.tried[candidate.strength];
      ++spent[candidate.strength];
      unsigned score = 0;
      Verdict verdict = verify(parsed.module, now, score);
      if (verdict == Verdict::Rejected) {
        bool better = score < now.scores[now.failing[0]] && (!partial || score < partial->score);
        if (better)
          partial = Step{parsed.module, candidate.what, candidate.strength, score};
        continue;
      }
      std::vector<std::string> all = steps;
      all.push_back(candidate.what);
      Patch patch = patchOf(text, std::max(strongest, candidate.strength), std::move(all));
      if (verdict == Verdict::Doubtful) {
        if (!doubtful)
          doubtful = std::move(patch);
        continue;
      }
      accepted.insert(candidate.strength);
      report.patches.push_back(std::move(patch));
      if (report.patches.size() >= options.patches)
        return;
    }
    if (report.patches.empty() && doubtful)
      report.patches.push_back(std::move(*doubtful));
  }

  enum class Verdict {
    Rejected,
    Doubtful, ///< without findings, but no run of the kernel as it is had these results
    Accepted
  };

  /// Runs a changed kernel in all timings, first where the unchanged one fails. \p score is that
  /// of the first run.
  Verdict verify(const std::shared_ptr<const ptx::Module> &changed, const Behavior &before,
                 unsigned &score) {
    std::vector<size_t> order = {before.failing[0]};
    for (size_t t = 0; t < subject.timings.size(); ++t)
      if (t != before.failing[0])
        order.push_back(t);
    std::optional<Results> results;
    for (size_t t : order) {
      LaunchOptions timing = subject.timings[t];
      timing.maxInstructions = std::min(timing.maxInstructions, 16 * before.most + (1 << 18));
      Trial trial = subject.run(changed, timing);
      unsigned here = scoreOf(trial.report);
      if (t == before.failing[0])
        score = here;
      if (here)
        return Verdict::Rejected;
      if (compares && results && *results != trial.results)
        return Verdict::Rejected;
      results = std::move(trial.results);
      if (compares && clean.size() == 1 && *results != clean[0])
        return Verdict::Rejected;
    }
    if (compares && !complete.empty() && !std::count(complete.begin(), complete.end(), *results))
      return Verdict::Doubtful;
    return Verdict::Accepted;
  }

  /// Leaves out changes that the patch does not need, and describes it.
  Patch patchOf(const std::string &text, Strength strength, std::vector<std::string> inserted) {
    const std::string &original = subject.module->text;
    std::vector<LineChange> changes = changesBetween(original, text);
    if (inserted.size() > 1)
      for (size_t c = 0; c < changes.size() && changes.size() > 1;) {
        std::vector<LineChange> fewer = changes;
        fewer.erase(fewer.begin() + int64_t(c));
        if (worksWith(fewer))
          changes = std::move(fewer);
        else
          ++c;
      }
    Patch patch;
    patch.strength = strength;
    patch.text = applyChanges(original, changes);
    patch.diff = unifiedDiff(original, changes, subject.module->name,
                             [&](uint32_t line) { return sourceOf(line); });
    // Changes that were left out are not in the text.
    std::erase_if(inserted, [&](const std::string &what) {
      return patch.text.find(what) == std::string::npos;
    });
    patch.inserted = std::move(inserted);
    return patch;
  }

  bool worksWith(const std::vector<LineChange> &changes) {
    ptx::ParseResult parsed =
        ptx::parse(applyChanges(subject.module->text, changes), subject.module->name);
    if (!parsed.module)
      return false;
    std::optional<Results> results;
    for (const LaunchOptions &timing : subject.timings) {
      Trial trial = subject.run(parsed.module, timing);
      if (scoreOf(trial.report) || (compares && results && *results != trial.results))
        return false;
      results = std::move(trial.results);
    }
    return !compares || clean.size() != 1 || *results == clean[0];
  }

  /// "rows.cu:9", for a line of the PTX.
  std::string sourceOf(uint32_t line) const {
    const ptx::Instruction *nearest = nullptr;
    const ptx::Function *entry = subject.module->function(subject.kernel);
    for (const ptx::Function *function : reachedFunctions(*subject.module, *entry))
      for (const auto &inst : function->body)
        if (inst->line >= line && inst->loc.line && subject.module->files.count(inst->loc.file) &&
            (!nearest || inst->line < nearest->line))
          nearest = inst.get();
    return nearest ? subject.module->files.at(nearest->loc.file) + ":" +
                         std::to_string(nearest->loc.line)
                   : "";
  }

  const RepairSubject &subject;
  const RepairOptions &options;
  RepairReport &report;
  std::shared_ptr<const ptx::Module> module; ///< with the steps so far
  std::vector<Results> clean, complete;      ///< of the unchanged kernel
  bool compares = true;
  std::set<std::string> tried; ///< texts, in this round
};

} // namespace

Candidates candidatesFor(const RepairContext &context) {
  Candidates all;
  // Misuse of an mbarrier is most often one that is not published, or whose phases nobody waits
  // for. Arrivals that come too early or too often are a consequence.
  bool misused = context.has({EmuMbarrierMisuse});
  bool onlyWaits = context.effort == Effort::Waits;
  if (!onlyWaits) {
    proposeProxyFences(context, all);
    proposeBarriers(context, all);
    proposeCounts(context, all);
  }
  if (!onlyWaits && !(misused && context.effort == Effort::Likely)) {
    proposeGroups(context, all);
    proposeArrivals(context, all);
    proposeMemoryOrder(context, all);
  }
  proposeWaits(context, all);
  sortCandidates(all);
  return all;
}

std::string RepairReport::triedText() const {
  std::string text;
  for (auto [strength, count] : tried)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + nameOf(strength);
  return text;
}

RepairReport repair(const RepairSubject &subject, const RepairOptions &options) {
  RepairReport report;
  Repairer(subject, options, report).run();
  return report;
}

RepairSubject subjectOf(Device &device, const LoadedModule &module, const std::string &kernel,
                        const LaunchConfig &config, unsigned timings) {
  constexpr uint32_t mostStarved = 64;
  RepairSubject subject;
  subject.module = module.module;
  subject.kernel = kernel;
  const ptx::Function *entry = module.module->function(kernel);
  subject.blockWarps = (config.block[0] * config.block[1] * config.block[2] + 31) / 32;
  for (size_t d = 0; d < 3; ++d)
    subject.clusterBlocks *= std::max(
        1u, entry && entry->requiredCluster[0] ? entry->requiredCluster[d] : config.cluster[d]);
  TimingSequence tried{timings, std::min(subject.blockWarps * subject.clusterBlocks, mostStarved),
                       2};
  for (uint64_t t = 0; t < tried.size(); ++t)
    subject.timings.push_back(tried[t]);
  auto before = std::make_shared<Snapshot>(device.memory);
  subject.run = [&device, &module, kernel, config,
                 before](const std::shared_ptr<const ptx::Module> &changed,
                         const LaunchOptions &timing) {
    LoadedModule loaded;
    loaded.module = changed;
    loaded.globals = module.globals; // candidates declare no variables of the module
    LaunchOptions options = timing;
    options.threads = 1;
    Trial trial;
    trial.report = device.launch(loaded, kernel, config, options);
    trial.results = before->now();
    before->restore();
    return trial;
  };
  return subject;
}

} // namespace penstock::emu
