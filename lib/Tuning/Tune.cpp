//===- Tune.cpp - Tunes a kernel for a shape ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tuning/Tune.h"
#include "Compiler/Compiler.h"
#include "Compiler/Registry.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Counters.h"
#include "Diagnostics/Events.h"
#include "Runtime/ThreadPool.h"
#include "Testing/Check/References.h"
#include "Testing/Check/Shards.h"
#include "Testing/Inputs/Shapes.h"
#include "Testing/Inputs/TestData.h"
#include "Tuning/Measure.h"
#include "Tuning/Prune.h"
#include "Tuning/Records.h"
#include "Tuning/Samples.h"
#include "penstock/assemble.h"
#include "penstock/gpu.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <random>

using namespace penstock;
using namespace penstock::tuning;

namespace {

class Tuner {
public:
  Tuner(const detail::TunableKernel &kernel, Target target, const Shape &shape,
        const TuneOptions &options, TuneReport &report)
      : kernel(kernel), target(target), shape(shape), options(options), report(report),
        points(kernel) {
    report.kernel = kernel.name;
    report.target = targetName(target);
    report.shape = penstock::textOf(shape);
  }

  void run() {
    std::string subject = kernel.name + " " + report.shape;
    TimedEvent event(LogLevel::Info, "tune", subject);
    count(counters().tunedShapes);
    if (!prepare())
      return;
    report.candidates.resize(points.size());
    for (size_t i = 0; i < points.size(); ++i) {
      report.candidates[i].fields = points.fields(i);
      report.candidates[i].mine = inShard(report.candidates[i].point());
    }
    openRecords();
    if (options.only_records)
      return finish();
    // The best predicted ones are those of all shards.
    examineAll(report.times != TimeSource::Predicted);
    if (report.times == TimeSource::Predicted)
      removeRejected();
    else if (!report.cancelled) {
      size_t keep = report.times == TimeSource::Native ? nativeKeep(report.candidates, options.keep)
                                                       : options.keep;
      keepBest(report.candidates, keep, options.random, options.seed);
      measure();
    }
    readOtherShards();
    finish();
  }

private:
  bool prepare() {
    report.diagnostics = points.diagnostics();
    if (!report.diagnostics.empty())
      return false;
    std::shared_ptr<void> object = points.make(points.defaultPoint());
    auto classes = ShapeClasses::parse(kernel.space.classes, points.source(object.get()).signature,
                                       kernel.space.at, report.diagnostics);
    if (!classes)
      return false;
    sizes = sizesOf(shape);
    auto shapeClass = classes->of(sizes, report.diagnostics);
    if (!shapeClass)
      return false;
    report.shape_class = *shapeClass;
    auto times = chooseTimes();
    if (!times)
      return false;
    report.times = *times;
    predictor = predictorFor(target);
    report.machine = machineName(target, report.times);
    if (options.machine.empty() || !predictor)
      return true;
    double factor = machine_factor(options.machine, chipOf(target), report.diagnostics);
    if (factor == 0)
      return false;
    predictor = scaled(std::move(predictor), factor);
    if (report.times == TimeSource::Predicted)
      report.machine = predictor->name();
    return true;
  }

  std::optional<TimeSource> chooseTimes() {
    bool isGpu = architectureOf(target).family != hw::Architecture::Family::X86;
    TimeSource asked = options.times;
    bool emulator = target.onEmulator;
    std::string missing;
    if (asked == TimeSource::Best) {
      if (!isGpu)
        return TimeSource::Native;
      return !emulator && gpuFits() ? TimeSource::Events : TimeSource::Predicted;
    }
    if (asked == TimeSource::Native && isGpu)
      missing = report.target + " is not this CPU";
    if (asked == TimeSource::Events && !isGpu)
      missing = "events are for GPUs";
    if (asked == TimeSource::Predicted && !isGpu && !predictorFor(target))
      missing = "this processor was never measured";
    if (asked == TimeSource::Events && isGpu && !gpuFits())
      missing = "there is no GPU of " + report.target;
    if (missing.empty())
      return asked;
    Diagnostic d;
    d.code = TuneMeasure;
    d.location = {kernel.space.at.file, kernel.space.at.line, kernel.space.at.column};
    d.message =
        "`" + kernel.name + "` cannot be timed this way (" + name_of(asked) + "): " + missing;
    d.helps.push_back(isGpu ? "without a GPU, times are predicted"
                            : "on the CPU, times are measured natively");
    report.diagnostics.push_back(std::move(d));
    return std::nullopt;
  }

