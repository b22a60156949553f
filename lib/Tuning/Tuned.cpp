//===- Tuned.cpp - Kernels that choose their configuration by shape -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/Compiler.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Counters.h"
#include "Diagnostics/ReadFile.h"
#include "Dialect/Tile/Signature.h"
#include "Tuning/Records.h"
#include "Tuning/Samples.h"
#include "Tuning/Table.h"
#include "Tuning/Tune.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

using namespace penstock;
using namespace penstock::tuning;

namespace penstock::detail {

class TunedKernel {
public:
  TunedKernel(TunableKernel kernel, Target target, TunedOptions options)
      : kernel(std::move(kernel)), target(target), options(std::move(options)),
        points(this->kernel) {
    problems = points.diagnostics();
    std::shared_ptr<void> object = points.make(points.size());
    signature = points.source(object.get()).signature;
    if (problems.empty())
      classes = ShapeClasses::parse(this->kernel.space.classes, signature, this->kernel.space.at,
                                    problems);
    if (!this->options.table.empty() && problems.empty())
      readTableFile();
  }

  /// Sizes by their names in the signature.
  Sizes sizesOfArguments(List<const Argument> arguments) const {
    Sizes sizes;
    auto named = parseSignature(signature).arguments;
    for (size_t i = 0; i < named.size() && i < arguments.size(); ++i)
      for (size_t d = 0; d < named[i].sizes.size() && d < arguments[i].sizes.size(); ++d)
        sizes.try_emplace(named[i].sizes[d], arguments[i].sizes[d]);
    return sizes;
  }

  TunedChoice choose(const Sizes &sizes) {
    std::lock_guard lock(mutex);
    return chooseLocked(sizes).first;
  }

  CompileResult executableFor(const Sizes &sizes) {
    std::lock_guard lock(mutex);
    CompileResult result;
    auto shapeClass = classes ? classes->of(sizes, result.diagnostics) : std::nullopt;
    if (!shapeClass) {
      result.diagnostics.insert(result.diagnostics.begin(), problems.begin(), problems.end());
      return result;
    }
    auto [at, isNew] = byClass.try_emplace(*shapeClass);
    if (isNew) {
      auto [choice, point] = chooseLocked(sizes);
      countChoice(choice.from);
      for (const Diagnostic &d : choice.diagnostics)
        if (d.severity == Severity::Error)
          at->second.diagnostics.push_back(d);
        else
          warnings.push_back(d);
      if (at->second.diagnostics.empty())
        at->second = compiled(point);
    }
    if (at->second.executable)
      result.executable = at->second.executable;
    else
      result.diagnostics = at->second.diagnostics;
    return result;
  }

  std::vector<Diagnostic> diagnostics() const {
    std::lock_guard lock(mutex);
    std::vector<Diagnostic> all = problems;
    all.insert(all.end(), warnings.begin(), warnings.end());
    return all;
  }

private:
  static void countChoice(TunedFrom from) {
    ProcessCounters &all = counters();
    switch (from) {
    case TunedFrom::Default:
      return count(all.chosenDefault);
    case TunedFrom::Model:
      return count(all.chosenFromModel);
    case TunedFrom::NearestRecord:
      return count(all.chosenFromNearest);
    case TunedFrom::Record:
      return count(all.chosenFromRecord);
    case TunedFrom::Table:
      return count(all.chosenFromTable);
    }
  }

  /// Points often serve several classes.
  CompileResult compiled(size_t point) {
    auto [at, isNew] = byPoint.try_emplace(point);
    if (isNew) {
      std::shared_ptr<void> object = points.make(point);
      at->second = detail::compile(points.source(object.get()), target, {});
    }
    return at->second;
  }

  void readTableFile() {
    std::string text;
    if (auto problem = readFile(options.table, text)) {
      problems.push_back(*problem);
      return;
    }
    table = readTable(text, options.table, problems);
  }

  std::pair<TunedChoice, size_t> chooseLocked(const Sizes &sizes) {
    TunedChoice choice;
    size_t point = points.defaultPoint();
    choice.diagnostics = problems;
    auto shapeClass = classes ? classes->of(sizes, choice.diagnostics) : std::nullopt;
    if (shapeClass && problems.empty()) {
      choice.shape_class = *shapeClass;
      if (!options.table.empty())
        fromTable(sizes, *shapeClass, choice, point);
      else if (!fromRecords(sizes, *shapeClass, choice, point))
        fromModel(sizes, *shapeClass, choice, point);
    }
    choice.fields = points.fields(point);
    return {choice, point};
  }

  void warn(TunedChoice &choice, const Sizes &sizes, const std::string &instead) {
    Diagnostic d;
    d.severity = Severity::Warning;
    d.code = TuneUntuned;
    d.location = {kernel.at.file, kernel.at.line, kernel.at.column};
    d.message = "`" + kernel.name + "` has no record for " + tuning::textOf(sizes) + " on " +
                targetName(target) + "; " + instead;
    d.helps.push_back("penstock tune LIBRARY " + kernel.name + " --target " + targetName(target) +
                      " --shape " + tuning::textOf(sizes));
    choice.diagnostics.push_back(std::move(d));
  }

