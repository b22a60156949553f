//===- Prune.cpp - Pruning of a tuning space ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tuning/Prune.h"
#include "Analysis/Loop/TileMemory.h"
#include "Compiler/Compiler.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Counters.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Explain/ExplainRoles.h"
#include "Target/NVPTX/Passes.h"
#include "Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <map>
#include <random>

using namespace penstock;
using namespace penstock::tuning;

void tuning::removeBy(TuneCandidate &candidate, const char *stage, unsigned code,
                      std::string reason) {
  candidate.removed_by = stage;
  candidate.code = code;
  candidate.reason = std::move(reason);
  count(counters().tuneRemoved);
}

namespace {

/// Returns whether an error reports that the kernel exceeds the target's limits.
bool isResource(unsigned code) {
  return code == MemoryLimit || code == VersionsDoNotFit || code == HardwareMemory;
}

/// Removes the candidate if there is an error; the first one counts.
bool removeForErrors(TuneCandidate &candidate, const std::vector<Diagnostic> &found,
                     const char *otherwise) {
  for (const Diagnostic &d : found)
    if (d.severity == Severity::Error) {
      removeBy(candidate, isResource(d.code) ? stageResources : otherwise, d.code, d.message);
      return true;
    }
  return false;
}

void resolveSchedules(mlir::ModuleOp module, std::vector<Diagnostic> &found) {
  mlir::PassManager passes(module->getName());
  passes.addNestedPass<mlir::func::FuncOp>(createFlattenTiles());
  passes.addNestedPass<mlir::func::FuncOp>(createResolveSchedules());
  tile::DiagnosticCollector collector(module->getContext(), found, InternalError);
  (void)passes.run(module); // errors are diagnostics
}

void checkBarriers(mlir::ModuleOp module, const std::string &kernel,
                   std::vector<Diagnostic> &found) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>(kernel);
  mlir::PassManager passes(function->getName());
  passes.addPass(createCheckBarriers());
  tile::DiagnosticCollector collector(module->getContext(), found, InternalError);
  (void)passes.run(function); // errors are diagnostics
}

} // namespace

void tuning::examine(const TuneCase &on, size_t point, TuneCandidate &candidate) {
  candidate.fields = on.points.fields(point);
  candidate.is_default = point == on.points.defaultPoint();
  std::shared_ptr<void> object = on.points.make(point);
  // The kernel as it is given can always be run.
  if (!candidate.is_default && !on.points.allowed(object.get())) {
    removeBy(candidate, stageWhere, TuneWhere, "a condition of the space does not hold");
    return;
  }
  const std::string &kernel = on.points.kernel().name;
  std::vector<Diagnostic> found;
  PooledContext context;
  auto module = recordKernel(context.get(), on.points.source(object.get()), {}, found);
  if (removeForErrors(candidate, found, stageCheck) || !module)
    return;
  const hw::Architecture &architecture = architectureOf(on.target);
  auto function = module->lookupSymbol<mlir::func::FuncOp>(kernel);
  bool isGpu = architecture.family != hw::Architecture::Family::X86;
  if (isGpu) {
    tile::DiagnosticCollector collector(context.get(), found, InternalError);
    (void)nv::checkArchitecture(function, architecture); // errors are diagnostics
  }
  if (removeForErrors(candidate, found, stageCheck))
    return;
  found = checkTileMemory(function, architecture);
  if (removeForErrors(candidate, found, stageResources))
    return;
  mlir::OwningOpRef<mlir::ModuleOp> copy(module->clone());
  if (!isGpu)
    resolveSchedules(*copy, found);
  else if (lowerToRoles(*copy, kernel, architecture, found))
    checkBarriers(*copy, kernel, found);
  if (removeForErrors(candidate, found, stageCheck) || !on.predictor)
    return;
  found.clear();
  if (auto seconds = on.predictor->seconds(*module, kernel, on.sizes, found))
    candidate.predicted = *seconds;
  else if (on.needsPrediction)
    removeForErrors(candidate, found, stagePrediction);
}

size_t tuning::nativeKeep(const std::vector<TuneCandidate> &candidates, size_t keep) {
  auto left = size_t(std::count_if(candidates.begin(), candidates.end(),
                                   [](const auto &each) { return each.removed_by.empty(); }));
  return std::max(keep, (left + 3) / 4);
}

void tuning::keepBest(std::vector<TuneCandidate> &candidates, size_t keep, size_t random,
                      uint64_t seed) {
  std::vector<TuneCandidate *> left;
  for (TuneCandidate &candidate : candidates) {
    if (!candidate.removed_by.empty())
      continue;
    if (candidate.predicted <= 0)
      return;
    left.push_back(&candidate);
  }
  std::sort(left.begin(), left.end(), [](auto *a, auto *b) {
    return a->predicted != b->predicted ? a->predicted < b->predicted : a < b;
  });
  if (left.size() <= keep)
    return;
  // The same on every worker of a fleet: std::shuffle is not the same everywhere.
  std::mt19937_64 generator(seed);
  for (size_t i = keep; i < std::min(left.size(), keep + random); ++i)
    std::swap(left[i], left[i + generator() % (left.size() - i)]);
  for (size_t i = std::min(left.size(), keep + random); i < left.size(); ++i)
    if (!left[i]->is_default)
      removeBy(*left[i], stagePrediction, TuneSlow, "predicted to be slower than the ones kept");
}

std::vector<TuneStage> tuning::countStages(const std::vector<TuneCandidate> &candidates) {
  std::vector<TuneStage> stages;
  size_t left = candidates.size();
  for (const char *name :
       {stageWhere, stageCheck, stageResources, stagePrediction, stageCompile, stageResult}) {
    TuneStage stage;
    stage.name = name;
    stage.entered = left;
    std::map<unsigned, size_t> reasons;
    for (const TuneCandidate &candidate : candidates)
      if (candidate.removed_by == name) {
        ++reasons[candidate.code];
        ++stage.removed;
      }
    stage.reasons = {reasons.begin(), reasons.end()};
    std::sort(stage.reasons.begin(), stage.reasons.end(), [](auto &a, auto &b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    left -= stage.removed;
    stages.push_back(std::move(stage));
  }
  return stages;
}
