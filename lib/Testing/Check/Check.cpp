//===- Check.cpp - Kernels over shapes and timings ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/Compiler.h"
#include "Diagnostics/Codes.h"
#include "Runtime/ThreadPool.h"
#include "Testing/Check/Coverage.h"
#include "Testing/Check/KernelUnderTest.h"
#include "Testing/Check/PassedRuns.h"
#include "Testing/Check/Shards.h"
#include "Testing/Mutation/WrittenReasons.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>

using namespace penstock;

namespace {

class Checker {
public:
  Checker(const CheckOptions &options, CheckReport &report) : options(options), report(report) {
    report.diagnostics = passed.open(options.state);
    usable = report.diagnostics.empty();
    if (options.timings < 1 || options.data.empty()) {
      Diagnostic d;
      d.code = ToolUsage;
      d.message = "a check needs at least one timing and one kind of data";
      report.diagnostics.push_back(std::move(d));
      usable = false;
    }
  }

  void check(const KernelUnderTest &tested) {
    bool chosen = !options.shapes.empty();
    std::vector<Shape> shapes = chosen ? options.shapes : tested.allShapes();
    begin = Clock::now();
    Coverage coverage(tested.program, tested.arguments);
    size_t first = report.shapes.size();
    std::vector<Shape> more =
        chosen || options.shards > 1 ? std::vector<Shape>() : tested.moreShapes();
    for (size_t i = 0; i < shapes.size(); ++i) {
      if (report.cancelled)
        return;
      const Shape shape = shapes[i];
      if (!inShard(tested.name + " " + tested.target + " " + textOf(shape), options.shard,
                   options.shards))
        continue;
      report.shapes.push_back(checkShape(tested, shape, chosen, coverage));
      if (options.finished)
        options.finished(report.shapes.back());
      if (i + 1 == shapes.size() && !more.empty() && coverage.hasShortLoop()) {
        shapes.push_back(more.front());
        more.erase(more.begin());
      }
    }
    if (!report.cancelled)
      conclude(tested, shapes, chosen, coverage, first);
  }

  bool usable = true;

private:
  using Clock = std::chrono::steady_clock;
  static double secondsSince(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }
  bool isOver() const { return secondsSince(begin) >= options.seconds; }

  /// Reports the coverage of a kernel's runs, and that there were none.
  void conclude(const KernelUnderTest &tested, const std::vector<Shape> &shapes, bool chosen,
                const Coverage &coverage, size_t first) {
    CheckedCoverage covered;
    covered.kernel = tested.name;
    covered.target = tested.target;
    covered.inputs = tested.inputs.text();
    bool ran = options.shards > 1, complete = options.shards == 1, failed = false;
    std::string refused;
    for (size_t i = first; i < report.shapes.size(); ++i) {
      const CheckedShape &shape = report.shapes[i];
      ran |= shape.runs + shape.skipped > 0 || !shape.findings.empty();
      complete &= shape.not_run == 0;
      failed |= !shape.findings.empty();
      if (refused.empty())
        refused = shape.refused;
    }
    // Coverage says nothing about what other shards or more time run, and a kernel that fails has
    // more urgent findings.
    if (complete && !failed && ran && !tested.program->isExplicit())
      for (Diagnostic &hole : coverage.holes(shapes, *tested.conditions))
        addHole(tested, chosen, std::move(hole), covered);
    if (!ran) {
      Diagnostic d;
      d.code = CheckNothingRan;
      d.location = tested.info.location;
      d.message = "no run of `" + tested.name + "` for " + tested.target + " was made" +
                  (refused.empty() ? "" : ": " + refused);
      d.helps.push_back(refused.empty() ? "allow more time with --seconds, or use smaller shapes"
                                        : "state shapes with --shape or PENSTOCK_SHAPES, and "
                                          "values of inputs with --input or in the signature");
      report.diagnostics.push_back(std::move(d));
    }
    report.coverage.push_back(std::move(covered));
    if (options.covered)
      options.covered(report.coverage.back());
  }

