//===- Mutate.cpp - Is broken synchronization noticed? --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/Compiler.h"
#include "Diagnostics/Codes.h"
#include "Runtime/ThreadPool.h"
#include "Testing/Check/KernelUnderTest.h"
#include "Testing/Check/Shards.h"
#include "Testing/Mutation/EquivalenceEvidence.h"
#include "Testing/Mutation/WrittenReasons.h"

#include <deque>

using namespace penstock;

namespace {

/// Pairs of more instructions are too many to try.
constexpr size_t mostInPairs = 10;

/// All mutants of one kernel.
class Mutator {
public:
  Mutator(const KernelUnderTest &tested, const MutateOptions &options, MutateReport &report)
      : tested(tested), options(options), report(report) {}

  void run() {
    bool chosen = !options.shapes.empty();
    std::vector<Shape> shapes =
        chosen ? options.shapes : smallShapes(tested.arguments, tested.fields, tested.hints());
    // The author's shapes may need instructions that the small shapes do not.
    for (const Shape &shape : tested.shapes)
      if (!chosen && isComplete(shape, tested.arguments))
        shapes.push_back(shape);
    for (const Shape &shape : shapes) {
      Case on = prepareCase(tested, shape, Data::Exact, options.seed);
      if (!on.problems.empty()) {
        refuse(on.problems, chosen);
        continue;
      }
      cases.push_back(std::move(on));
    }
    if (!runOriginal(chosen) || cases.empty())
      return;
    for (const auto &variant : tested.variants)
      mutate(*variant);
  }

private:
  struct Fate {
    Mutant::Fate fate = Mutant::Survived;
    unsigned code = 0;
    std::string reason;
  };

  void refuse(const std::vector<Diagnostic> &problems, bool chosen) {
    // Default-grid shapes may be unsupported; not a failure.
    if (chosen || !isRefusal(problems.front()))
      report.diagnostics.insert(report.diagnostics.end(), problems.begin(), problems.end());
  }

  /// Runs the original kernel, to which mutants are compared. False if it has findings.
  bool runOriginal(bool chosen) {
    uint64_t number = 0;
    for (size_t c = 0; c < cases.size(); ++c) {
      Case &on = cases[c];
      emu::TimingSequence tried = timings(*on.variant);
      for (uint64_t t = 0; t < tried.size(); ++t) {
        emu::LaunchOptions timing = tried[t];
        timing.onBarrier = evidence[on.variant].listener(number++);
        Run done = runCase(tested, *on.variant, on, timing);
        if (!done.report.findings.empty() && isRefusal(done.report.findings.front())) {
          refuse(done.report.findings, chosen);
          cases.erase(cases.begin() + int64_t(c--));
          break;
        }
        longest = std::max(longest, done.report.stats.spent);
        if (!on.expected && done.completed())
          on.expected = copyOf(done.after);
        Difference difference;
        if (done.completed())
          difference = compareResults(tested.arguments, done.after, *on.expected, Data::Exact);
        if (done.completed() && !difference.elements)
          continue;
        Diagnostic d;
        d.code = CheckWrongResult;
        d.location = tested.info.location;
        d.message = "`" + tested.name + "` is not sound as it is, for " + textOf(on.shape) + ": " +
                    (difference.elements            ? difference.first
                     : done.report.findings.empty() ? "it did not run to its end"
                                                    : done.report.findings.front().message);
        d.helps.push_back("`penstock check` shows all findings");
        report.diagnostics.push_back(std::move(d));
        return false;
      }
    }
    return true;
  }

  void mutate(const EmulatedKernel &variant) {
    bool used = false;
    for (const Case &on : cases)
      used |= on.variant == &variant;
    if (!used) {
      Diagnostic d;
      d.severity = Severity::Warning;
      d.code = MutantSurvived;
      d.location = tested.info.location;
      d.message = "no shape reaches a variant of `" + tested.name +
                  "`, whose mutants are therefore not tried";
      report.diagnostics.push_back(std::move(d));
      return;
    }
    std::vector<Mutation> mutations = mutationsOf(*variant.module, variant.kernel.name);
    std::vector<std::optional<Mutant>> results(mutations.size());
    parallelFor(mutations.size(), options.jobs, [&](uint64_t index, int) {
      const Mutation &mutation = mutations[index];
      // The text and its line: the same on every worker.
      std::string item = tested.name + " " + tested.target + " " + std::to_string(mutation.line) +
                         " " + mutation.instruction + " " + describe(mutation.change);
      if (!inShard(item, options.shard, options.shards))
        return;
      if (!announce(mutation, index, mutations.size()))
        return;
      Fate fate = fateOf(variant, mutation, mutations);
      results[index] = describeMutant(variant, mutation, fate);
    });
    for (auto &result : results)
      if (result)
        report.mutants.push_back(std::move(*result));
  }

  static SourceLocation sourceOf(const EmulatedKernel &variant, const Mutation &mutation) {
    auto file = variant.module->files.find(mutation.loc.file);
    if (!mutation.loc.line || file == variant.module->files.end())
      return {};
    return {file->second, mutation.loc.line, mutation.loc.column};
  }

