//===- Explain.cpp - What became of pipelined loops, and why --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Explain.h"
#include "Analysis/EngineCosts.h"
#include "Analysis/TileMemory.h"
#include "Compiler/Compiler.h"
#include "Compiler/ExplainRoles.h"
#include "Diagnostics/Codes.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileDialect.h"
#include "Draw/Svg.h"
#include "Draw/Trace.h"
#include "Hardware/Architecture.h"
#include "Scheduling/Predict.h"
#include "penstock/inspect.h"

using namespace penstock;

namespace {

/// A loop with the schedule that it would get on an architecture.
struct Planned {
  PipelineLoop loop;
  sched::PipelinedLoop plan;
};

std::vector<Planned> plan(mlir::ModuleOp module, const std::string &kernel,
                          const std::string &architecture, std::vector<Diagnostic> &diagnostics) {
  std::vector<Planned> planned;
  const hw::Architecture *found = hw::findArchitecture(architecture);
  auto function = module.lookupSymbol<mlir::func::FuncOp>(kernel);
  if (!found) {
    Diagnostic d;
    d.code = ToolUsage;
    d.message = "unknown architecture `" + architecture + "`";
    d.helps.push_back("sm_90a, sm_100a and x86 are known");
    diagnostics.push_back(std::move(d));
    return planned;
  }
  {
    tile::DiagnosticCollector collector(module.getContext(), diagnostics, InternalError);
    if (failed(nv::checkArchitecture(function, architecture)))
      return planned;
  }
  if (auto wrong = checkTileMemory(function, *found); !wrong.empty()) {
    diagnostics.insert(diagnostics.end(), wrong.begin(), wrong.end());
    return planned;
  }
  function.walk([&](mlir::scf::ForOp loop) {
    if (!loop->hasAttr(tile::TileDialect::scheduleAttr))
      return;
    Planned entry{analyzeLoop(loop), {}};
    assignCosts(entry.loop, *found);
    assignCapacity(entry.loop, *found);
    entry.plan = resolveSchedule(entry.loop);
    diagnostics.insert(diagnostics.end(), entry.plan.diagnostics.begin(),
                       entry.plan.diagnostics.end());
    if (entry.plan.schedule)
      planned.push_back(std::move(entry));
  });
  return planned;
}

std::string placeText(const PipelineLoop &loop) {
  const SourcePlace &place = loop.problem.place;
  std::string file = place.file.substr(place.file.find_last_of('/') + 1);
  return file + ":" + std::to_string(place.line);
}

std::string explainModule(mlir::ModuleOp module, const std::string &kernel,
                          const std::string &architecture, std::vector<Diagnostic> &diagnostics) {
  std::string text;
  for (const Planned &entry : plan(module, kernel, architecture, diagnostics))
    text += sched::renderExplanation(sched::explain(entry.plan.problem, *entry.plan.schedule));
  if (architecture != "x86" && diagnostics.empty())
    text += explainRoles(module, kernel, architecture, diagnostics);
  if (text.empty() && diagnostics.empty())
    text = "`" + kernel + "` has no pipelined loop\n";
  return text;
}

std::vector<PredictedTrace> traceModule(mlir::ModuleOp module, const std::string &kernel,
                                        const std::string &architecture, int iterations,
                                        std::vector<Diagnostic> &diagnostics) {
  std::vector<PredictedTrace> traces;
  iterations = std::clamp(iterations, 1, 1000);
  size_t before = diagnostics.size();
  for (const Planned &entry : plan(module, kernel, architecture, diagnostics)) {
    draw::Timeline timeline =
        sched::predictTimeline(entry.plan.problem, *entry.plan.schedule, iterations);
    timeline.title = kernel + ", loop " + placeText(entry.loop) + ", " + architecture;
    traces.push_back({placeText(entry.loop), draw::toSvg(timeline), draw::toTrace(timeline)});
  }
  if (traces.empty() && diagnostics.size() == before) {
    Diagnostic d;
    d.code = ToolNothingToDraw;
    d.place = tile::placeOf(module.lookupSymbol(kernel)->getLoc());
    d.message = "`" + kernel + "` has no pipelined loop";
    d.helps.push_back("a run on the emulator is drawn for a shape: penstock trace --shape");
    diagnostics.push_back(std::move(d));
  }
  return traces;
}

/// Runs \p ask on a registered kernel's program.
template <typename Result, typename Ask>
Result withRegistered(const std::string &kernel, const InspectOptions &options,
                      std::vector<Diagnostic> &diagnostics, Ask ask) {
  auto source = kernelSource(kernel, options, diagnostics);
  if (!source)
    return Result();
  PooledContext context;
  auto module = recordKernel(context.get(), *source, options.compile, diagnostics);
  return module ? ask(*module) : Result();
}

template <typename Result, typename Ask>
Result withText(const std::string &text, const std::string &file, const std::string &kernel,
                std::vector<Diagnostic> &diagnostics, Ask ask) {
  PooledContext context;
  auto module = parseProgram(context.get(), text, file, diagnostics);
  if (module && !module->lookupSymbol<mlir::func::FuncOp>(kernel)) {
    diagnostics.push_back(noKernel(*module, file, kernel));
    return Result();
  }
  return module ? ask(*module) : Result();
}

std::string architectureOf(mlir::ModuleOp module, const std::string &kernel) {
  std::string required;
  module.lookupSymbol(kernel)->walk([&](mlir::Operation *op) {
    if (required.empty())
      required = nv::requiredArchitecture(op).str();
  });
  return required;
}

} // namespace