  bool gpuFits() const {
    if (gpu::count() == 0)
      return false;
    try {
      return gpu::current({}).target({}).kind == target.kind;
    } catch (const Error &) {
      return false; // a GPU that nothing is compiled for
    }
  }

  std::string subjectOf(const TuneCandidate &candidate) const {
    return kernel.name + " " + candidate.point();
  }

  bool inShard(const std::string &point) const {
    return penstock::inShard(kernel.name + " " + report.shape_class + " " + point, options.shard,
                             options.shards);
  }

  void openRecords() {
    KernelCache &cache = options.cache ? *options.cache : KernelCache::process();
    if (!cache.store())
      return;
    records.emplace(*cache.store(), points, target, report.times, report.machine);
    runId = report.times == TimeSource::Predicted ? "predicted" : newRunId();
    for (size_t i = 0; i < points.size() && !options.again; ++i)
      if (auto record = records->lookup(report.shape_class, i)) {
        restore(report.candidates[i], *record);
        report.candidates[i].is_default = i == points.defaultPoint();
      }
  }

  static std::string newRunId() {
    std::random_device device;
    char text[24];
    std::snprintf(text, sizeof text, "%08x%08x", device(), device());
    return text;
  }

  /// Returns whether the record of a candidate is complete.
  static bool isKnown(const TuneCandidate &candidate) {
    return !candidate.removed_by.empty() || !candidate.samples.empty();
  }

  void keepRecord(size_t point, const Record &record) {
    if (!records || records->add(report.shape_class, point, record) || saidUnrecorded)
      return;
    saidUnrecorded = true;
    Diagnostic d;
    d.severity = Severity::Warning;
    d.code = TuneRecord;
    d.message = "the result of `" + kernel.name + "` for " + report.shape +
                " cannot be stored in the cache";
    d.helps.push_back("see `penstock cache stat`, or set PENSTOCK_CACHE_DIR to a directory that "
                      "can be written");
    report.diagnostics.push_back(std::move(d));
  }

  void examineAll(bool ofAllShards) {
    // On a CPU every point can be measured.
    TuneCase on{points, target, sizes, predictor.get(), report.times != TimeSource::Native};
    std::mutex mutex;
    std::vector<size_t> wanted;
    for (size_t i = 0; i < points.size(); ++i)
      if ((ofAllShards || report.candidates[i].mine) && !isKnown(report.candidates[i]))
        wanted.push_back(i);
    size_t done = 0;
    parallelFor(wanted.size(), options.jobs, [&](uint64_t item, int) {
      size_t i = wanted[item];
      TuneCandidate candidate;
      {
        std::lock_guard lock(mutex);
        if (report.cancelled)
          return;
        candidate = report.candidates[i];
      }
      {
        std::string subject = subjectOf(candidate);
        TimedEvent event(LogLevel::Debug, "examine", subject);
        count(counters().tuneExamined);
        examine(on, i, candidate);
      }
      if (report.times == TimeSource::Predicted && candidate.removed_by.empty() &&
          candidate.predicted > 0) {
        candidate.samples = {candidate.predicted};
        summarize(candidate);
      }
      std::lock_guard lock(mutex);
      if (candidate.mine && isKnown(candidate))
        keepRecord(i, recordOf(candidate, runId));
      report.candidates[i] = std::move(candidate);
      announce("examine", ++done, wanted.size(), ranking(report.candidates, listedPoints));
    });
  }

  /// Compiles the points that reports list, and removes points whose registers ptxas rejects, or
  /// the register model if ptxas is not installed. Nothing else compiles points with predicted
  /// times. These times do not include spills, so spills of the fastest point are reported.
  void removeRejected() {
    if (architectureOf(target).family == hw::Architecture::Family::X86)
      return;
    std::map<const TuneCandidate *, std::vector<Diagnostic>> accepted;
    for (bool removed = true; removed && !report.cancelled;) {
      removed = false;
      auto all = ranking(report.candidates, listedPoints);
      if (int best = fastest(report.candidates); best >= 0)
        all.insert(all.begin(), &report.candidates[size_t(best)]);
      for (const TuneCandidate *listed : all) {
        std::vector<Diagnostic> found;
        if (accepted.contains(listed))
          continue;
        size_t point = size_t(listed - report.candidates.data());
        removed = !acceptsRegisters(point, found);
        if (removed) {
          removeRejected(point, found);
          break; // the ranking is another one
        }
        accepted[listed] = std::move(found);
      }
    }
    int best = fastest(report.candidates);
    if (best < 0)
      return;
    for (Diagnostic &d : accepted[&report.candidates[size_t(best)]]) {
      d.message = "`" + kernel.name + "` with " + report.candidates[size_t(best)].point() +
                  ", the fastest: " + d.message;
      report.diagnostics.push_back(std::move(d));
    }
  }