  void addHole(const KernelUnderTest &tested, bool chosen, Diagnostic hole,
               CheckedCoverage &to) const {
    std::string reason = coverageWaivers().find(tested.name, hole.location);
    for (const auto &[text, why] : options.waive)
      if (reason.empty() && namesLine(text, hole.location))
        reason = why;
    if (!reason.empty()) {
      to.waived.emplace_back(std::move(hole), reason);
      return;
    }
    hole.message = "`" + tested.name + "`: " + hole.message;
    hole.severity = chosen ? Severity::Warning : Severity::Error;
    if (to.holes.empty() && !chosen) // one help for all
      hole.helps.push_back("add shapes with --shape or PENSTOCK_SHAPES, describe inputs with "
                           "--input or in the signature, or give a reason with PENSTOCK_WAIVE");
    to.holes.push_back(std::move(hole));
  }

  CheckedShape checkShape(const KernelUnderTest &tested, const Shape &shape, bool chosen,
                          Coverage &coverage) {
    auto started = Clock::now();
    CheckedShape result;
    result.kernel = tested.name;
    result.target = tested.target;
    result.shape = textOf(shape);
    if (tested.reference)
      result.reference = tested.reference->name;
    for (Data data : options.data) {
      if (isOver()) {
        ++result.not_run; // at least one
        continue;
      }
      if (!announce(tested, result.shape + ", reference", 0, 0))
        break;
      Case on = prepareCase(tested, shape, data, options.seed, &coverage);
      if (on.expected)
        (on.expected->isExact(data) ? result.exactly : result.within_bounds) = true;
      if (on.variant) {
        result.warps = (on.variant->kernel.threads + 31) / 32;
        if (on.problems.empty())
          runTimings(tested, on, data, result);
      }
      for (Diagnostic &d : on.problems)
        addFinding(result, std::move(d));
    }
    // Default-grid shapes may be unsupported; not a failure.
    if (!chosen && !result.findings.empty() && isRefusal(result.findings.front())) {
      result.refused = result.findings.front().message;
      result.findings.clear();
      result.runs = 0;
    }
    emu::sortFindings(result.findings);
    referToFirst(result);
    result.seconds = secondsSince(started);
    return result;
  }

  void runTimings(const KernelUnderTest &tested, const Case &on, Data data, CheckedShape &result) {
    std::string run = tested.name + " " + tested.target + " " +
                      fingerprint(on.variant->kernel.ptx) + " " + result.shape + " " +
                      nameOf(data) + " " + std::to_string(options.seed) + " ";
    std::atomic<bool> refused = false;
    emu::TimingSequence timings = timingsFor(*on.variant, uint64_t(options.timings), options.seed);
    // Starvation does not depend on data: one kind is enough.
    if (data != options.data.front())
      timings.warps = 0;
    // In the order of timings, whichever run ends first.
    std::map<uint64_t, std::vector<Diagnostic>> found;
    parallelFor(timings.size(), options.jobs, [&](uint64_t item, int) {
      emu::LaunchOptions timing = timings[item];
      std::string key = run + timingText(timing);
      if (passed.has(key)) {
        std::lock_guard lock(mutex);
        ++result.skipped;
        return;
      }
      if (isOver()) {
        std::lock_guard lock(mutex);
        ++result.not_run;
        return;
      }
      if (refused || !announce(tested, result.shape, item + 1, timings.size()))
        return;
      timing.threads = 1; // several launches run at the same time
      Run done = runCase(tested, *on.variant, on, timing);
      Difference difference;
      if (done.completed() && on.expected)
        difference = compareResults(tested.arguments, done.after, *on.expected, data);
      if (done.report.findings.empty() && done.report.completed && !difference.elements)
        passed.add(key);
      std::lock_guard lock(mutex);
      ++result.runs;
      result.blocks = std::max(result.blocks, done.report.stats.blocks);
      for (Diagnostic &d : done.report.findings)
        refused = refused || isRefusal(d);
      if (!done.report.findings.empty())
        found[item] = std::move(done.report.findings);
      if (difference.elements) {
        ++result.wrong;
        found[item].push_back(wrongResult(tested, result, difference, data, timing));
      }
    });
    for (auto &[item, list] : found)
      for (Diagnostic &d : list)
        addFinding(result, std::move(d));
  }

