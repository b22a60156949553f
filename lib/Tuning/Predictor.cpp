//===- Predictor.cpp - Predicted times of candidates ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tuning/Predictor.h"
#include "Analysis/Kernel/KernelTrace.h"
#include "Analysis/Loop/AutoStages.h"
#include "Analysis/Loop/EngineCosts.h"
#include "Analysis/Loop/PipelineLoop.h"
#include "Analysis/Loop/TileMemory.h"
#include "Compiler/Compiler.h"
#include "Diagnostics/Codes.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileDialect.h"
#include "Explain/PredictNative.h"
#include "Scheduling/Schedule/Predict.h"

#include <algorithm>

using namespace mlir;
using namespace penstock;
using namespace penstock::tuning;

namespace {

/// Cycles become seconds where the clock of the chip is not known.
constexpr double assumedHertz = 1.5e9;

bool hasCode(const std::vector<penstock::Diagnostic> &list, unsigned code) {
  return llvm::any_of(list, [&](const penstock::Diagnostic &d) { return d.code == code; });
}

class GpuPredictor : public Predictor {
public:
  explicit GpuPredictor(const hw::Architecture &architecture)
      : architecture(architecture), chip(hw::findChip(architecture.name)) {}

  std::string name() const override {
    return chip ? "timing 1 " + chip->name : "interval 1 " + architecture.name;
  }

  std::optional<double> seconds(ModuleOp program, const std::string &kernel, const Sizes &sizes,
                                std::vector<penstock::Diagnostic> &reasons) const override {
    if (chip) {
      std::vector<penstock::Diagnostic> why;
      if (auto timed = predictModule(program, kernel, *chip, sizes, 0, why))
        return timed->prediction.seconds;
      if (!hasCode(why, TimingUnsupported)) {
        reasons.insert(reasons.end(), why.begin(), why.end());
        return std::nullopt;
      }
    }
    return fromIntervals(program, kernel, sizes, reasons);
  }

private:
  /// Blocks run in waves; each takes the predicted intervals of its pipelined loops times
  /// their iterations. Loops that are not pipelined count as nothing, which is the same
  /// for all candidates.
  std::optional<double> fromIntervals(ModuleOp program, const std::string &kernel,
                                      const Sizes &sizes,
                                      std::vector<penstock::Diagnostic> &reasons) const {
    auto function = program.lookupSymbol<func::FuncOp>(kernel);
    KnownScalars scalars(function);
    SizeAssignment assignment;
    assignment.sizes = sizes;
    scalars.begin(assignment);
    double blocks = 1, cycles = 0;
    bool known = true;
    function.walk([&](tile::GridOp grid) {
      for (Value extent : grid.getExtents()) {
        auto size = scalars.compute(extent);
        known &= size.has_value();
        blocks *= double(std::max<int64_t>(1, size.value_or(1)));
      }
    });
    chooseStages(function, &architecture);
    function.walk([&](scf::ForOp loop) {
      if (!loop->hasAttr(tile::TileDialect::scheduleAttr))
        return;
      PipelineLoop analyzed = analyzeLoop(loop);
      assignCosts(analyzed, architecture);
      assignCapacity(analyzed, architecture);
      sched::PipelinedLoop plan = resolveSchedule(analyzed);
      reasons.insert(reasons.end(), plan.diagnostics.begin(), plan.diagnostics.end());
      if (!plan.schedule)
        return;
      sched::Rational interval =
          sched::predictedInterval(plan.problem, *plan.schedule, sched::oneRole(plan.problem));
      double trips = 1;
      for (Operation *at = loop; at; at = at->getParentOp())
        if (auto around = dyn_cast<scf::ForOp>(at)) {
          auto from = scalars.compute(around.getLowerBound()),
               to = scalars.compute(around.getUpperBound()),
               step = scalars.compute(around.getStep());
          known &= from && to && step && *step > 0;
          if (from && to && step && *step > 0)
            trips *= double(tripCount(*from, *to, *step));
        }
      cycles += double(interval.num) / double(interval.den) * trips;
    });
    if (llvm::any_of(reasons,
                     [](const auto &d) { return d.severity == penstock::Severity::Error; }))
      return std::nullopt;
    if (!known || cycles <= 0) {
      penstock::Diagnostic d;
      d.code = TimingUnsupported;
      d.location = tile::sourceLocationOf(function.getLoc());
      d.message =
          "the run time of `" + kernel + "` is not predicted: " +
          (cycles <= 0 ? "it has no pipelined loop" : "the lengths of its loops depend on data");
      reasons.push_back(std::move(d));
      return std::nullopt;
    }
    double processors = double(std::max<int64_t>(1, architecture.limits.multiprocessors));
    return std::max(1.0, blocks / processors) * cycles / assumedHertz;
  }

  const hw::Architecture &architecture;
  const hw::Chip *chip;
};

/// Native code on all threads of this machine.
class NativePredictor : public Predictor {
public:
  explicit NativePredictor(NativeTarget target) : target(std::move(target)) {}

  std::string name() const override {
    return "timing 1 " + target.cpu->name + ", " + std::to_string(target.threads) + " threads";
  }

  std::optional<double> seconds(ModuleOp program, const std::string &kernel, const Sizes &sizes,
                                std::vector<penstock::Diagnostic> &reasons) const override {
    auto timed = predictNativeModule(program, kernel, target, sizes, reasons);
    return timed ? std::optional(timed->prediction.seconds) : std::nullopt;
  }

private:
  NativeTarget target;
};

class ScaledPredictor : public Predictor {
public:
  ScaledPredictor(std::unique_ptr<Predictor> of, double factor)
      : of(std::move(of)), factor(factor) {}

  std::string name() const override { return of->name() + ", x " + std::to_string(factor); }

  std::optional<double> seconds(ModuleOp program, const std::string &kernel, const Sizes &sizes,
                                std::vector<penstock::Diagnostic> &reasons) const override {
    auto found = of->seconds(program, kernel, sizes, reasons);
    return found ? std::optional(*found * factor) : std::nullopt;
  }

private:
  std::unique_ptr<Predictor> of;
  double factor;
};

} // namespace

std::unique_ptr<Predictor> tuning::scaled(std::unique_ptr<Predictor> predictor, double factor) {
  return std::make_unique<ScaledPredictor>(std::move(predictor), factor);
}

std::string tuning::chipOf(Target target) {
  if (target.kind == Target::Kind::Native) {
    std::vector<penstock::Diagnostic> ignored; // the host has what the host has
    auto host = nativeTarget(Cpu::Host, "", {}, ignored);
    return host && host->known ? host->cpu->key : "";
  }
  const hw::Chip *chip = hw::findChip(architectureOf(target).name);
  return chip ? chip->name : "";
}

std::unique_ptr<Predictor> tuning::predictorFor(Target target) {
  if (target.kind == Target::Kind::Interpreter)
    return nullptr;
  if (target.kind == Target::Kind::Native) {
    std::vector<penstock::Diagnostic> ignored; // the host has what the host has
    auto host = nativeTarget(Cpu::Host, "", {}, ignored);
    return host && host->known ? std::make_unique<NativePredictor>(*host) : nullptr;
  }
  return std::make_unique<GpuPredictor>(architectureOf(target));
}