  /// The entry of the class, else of the nearest one.
  void fromTable(const Sizes &sizes, const std::string &shapeClass, TunedChoice &choice,
                 size_t &point) {
    const TableEntry *found = nullptr;
    double nearest = INFINITY;
    for (const TableEntry &entry : table->entries) {
      if (entry.kernel != kernel.name || entry.target != targetName(target))
        continue;
      double distance =
          entry.shapeClass == shapeClass ? -1 : classes->distance(sizes, entry.shapeClass);
      if (distance < nearest) {
        nearest = distance;
        found = &entry;
      }
    }
    if (!found)
      return warn(choice, sizes, "the table has none either, and the default is used");
    // Fields are in the order of the axes. Their names are only known of registered kernels.
    std::vector<std::string> values;
    bool sameNames = true;
    for (const auto &[name, value] : found->fields) {
      sameNames &= kernel.fields.empty() || std::ranges::count(points.names(), name);
      values.push_back(value);
    }
    auto known = sameNames ? points.find(values) : std::nullopt;
    if (!known) {
      Diagnostic d;
      d.code = TuneTable;
      d.location = {options.table, 0, 0};
      d.message = "the entry of `" + kernel.name + "` for " + found->shapeClass + " (" +
                  tuning::textOf(found->fields) + ") is not a point of its space";
      d.helps.push_back("tune it again and export the table: penstock tune --export");
      choice.diagnostics.push_back(std::move(d));
      return;
    }
    point = *known;
    choice.from = TunedFrom::Table;
    choice.shape_class = found->shapeClass;
  }

  /// Times that a record may have, better ones first.
  std::vector<TimeSource> sources() const {
    if (architectureOf(target).family == hw::Architecture::Family::X86)
      return {TimeSource::Native};
    return {TimeSource::Events, TimeSource::Predicted};
  }

  bool fromRecords(const Sizes &sizes, const std::string &shapeClass, TunedChoice &choice,
                   size_t &point) {
    KernelCache &cache = options.cache ? *options.cache : KernelCache::process();
    if (!cache.store())
      return false;
    auto use = [&](Records &records, const std::string &from) {
      auto candidates = records.read(from);
      int best = fastest(candidates);
      if (best < 0)
        return false;
      point = size_t(best);
      choice.shape_class = from;
      return true;
    };
    for (TimeSource times : sources()) {
      Records records(*cache.store(), points, target, times, machineName(target, times));
      if (use(records, shapeClass)) {
        choice.from = TunedFrom::Record;
        return true;
      }
      std::vector<std::string> known = records.classes();
      std::ranges::sort(known, {}, [&](const std::string &each) {
        return std::pair(classes->distance(sizes, each), each);
      });
      for (const std::string &each : known)
        if (std::isfinite(classes->distance(sizes, each)) && use(records, each)) {
          choice.from = TunedFrom::NearestRecord;
          warn(choice, sizes, "that of " + each + " is used");
          return true;
        }
    }
    return false;
  }

  void fromModel(const Sizes &sizes, const std::string &shapeClass, TunedChoice &choice,
                 size_t &point) {
    if (architectureOf(target).family == hw::Architecture::Family::X86)
      return warn(choice, sizes, "the default is used");
    TuneOptions tuning;
    tuning.times = TimeSource::Predicted;
    tuning.cache = options.cache;
    Shape shape;
    for (const auto &[name, value] : sizes)
      shape.emplace_back(name, value);
    TuneReport report = detail::tune(kernel, target, shape, tuning);
    if (report.best < 0)
      return warn(choice, sizes, "nothing is predicted, and the default is used");
    point = size_t(report.best);
    choice.from = TunedFrom::Model;
    choice.shape_class = shapeClass;
    warn(choice, sizes, "the best predicted point is used");
  }

  TunableKernel kernel;
  Target target;
  TunedOptions options;
  Points points;
  std::string signature;
  std::optional<ShapeClasses> classes;
  std::optional<Table> table;
  std::vector<Diagnostic> problems, warnings;
  mutable std::mutex mutex;
  std::map<std::string, CompileResult> byClass;
  std::map<size_t, CompileResult> byPoint;
};

std::shared_ptr<TunedKernel> tuned(TunableKernel kernel, Target target, TunedOptions options) {
  addFieldNames(kernel);
  return std::make_shared<TunedKernel>(std::move(kernel), target, std::move(options));
}

std::vector<Diagnostic> launchTuned(TunedKernel &kernel, List<const Argument> arguments,
                                    const LaunchOptions &options, Loc at) {
  CompileResult chosen = kernel.executableFor(kernel.sizesOfArguments(arguments));
  if (!chosen.executable)
    return chosen.diagnostics;
  return launch(chosen.executable.get(), arguments, options, at);
}

std::vector<Diagnostic> prepareTuned(TunedKernel &kernel, const Shape &shape) {
  return kernel.executableFor(sizesOf(shape)).diagnostics;
}

TunedChoice choiceOf(TunedKernel &kernel, const Shape &shape) {
  return kernel.choose(sizesOf(shape));
}

std::vector<Diagnostic> diagnosticsOf(const TunedKernel &kernel) { return kernel.diagnostics(); }

} // namespace penstock::detail