  /// Returns whether a point compiles and is not rejected for its registers.
  bool acceptsRegisters(size_t point, std::vector<Diagnostic> &found) const {
    AnyKernel compiled = compile(point, found);
    if (!compiled)
      return false;
    RegisterCheck registers = check_registers(compiled.ptx(), target);
    found = std::move(registers.diagnostics);
    return registers.outcome != RegisterCheck::Outcome::Rejected;
  }

  void removeRejected(size_t point, const std::vector<Diagnostic> &found) {
    TuneCandidate &candidate = report.candidates[point];
    candidate.samples.clear();
    summarize(candidate);
    auto reason = std::ranges::find(found, Severity::Error, &Diagnostic::severity);
    if (reason == found.end() && !found.empty())
      reason = found.begin(); // the model warns
    if (reason == found.end())
      removeBy(candidate, stageCompile, HardwareAssembler, "it does not compile");
    else
      removeBy(candidate, stageCompile, reason->code, reason->message);
    if (candidate.mine)
      keepRecord(point, recordOf(candidate, runId));
  }

  /// Reads the records of other workers.
  void readOtherShards() {
    if (!records)
      return;
    for (size_t i = 0; i < points.size() && options.shards > 1; ++i) {
      TuneCandidate &candidate = report.candidates[i];
      if (candidate.mine)
        continue;
      if (auto record = records->lookup(report.shape_class, i))
        restore(candidate, *record);
    }
    if (fastest(report.candidates) >= 0)
      records->addClass(report.shape_class);
  }

  void announce(const char *stage, size_t done, size_t total,
                std::vector<const TuneCandidate *> best) {
    if (!options.progress || report.cancelled)
      return;
    TuneProgress progress{kernel.name, stage, done, total, std::move(best), false};
    options.progress(progress);
    report.cancelled = progress.cancel;
  }

  AnyKernel compile(size_t point, std::vector<Diagnostic> &diagnostics) const {
    std::shared_ptr<void> object = points.make(point);
    detail::CompileResult result = detail::compile(points.source(object.get()), target, {});
    diagnostics = std::move(result.diagnostics);
    return AnyKernel(std::move(result.executable));
  }

  /// The default's result is what all others must equal.
  bool runDefault() {
    std::vector<Diagnostic> wrong;
    AnyKernel standard = compile(points.defaultPoint(), wrong);
    if (!standard) {
      report.diagnostics.insert(report.diagnostics.end(), wrong.begin(), wrong.end());
      return false;
    }
    arguments = standard.arguments();
    MadeArguments made = make_arguments(arguments, shape, Data::Exact, options.seed);
    report.diagnostics = made.diagnostics;
    if (!report.diagnostics.empty())
      return false;
    machine = report.times == TimeSource::Native ? nativeMachine(made)
                                                 : gpuMachine(made, report.diagnostics);
    if (!machine)
      return false;
    MadeArguments results;
    report.diagnostics = machine->run(standard, results);
    auto reference = referenceFor(kernel.name);
    expected.emplace(std::move(results), reference ? reference->tolerance : Tolerance());
    return report.diagnostics.empty();
  }

  /// Configurations may round differently, but not more than the order of sums explains.
  Difference compare(const MadeArguments &results) const {
    return compareResults(arguments, results, *expected, Data::Random);
  }

  void reportWrong(TuneCandidate &candidate, const Difference &difference) {
    Diagnostic d;
    d.code = TuneWrong;
    d.location = {kernel.at.file, kernel.at.line, kernel.at.column};
    d.message = "`" + kernel.name + "` with " + candidate.point() +
                " gives another result than by default for " + report.shape + ": " +
                std::to_string(difference.elements) + " elements; " + difference.first;
    d.helps.push_back("either the kernel is wrong for this point, or the compiler: `penstock run` "
                      "with --set and --check tells");
    d.facts = {{"point", candidate.point()}, {"shape", report.shape}};
    removeBy(candidate, stageResult, d.code, d.message);
    count(counters().tuneWrong);
    report.diagnostics.push_back(std::move(d));
  }

