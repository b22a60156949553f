//===- PredictRun.cpp - Predicted run times, and what to change -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/Compiler.h"
#include "Compiler/ExplainTiming.h"
#include "Compiler/Registry.h"
#include "Diagnostics/Codes.h"
#include "penstock/inspect.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <tuple>

using namespace penstock;

namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

/// Draws from the ranges of constants for the bars that are shown.
constexpr int shownDraws = 32;
/// Gains below this are within the error of ratios.
constexpr double worthTrying = 1.05;
/// Steps from the given fields, each of one field.
constexpr int searchSteps = 2;
constexpr size_t mostSuggestions = 3;

const hw::Chip *findOrReport(const std::string &architecture,
                             std::vector<Diagnostic> &diagnostics) {
  const hw::Chip *chip = hw::findChip(architecture);
  if (!chip) {
    Diagnostic d;
    d.code = ToolUsage;
    d.message = "run times are not predicted for `" + architecture + "`";
    d.helps.push_back("sm_90a (H100) and sm_100a (B200) are known");
    diagnostics.push_back(std::move(d));
  }
  return chip;
}

Sizes sizesOf(const std::vector<std::pair<std::string, double>> &given) {
  Sizes sizes;
  for (const auto &[name, value] : given)
    sizes[name] = value >= 1 && value <= double(int64_t(1) << 40) ? int64_t(value) : 0;
  return sizes;
}

std::optional<TimedKernel> predictFields(const std::string &kernel, const hw::Chip &chip,
                                         const Sizes &sizes, const InspectOptions &options,
                                         int draws, std::vector<Diagnostic> &diagnostics) {
  auto source = kernelSource(kernel, options, diagnostics);
  if (!source)
    return std::nullopt;
  PooledContext context;
  auto module = recordKernel(context.get(), *source, options.compile, diagnostics);
  if (!module)
    return std::nullopt;
  return predictModule(*module, kernel, chip, sizes, draws, diagnostics);
}

/// The integer fields of a kernel with their values under \p set.
std::vector<std::pair<std::string, int64_t>> integersOf(const std::string &kernel,
                                                        const Fields &set) {
  std::vector<std::pair<std::string, int64_t>> found;
  for (const detail::Registration &registration : registeredKernels()) {
    if (registration.name != kernel)
      continue;
    std::vector<Diagnostic> ignored;
    std::shared_ptr<void> object = makeKernel(registration, set, ignored);
    if (!object)
      return found;
    for (const detail::Field &field : registration.fields) {
      std::string text = field.get(object.get());
      int64_t value = 0;
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error == std::errc() && end == text.data() + text.size() && value >= 1)
        found.emplace_back(field.name, value);
    }
  }
  return found;
}

/// Changes of one or two fields that are predicted to be faster, best first.
std::vector<Suggestion> suggestionsFor(const std::string &kernel, const hw::Chip &chip,
                                       const Sizes &sizes, const InspectOptions &options,
                                       const TimedKernel &now) {
  struct State {
    Fields changes;
    double seconds;
    std::string bound;
  };
  std::vector<State> found;
  std::set<Fields> seen;
  State best{{}, now.prediction.seconds, ""};
  for (int step = 0; step < searchSteps; ++step) {
    State from = best;
    Fields set = options.set;
    set.insert(set.end(), from.changes.begin(), from.changes.end());
    for (const auto &[name, value] : integersOf(kernel, set))
      for (int64_t other : {value / 2, value - 1, value + 1, value * 2}) {
        // No instruction has tile sizes that are not multiples of 8.
        if (other < 1 || other == value || (value >= 16 && other % 8 != 0))
          continue;
        Fields changes = from.changes;
        std::erase_if(changes, [&](const auto &c) { return c.first == name; });
        changes.emplace_back(name, std::to_string(other));
        std::sort(changes.begin(), changes.end());
        if (!seen.insert(changes).second)
          continue;
        InspectOptions changed = options;
        changed.set.insert(changed.set.end(), changes.begin(), changes.end());
        std::vector<Diagnostic> ignored; // only what compiles is suggested
        auto timed = predictFields(kernel, chip, sizes, changed, 0, ignored);
        if (!timed || timed->prediction.seconds * worthTrying > now.prediction.seconds)
          continue;
        found.push_back({changes, timed->prediction.seconds,
                         std::string(describe(timed->prediction.bound().of))});
        if (found.back().seconds < best.seconds)
          best = found.back();
      }
  }
  // Times within 0.2 % are equal; then fewer changes are better.
  auto keyOf = [](const State &state) {
    return std::tuple(std::lround(std::log(state.seconds) * 500), state.changes.size(),
                      state.changes);
  };
  std::sort(found.begin(), found.end(),
            [&](const State &a, const State &b) { return keyOf(a) < keyOf(b); });
  std::vector<Suggestion> suggestions;
  double last = 0;
  for (const State &state : found) {
    if (suggestions.size() == mostSuggestions)
      break;
    // A second change that brings nothing is not suggested.
    if (state.seconds < last * 1.005)
      continue;
    last = state.seconds;
    std::string change;
    for (const auto &[name, value] : state.changes)
      change += (change.empty() ? "" : " ") + name + "=" + value;
    // The work stays the same, however much padding other tiles need.
    double tflops = now.work.kernel.flop / state.seconds * 1e-12;
    suggestions.push_back({change, tflops, state.bound});
  }
  return suggestions;
}

PredictedRun resultOf(const TimedKernel &timed, const hw::Chip &chip, const std::string &kernel,
                      const Sizes &sizes, const std::vector<Suggestion> &suggestions) {
  std::string title = kernel;
  for (const auto &[name, value] : sizes)
    title += ", " + name + " = " + std::to_string(value);
  const timing::Prediction &p = timed.prediction;
  return {renderTiming(timed, chip, suggestions),
          timingJson(timed, chip, suggestions),
          timingWaterfall(timed, chip, title),
          p.seconds,
          p.tflops,
          p.low,
          p.high};
}

} // namespace

PredictedRun penstock::predict_registered(const std::string &kernel,
                                          const std::string &architecture,
                                          const std::vector<std::pair<std::string, double>> &given,
                                          const InspectOptions &options,
                                          std::vector<Diagnostic> &diagnostics, bool suggest) {
  const hw::Chip *chip = findOrReport(architecture, diagnostics);
  if (!chip)
    return {};
  Sizes sizes = sizesOf(given);
  auto timed = predictFields(kernel, *chip, sizes, options, shownDraws, diagnostics);
  if (!timed)
    return {};
  std::vector<Suggestion> suggestions;
  if (suggest)
    suggestions = suggestionsFor(kernel, *chip, sizes, options, *timed);
  return resultOf(*timed, *chip, kernel, sizes, suggestions);
}

PredictedRun penstock::predict_text(const std::string &text, const std::string &file,
                                    const std::string &kernel, const std::string &architecture,
                                    const std::vector<std::pair<std::string, double>> &given,
                                    std::vector<Diagnostic> &diagnostics) {
  const hw::Chip *chip = findOrReport(architecture, diagnostics);
  if (!chip)
    return {};
  PooledContext context;
  auto module = parseProgram(context.get(), text, file, diagnostics);
  if (!module)
    return {};
  if (!module->lookupSymbol<mlir::func::FuncOp>(kernel)) {
    diagnostics.push_back(noKernel(*module, file, kernel));
    return {};
  }
  Sizes sizes = sizesOf(given);
  auto timed = predictModule(*module, kernel, *chip, sizes, shownDraws, diagnostics);
  return timed ? resultOf(*timed, *chip, kernel, sizes, {}) : PredictedRun();
}
