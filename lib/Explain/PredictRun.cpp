//===- PredictRun.cpp - Predicted run times, and what to change -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/Compiler.h"
#include "Compiler/Registry.h"
#include "Diagnostics/Codes.h"
#include "Explain/PredictNative.h"
#include "penstock/assemble.h"
#include "penstock/inspect.h"

#include <algorithm>
#include <cmath>
#include <functional>
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
/// Candidates that are compiled and assembled at most, until as many are found.
constexpr int mostAsked = 16;

const hw::Chip *findOrReport(const std::string &architecture,
                             std::vector<Diagnostic> &diagnostics) {
  const hw::Chip *chip = hw::findChip(architecture);
  if (!chip) {
    Diagnostic d;
    d.code = ToolUsage;
    d.message = "run times are not predicted for `" + architecture + "`";
    d.helps.push_back("sm_90a (H100), sm_100a (B200) and native code are known");
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

/// Prediction of a recorded program, for a search among fields.
struct Timed {
  double seconds = 0;
  std::string bound;
};
using Predict = std::function<std::optional<Timed>(mlir::ModuleOp, std::vector<Diagnostic> &)>;

std::optional<Timed> predictFields(const std::string &kernel, const InspectOptions &options,
                                   const Predict &predict, std::vector<Diagnostic> &diagnostics) {
  auto source = kernelSource(kernel, options, diagnostics);
  if (!source)
    return std::nullopt;
  PooledContext context;
  auto module = recordKernel(context.get(), *source, options.compile, diagnostics);
  if (!module)
    return std::nullopt;
  return predict(*module, diagnostics);
}

/// Returns whether a kernel compiles for a GPU and its registers fit: the assembler is asked where
/// it is installed, or else a model of it. Predicted times know nothing of spills.
bool registersFit(const std::string &kernel, InspectOptions options, Target gpu) {
  options.target = gpu;
  std::vector<Diagnostic> ignored; // only what compiles is suggested
  AnyKernel compiled = compile_registered(kernel, options, ignored);
  return compiled && check_registers(compiled.ptx(), gpu).outcome == RegisterCheck::Outcome::Fits;
}

/// Changes of one or two fields that are predicted to be faster, best first.
std::vector<Suggestion> suggestionsFor(const std::string &kernel, const InspectOptions &options,
                                       std::optional<Target> gpu, const Predict &predict,
                                       double now) {
  struct State {
    Fields changes;
    double seconds;
    std::string bound;
  };
  std::vector<State> found;
  std::set<Fields> seen;
  State best{{}, now, ""};
  for (int step = 0; step < searchSteps; ++step) {
    State from = best;
    Fields set = options.set;
    set.insert(set.end(), from.changes.begin(), from.changes.end());
    for (const auto &[name, value] : integerFields(kernel, set))
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
        auto timed = predictFields(kernel, changed, predict, ignored);
        if (!timed || timed->seconds * worthTrying > now)
          continue;
        found.push_back({changes, timed->seconds, timed->bound});
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
  int asked = 0;
  for (const State &state : found) {
    if (suggestions.size() == mostSuggestions)
      break;
    // A second change that brings nothing is not suggested.
    if (state.seconds < last * 1.005)
      continue;
    InspectOptions changed = options;
    changed.set.insert(changed.set.end(), state.changes.begin(), state.changes.end());
    if (gpu && asked++ == mostAsked)
      break;
    if (gpu && !registersFit(kernel, changed, *gpu))
      continue;
    last = state.seconds;
    std::string change;
    for (const auto &[name, value] : state.changes)
      change += (change.empty() ? "" : ",") + name + "=" + value;
    suggestions.push_back({change, now / state.seconds, state.bound});
  }
  return suggestions;
}

std::string titleOf(const std::string &kernel, const Sizes &sizes) {
  std::string title = kernel;
  for (const auto &[name, value] : sizes)
    title += ", " + name + " = " + std::to_string(value);
  return title;
}

/// A kernel that can be predicted with other fields; null: it cannot.
using Suggest = std::function<std::vector<Suggestion>(const Predict &, double now)>;
std::vector<Suggestion> suggestNothing(const Predict &, double) { return {}; }

std::string machineText(const std::string &file, double factor) {
  if (factor == 0)
    return "";
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", factor);
  return "machine    " + file + ": runs take " + text + " times as long as the model says\n";
}

PredictedRun predictGpu(mlir::ModuleOp module, const std::string &kernel, const hw::Chip &chip,
                        const Sizes &sizes, const std::string &machine, const Suggest &suggest,
                        std::vector<Diagnostic> &diagnostics) {
  double factor = machine.empty() ? 0 : machine_factor(machine, chip.name, diagnostics);
  if (!machine.empty() && factor == 0)
    return {};
  auto timed = predictModule(module, kernel, chip, sizes, shownDraws, diagnostics, factor);
  if (!timed)
    return {};
  auto others = [&](mlir::ModuleOp other, std::vector<Diagnostic> &ignored) {
    auto result = predictModule(other, kernel, chip, sizes, 0, ignored, factor);
    return result ? std::optional(Timed{result->prediction.seconds,
                                        std::string(describe(result->prediction.bound().of))})
                  : std::nullopt;
  };
  const timing::Prediction &p = timed->prediction;
  std::vector<Suggestion> suggestions = suggest(others, p.seconds);
  return {chip.name,
          renderTiming(*timed, chip, suggestions) + machineText(machine, factor),
          timingJson(*timed, chip, suggestions),
          timingWaterfall(*timed, chip, titleOf(kernel, sizes)),
          p.seconds,
          p.tflops,
          p.low,
          p.high,
          timed->work.boundByThreads};
}

PredictedRun predictCpu(mlir::ModuleOp module, const std::string &kernel, NativeTarget target,
                        const Sizes &sizes, const std::string &machine, const Suggest &suggest,
                        std::vector<Diagnostic> &diagnostics) {
  double factor = machine.empty() ? 0 : machine_factor(machine, target.cpu->key, diagnostics);
  if (!machine.empty() && factor == 0)
    return {};
  if (factor > 0)
    target.options = {true, factor};
  auto timed = predictNativeModule(module, kernel, target, sizes, diagnostics);
  if (!timed)
    return {};
  auto others = [&](mlir::ModuleOp other, std::vector<Diagnostic> &ignored) {
    auto result = predictNativeModule(other, kernel, target, sizes, ignored);
    return result ? std::optional(Timed{result->prediction.seconds, boundOf(*result)})
                  : std::nullopt;
  };
  const timing::NativePrediction &p = timed->prediction;
  std::vector<Suggestion> suggestions = suggest(others, p.seconds);
  double tflops = timed->work.flop / p.seconds * 1e-12;
  return {target.cpu->key,
          renderNative(*timed, target, suggestions) + machineText(machine, factor),
          nativeJson(*timed, target, suggestions),
          nativeWaterfall(*timed, target, titleOf(kernel, sizes)),
          p.seconds,
          tflops,
          tflops / p.spread,
          tflops * p.spread};
}

/// Predicts for an architecture of GPUs, the host ("x86"), or a processor of the tables.
PredictedRun predictFor(mlir::ModuleOp module, const std::string &kernel,
                        const std::string &architecture, Cpu level, const Sizes &sizes,
                        const std::string &machine, const Suggest &suggest,
                        std::vector<Diagnostic> &diagnostics) {
  std::optional<NativeTarget> target = tabledTarget(architecture);
  if (!target && architecture == "x86") {
    target = nativeTarget(level, kernel, {}, diagnostics);
    if (!target)
      return {};
  }
  if (target)
    return predictCpu(module, kernel, *target, sizes, machine, suggest, diagnostics);
  const hw::Chip *chip = findOrReport(architecture, diagnostics);
  return chip ? predictGpu(module, kernel, *chip, sizes, machine, suggest, diagnostics)
              : PredictedRun();
}

} // namespace

PredictedRun penstock::predict_registered(const std::string &kernel,
                                          const std::string &architecture,
                                          const std::vector<std::pair<std::string, double>> &given,
                                          const InspectOptions &options,
                                          std::vector<Diagnostic> &diagnostics, bool suggest) {
  auto source = kernelSource(kernel, options, diagnostics);
  if (!source)
    return {};
  PooledContext context;
  auto module = recordKernel(context.get(), *source, options.compile, diagnostics);
  if (!module)
    return {};
  const hw::Chip *chip = tabledTarget(architecture) ? nullptr : hw::findChip(architecture);
  std::optional<Target> gpu;
  if (chip)
    gpu = find_gpu(chip->architecture->name);
  Suggest search = suggestNothing;
  if (suggest)
    search = [&](const Predict &predict, double now) {
      return suggestionsFor(kernel, options, gpu, predict, now);
    };
  return predictFor(*module, kernel, architecture, options.compile.cpu, sizesOf(given),
                    options.machine, search, diagnostics);
}

PredictedRun penstock::predict_text(const std::string &text, const std::string &file,
                                    const std::string &kernel, const std::string &architecture,
                                    const std::vector<std::pair<std::string, double>> &given,
                                    std::vector<Diagnostic> &diagnostics, Cpu cpu,
                                    const std::string &machine) {
  PooledContext context;
  auto module = parseProgram(context.get(), text, file, diagnostics);
  if (!module)
    return {};
  if (!module->lookupSymbol<mlir::func::FuncOp>(kernel)) {
    diagnostics.push_back(noKernel(*module, file, kernel));
    return {};
  }
  return predictFor(*module, kernel, architecture, cpu, sizesOf(given), machine, suggestNothing,
                    diagnostics);
}