std::string penstock::architecture_of_registered(const std::string &kernel,
                                                 const InspectOptions &options,
                                                 std::vector<Diagnostic> &diagnostics) {
  return withRegistered<std::string>(kernel, options, diagnostics, [&](mlir::ModuleOp module) {
    return architectureOf(module, kernel);
  });
}

std::string penstock::architecture_of_text(const std::string &text, const std::string &file,
                                           const std::string &kernel,
                                           std::vector<Diagnostic> &diagnostics) {
  return withText<std::string>(text, file, kernel, diagnostics, [&](mlir::ModuleOp module) {
    return architectureOf(module, kernel);
  });
}

std::string penstock::explain_registered(const std::string &kernel, const std::string &architecture,
                                         const InspectOptions &options,
                                         std::vector<Diagnostic> &diagnostics) {
  return withRegistered<std::string>(kernel, options, diagnostics, [&](mlir::ModuleOp module) {
    return explainModule(module, kernel, architecture, diagnostics);
  });
}

std::string penstock::explain_text(const std::string &text, const std::string &file,
                                   const std::string &kernel, const std::string &architecture,
                                   std::vector<Diagnostic> &diagnostics) {
  return withText<std::string>(text, file, kernel, diagnostics, [&](mlir::ModuleOp module) {
    return explainModule(module, kernel, architecture, diagnostics);
  });
}

std::vector<PredictedTrace> penstock::trace_registered(const std::string &kernel,
                                                       const std::string &architecture,
                                                       int iterations,
                                                       const InspectOptions &options,
                                                       std::vector<Diagnostic> &diagnostics) {
  return withRegistered<std::vector<PredictedTrace>>(
      kernel, options, diagnostics, [&](mlir::ModuleOp module) {
        return traceModule(module, kernel, architecture, iterations, diagnostics);
      });
}

std::vector<PredictedTrace> penstock::trace_text(const std::string &text, const std::string &file,
                                                 const std::string &kernel,
                                                 const std::string &architecture, int iterations,
                                                 std::vector<Diagnostic> &diagnostics) {
  return withText<std::vector<PredictedTrace>>(
      text, file, kernel, diagnostics, [&](mlir::ModuleOp module) {
        return traceModule(module, kernel, architecture, iterations, diagnostics);
      });
}