  std::vector<Runnable> compileAll(const std::vector<size_t> &wanted) {
    std::vector<Runnable> runnable(wanted.size());
    std::mutex mutex;
    size_t done = 0;
    parallelFor(wanted.size(), options.jobs, [&](uint64_t i, int) {
      {
        std::lock_guard lock(mutex);
        if (report.cancelled)
          return;
      }
      std::vector<Diagnostic> wrong;
      TuneCandidate &candidate = report.candidates[wanted[i]];
      std::string subject = subjectOf(candidate);
      TimedEvent event(LogLevel::Debug, "compile candidate", subject);
      runnable[i] = {&candidate, compile(wanted[i], wrong)};
      if (!runnable[i].kernel)
        removeBy(candidate, stageCompile, wrong.empty() ? 0 : wrong.front().code,
                 wrong.empty() ? "it does not compile" : wrong.front().message);
      std::lock_guard lock(mutex);
      announce("compile", ++done, wanted.size(), {});
    });
    std::erase_if(runnable, [](const Runnable &each) { return !each.kernel; });
    return runnable;
  }

  /// Stores what was found since the records were read.
  void keepMeasured(const std::vector<size_t> &measured) {
    for (size_t i : measured)
      if (isKnown(report.candidates[i]) && report.candidates[i].code != TuneSlow)
        keepRecord(i, recordOf(report.candidates[i], runId));
  }

  void measure() {
    std::vector<size_t> wanted;
    for (size_t i = 0; i < report.candidates.size(); ++i)
      if (report.candidates[i].mine && !isKnown(report.candidates[i]))
        wanted.push_back(i);
    if (wanted.empty() || !runDefault())
      return;
    std::vector<Runnable> runnable = compileAll(wanted);
    for (size_t i = 0; i < runnable.size() && !report.cancelled; ++i) {
      MadeArguments results;
      TuneCandidate &candidate = *runnable[i].candidate;
      std::string subject = subjectOf(candidate);
      TimedEvent event(LogLevel::Debug, "compare", subject);
      auto wrong = machine->run(runnable[i].kernel, results);
      if (!wrong.empty()) {
        removeBy(candidate, stageResult, wrong.front().code, wrong.front().message);
      } else if (Difference difference = compare(results); difference.elements) {
        reportWrong(candidate, difference);
      }
      announce("compare", i + 1, runnable.size(), {});
    }
    std::erase_if(runnable,
                  [](const Runnable &each) { return !each.candidate->removed_by.empty(); });
    if (report.cancelled)
      return;
    RoundOptions rounds{options.rounds, options.seconds, kernel.name};
    measureRounds(*machine, runnable, rounds, report.diagnostics, [&](int round, int total) {
      announce("measure", size_t(round), size_t(total), ranking(report.candidates, listedPoints));
      return !report.cancelled;
    });
    keepMeasured(wanted);
  }

  void finish() {
    report.stages = countStages(report.candidates);
    report.best = fastest(report.candidates);
    bool any = std::ranges::any_of(report.candidates, &TuneCandidate::mine);
    if (report.best >= 0 || !any || report.cancelled || !report.diagnostics.empty() ||
        options.shards > 1 || options.only_records)
      return;
    Diagnostic d;
    d.code = TuneNone;
    d.location = {kernel.space.at.file, kernel.space.at.line, kernel.space.at.column};
    d.message = "no point of the space of `" + kernel.name + "` is left for " + report.shape;
    for (const TuneCandidate &candidate : report.candidates)
      if (!candidate.reason.empty()) {
        d.notes.push_back({{}, candidate.point() + ": " + candidate.reason, ""});
        break;
      }
    report.diagnostics.push_back(std::move(d));
  }

  const detail::TunableKernel &kernel;
  Target target;
  const Shape &shape;
  const TuneOptions &options;
  TuneReport &report;
  Points points;
  Sizes sizes;
  std::unique_ptr<Predictor> predictor;
  std::unique_ptr<Machine> machine;
  std::optional<Records> records;
  std::string runId;
  bool saidUnrecorded = false;
  std::vector<ArgumentDescription> arguments;
  std::optional<ExpectedResults> expected;
};

} // namespace

std::string tuning::targetName(Target target) {
  if (target.kind == Target::Kind::Native)
    return "native";
  return target.kind == Target::Kind::Interpreter ? "interpreter" : architectureOf(target).name;
}

TuneReport detail::tune(const TunableKernel &kernel, Target target, const Shape &shape,
                        const TuneOptions &options) {
  TuneReport report;
  Tuner(kernel, target, shape, options, report).run();
  return report;
}

TuneReport penstock::tune_registered(const std::string &kernel, Target target, const Shape &shape,
                                     const TuneOptions &options) {
  TuneReport report;
  auto tunable = findTunable(kernel, report.diagnostics);
  return tunable ? detail::tune(*tunable, target, shape, options) : report;
}

std::vector<std::string> penstock::tunable_kernels() {
  std::vector<std::string> names;
  for (const RegisteredKernel &registration : registeredKernels())
    if (registration.space)
      names.push_back(registration.name);
  return names;
}