  Mutant describeMutant(const EmulatedKernel &variant, const Mutation &mutation, const Fate &fate) {
    Mutant result;
    result.kernel = tested.name;
    result.target = tested.target;
    result.change = describe(mutation.change);
    result.instruction = mutation.instruction;
    result.ptx = variant.module->location(mutation.line, mutation.column);
    result.source = sourceOf(variant, mutation);
    result.fate = fate.fate;
    result.code = fate.code;
    result.reason = fate.reason;
    return result;
  }

  bool announce(const Mutation &mutation, uint64_t index, size_t total) {
    std::lock_guard lock(mutex);
    if (!options.progress || report.cancelled)
      return !report.cancelled;
    CheckProgress progress;
    progress.kernel = tested.name;
    progress.what = mutation.instruction + " " + describe(mutation.change);
    progress.number = int(index) + 1;
    progress.total = int(total);
    options.progress(progress);
    report.cancelled = progress.cancel;
    return !report.cancelled;
  }

  std::shared_ptr<EmulatedKernel> read(const EmulatedKernel &variant, std::string text) {
    DeviceKernel kernel = variant.kernel;
    kernel.ptx = std::move(text);
    std::vector<Diagnostic> diagnostics;
    auto result = readForEmulation(std::move(kernel), diagnostics);
    std::lock_guard lock(mutex);
    report.diagnostics.insert(report.diagnostics.end(), diagnostics.begin(), diagnostics.end());
    return result;
  }

  /// The timings of mutants, \p times as many as were asked for.
  emu::TimingSequence timings(const EmulatedKernel &variant, uint64_t times = 1) const {
    return timingsFor(variant, times * uint64_t(options.timings), options.seed);
  }

  emu::LaunchOptions limited(emu::LaunchOptions launch) const {
    launch.threads = 1; // several mutants run at the same time
    launch.maxInstructions = 4 * longest + 1000000;
    return launch;
  }

  Fate fateOf(const EmulatedKernel &variant, const Mutation &mutation,
              const std::vector<Mutation> &all) {
    if (!mutation.equivalent.empty())
      return {Mutant::Equivalent, 0, mutation.equivalent};
    const Mutation *one[] = {&mutation};
    auto mutant = read(variant, applied(variant.kernel.ptx, one));
    if (!mutant)
      return {Mutant::Survived, 0, "the changed text cannot be read"};
    emu::TimingSequence tried = timings(variant);
    for (uint64_t t = 0; t < tried.size(); ++t)
      for (const Case &on : cases)
        if (on.variant == &variant)
          if (auto killed = killedIn(*mutant, on, tried[t]))
            return *killed;
    auto seldom = whereReached(variant, mutation);
    if (!seldom)
      return {Mutant::Unreached, 0, "no shape and no timing gets there"};
    if (auto killed = killedIn(*mutant, *seldom->first, seldom->second))
      return *killed;
    std::string reason = reasonFor(variant, mutation, all);
    if (!reason.empty())
      return {Mutant::Explained, 0, reason};
    return {Mutant::Survived, 0, "every run passes"};
  }

  /// Returns the fate of the mutant in one run, if it is detected.
  std::optional<Fate> killedIn(const EmulatedKernel &mutant, const Case &on,
                               const emu::LaunchOptions &timing) const {
    Run done = runCase(tested, mutant, on, limited(timing));
    for (const Diagnostic &d : done.report.findings)
      if (d.severity == Severity::Error)
        return Fate{Mutant::Killed, d.code, d.message};
    if (!done.report.completed)
      return Fate{Mutant::Killed, EmuNoProgress, "it did not run to its end"};
    Difference difference = compareResults(tested.arguments, done.after, *on.expected, Data::Exact);
    if (difference.elements)
      return Fate{Mutant::Killed, 0, difference.first};
    return std::nullopt;
  }

  /// A run of the unchanged kernel that gets to the instruction. Some, as a wait
  /// after a test that seldom fails, need more timings than all others do.
  std::optional<std::pair<const Case *, emu::LaunchOptions>>
  whereReached(const EmulatedKernel &variant, const Mutation &mutation) {
    auto trap = read(variant, trapped(variant.kernel.ptx, mutation));
    if (!trap)
      return std::nullopt;
    emu::TimingSequence tried = timings(variant, 20);
    for (uint64_t t = 0; t < tried.size(); ++t)
      for (const Case &on : cases)
        if (on.variant == &variant &&
            runCase(tested, *trap, on, limited(tried[t])).report.has(EmuTrap))
          return std::pair(&on, tried[t]);
    return std::nullopt;
  }