  Diagnostic wrongResult(const KernelUnderTest &tested, const CheckedShape &shape,
                         const Difference &difference, Data data,
                         const emu::LaunchOptions &timing) const {
    Diagnostic d;
    d.code = CheckWrongResult;
    d.location = tested.info.location;
    d.message = "`" + tested.name + "` differs from `" + shape.reference + "` for " + shape.shape +
                ", " + nameOf(data) + " data, timing " + timingText(timing) + ": " +
                std::to_string(difference.elements) + " elements; " + difference.first;
    d.facts = {{"shape", shape.shape}, {"data", nameOf(data)}, {"timing", timingText(timing)}};
    return d;
  }

  /// Tells who listens what comes next; false if it is to be the end.
  bool announce(const KernelUnderTest &tested, const std::string &shape, uint64_t number,
                uint64_t total) {
    std::lock_guard lock(mutex);
    if (!options.progress || report.cancelled)
      return !report.cancelled;
    CheckProgress progress;
    progress.kernel = tested.name;
    progress.what = shape;
    progress.number = int(number);
    progress.total = int(total);
    options.progress(progress);
    report.cancelled = progress.cancel;
    return !report.cancelled;
  }

  /// Returns whether two findings are one: the same kind, at the same lines in either order.
  static bool isSame(const Diagnostic &a, const Diagnostic &b) {
    return a.code == b.code && emu::findingLines(a) == emu::findingLines(b);
  }

  /// The same error shows in many timings: the first is kept.
  static void addFinding(CheckedShape &result, Diagnostic finding) {
    for (const Diagnostic &known : result.findings)
      if (isSame(known, finding))
        return;
    result.findings.push_back(std::move(finding));
  }

  /// Names the first shape of this kernel that showed the same.
  void referToFirst(CheckedShape &result) const {
    for (Diagnostic &d : result.findings)
      for (const CheckedShape &earlier : report.shapes) {
        bool shown = earlier.kernel == result.kernel && earlier.target == result.target &&
                     std::ranges::any_of(earlier.findings,
                                         [&](const Diagnostic &known) { return isSame(known, d); });
        if (!shown)
          continue;
        d.facts.emplace_back("first_shape", earlier.shape);
        break;
      }
  }

  const CheckOptions &options;
  CheckReport &report;
  PassedRuns passed;
  std::mutex mutex;
  Clock::time_point begin; ///< of this kernel
};

} // namespace

CheckReport penstock::check_registered(const std::string &kernel, Target target,
                                       const CheckOptions &options) {
  CheckReport report;
  Checker checker(options, report);
  if (!checker.usable)
    return report;
  if (auto tested = compileRegistered(kernel, target, options.set, report.diagnostics,
                                      /*contract=*/false, options.inputs))
    checker.check(*tested);
  return report;
}

CheckReport penstock::check_all(Target target, const CheckOptions &options) {
  CheckReport report;
  Checker checker(options, report);
  if (!checker.usable)
    return report;
  for (const KernelDescription &kernel : registered_kernels()) {
    if (report.cancelled)
      break;
    std::vector<Diagnostic> diagnostics;
    if (auto tested = compileRegistered(kernel.name, target, options.set, diagnostics,
                                        /*contract=*/false, options.inputs))
      checker.check(*tested);
    else
      report.skipped.push_back({kernel.name, architectureOf(target).name,
                                diagnostics.empty() ? "" : diagnostics.front().message});
  }
  return report;
}

CheckReport penstock::detail::check(const KernelSource &source, Target target,
                                    const CheckOptions &options) {
  CheckReport report;
  Checker checker(options, report);
  if (!checker.usable)
    return report;
  if (auto tested = compileKernelUnderTest(source, target, report.diagnostics, /*contract=*/false,
                                           options.inputs))
    checker.check(*tested);
  return report;
}