  std::string reasonFor(const EmulatedKernel &variant, const Mutation &mutation,
                        const std::vector<Mutation> &all) {
    if (!mutation.ifUnnoticed.empty())
      return mutation.ifUnnoticed;
    if (std::string reason = uncheckedReason(mutation); !reason.empty())
      return reason;
    if (std::string reason = equivalenceReasons().find(tested.name, sourceOf(variant, mutation),
                                                       mutation.instruction);
        !reason.empty())
      return reason;
    bool arrives =
        mutation.kind == SyncKind::BarrierArrive || mutation.kind == SyncKind::TensorCommit;
    if (arrives && evidence.at(&variant).isNeverAwaited(mutation.line))
      return "no run waits for a phase in which this arrives";
    if (mutation.kind == SyncKind::ProxyFence && mutation.change == Change::Removed)
      if (std::string added = addedTo(variant, mutation, {}, /*fenceReads=*/true); !added.empty())
        return "it follows reads of what an engine overwrites, for which the ISA requires it; if "
               "the "
               "emulator requires it as well, removing it is detected (" +
               added + ")";
    switch (mutation.change) {
    case Change::Removed:
    case Change::OnePendingMore:
    case Change::NotReleased:
    case Change::NotAcquired:
      return coveredBy(variant, mutation, all);
    default:
      return "";
    }
  }

  /// Finds another instruction of the same kind that orders the same, or two of them: removing
  /// all, or weakening all, is detected; removing this one alone is not.
  std::string coveredBy(const EmulatedKernel &variant, const Mutation &mutation,
                        const std::vector<Mutation> &all) {
    bool weakened =
        mutation.change == Change::NotReleased || mutation.change == Change::NotAcquired;
    std::string changing = weakened ? "weakening" : "removing";
    std::vector<const Mutation *> others;
    for (const Mutation &other : all)
      if (other.kind == mutation.kind && other.begin != mutation.begin &&
          other.change == (weakened ? mutation.change : Change::Removed))
        others.push_back(&other);
    for (const Mutation *other : others)
      if (std::string added = addedTo(variant, mutation, {other}); !added.empty())
        return "line " + std::to_string(other->line) + " orders the same: " + changing +
               " both is detected (" + added + "); " + changing + " either alone is not";
    // A loop has one barrier before and one behind what its threads share.
    for (size_t i = 0; others.size() <= mostInPairs && i < others.size(); ++i)
      for (size_t j = i + 1; j < others.size(); ++j)
        if (std::string added = addedTo(variant, mutation, {others[i], others[j]}); !added.empty())
          return "lines " + std::to_string(others[i]->line) + " and " +
                 std::to_string(others[j]->line) + " order the same: " + changing +
                 " all three is detected (" + added + "); " + changing + " this one alone is not";
    return "";
  }

  /// Returns the first finding that a mutation adds to those of a variant, in any case.
  std::string addedTo(const EmulatedKernel &variant, const Mutation &mutation,
                      const std::vector<const Mutation *> &others, bool fenceReads = false) {
    std::vector<const Mutation *> with = others;
    with.push_back(&mutation);
    auto without = read(variant, applied(variant.kernel.ptx, others));
    auto together = read(variant, applied(variant.kernel.ptx, with));
    for (const Case &on : cases) {
      if (!without || !together || on.variant != &variant)
        continue;
      // A change may hide findings behind a limit.
      emu::LaunchOptions launch = limited({});
      launch.maxFindings = 1000;
      launch.fenceReads = fenceReads;
      std::string added = addedBy(keysOf(runCase(tested, *together, on, launch).report),
                                  keysOf(runCase(tested, *without, on, launch).report));
      if (!added.empty())
        return added;
    }
    return "";
  }

  const KernelUnderTest &tested;
  const MutateOptions &options;
  MutateReport &report;
  std::deque<Case> cases;
  std::map<const EmulatedKernel *, BarrierEvidence> evidence;
  uint64_t longest = 0; ///< what the longest run of the kernel as it is has spent
  std::mutex mutex;
};

bool usable(const MutateOptions &options, MutateReport &report) {
  if (options.timings >= 1)
    return true;
  Diagnostic d;
  d.code = ToolUsage;
  d.message = "mutants need at least one timing";
  report.diagnostics.push_back(std::move(d));
  return false;
}

} // namespace

MutateReport penstock::mutate_registered(const std::string &kernel, Target target,
                                         const MutateOptions &options) {
  MutateReport report;
  if (!usable(options, report))
    return report;
  if (auto tested = compileRegistered(kernel, target, options.set, report.diagnostics,
                                      /*contract=*/false, options.inputs))
    Mutator(*tested, options, report).run();
  return report;
}

MutateReport penstock::mutate_all(Target target, const MutateOptions &options) {
  MutateReport report;
  if (!usable(options, report))
    return report;
  for (const KernelDescription &kernel : registered_kernels()) {
    if (report.cancelled)
      break;
    std::vector<Diagnostic> diagnostics;
    if (auto tested = compileRegistered(kernel.name, target, options.set, diagnostics,
                                        /*contract=*/false, options.inputs))
      Mutator(*tested, options, report).run();
    else
      report.skipped.push_back({kernel.name, architectureOf(target).name,
                                diagnostics.empty() ? "" : diagnostics.front().message});
  }
  return report;
}
