//===- Explain.cpp - Explanation of pipelined loops -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Schedule/Explain.h"
#include "Analysis/Loop/AutoStages.h"
#include "Analysis/Loop/EngineCosts.h"
#include "Analysis/Loop/TileMemory.h"
#include "Compiler/Compiler.h"
#include "Diagnostics/Codes.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileDialect.h"
#include "Draw/PredictedTimeline.h"
#include "Draw/Svg.h"
#include "Draw/Trace.h"
#include "Explain/ExplainEngines.h"
#include "Explain/ExplainProducts.h"
#include "Explain/ExplainRoles.h"
#include "Explain/ExplainSummary.h"
#include "Hardware/Chip.h"
#include "Scheduling/Schedule/Report.h"
#include "Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "penstock/inspect.h"
#include "llvm/ADT/STLExtras.h"

using namespace penstock;

namespace {

/// A loop with the schedule that it would get on an architecture.
struct Planned {
  PipelineLoop loop;
  sched::PipelinedLoop plan;
};

/// Null, with an error, if there is no architecture of that name.
const hw::Architecture *findOrReport(const std::string &name,
                                     std::vector<Diagnostic> &diagnostics) {
  const hw::Architecture *found = hw::findArchitecture(name);
  if (!found) {
    Diagnostic d;
    d.code = ToolUsage;
    d.message = "unknown architecture `" + name + "`";
    std::string known;
    for (const std::string &gpu : gpu_names())
      known += gpu + ", ";
    d.helps.push_back("known are " + known + "and x86");
    diagnostics.push_back(std::move(d));
  }
  return found;
}

std::vector<Planned> plan(mlir::ModuleOp module, const std::string &kernel,
                          const hw::Architecture &architecture,
                          std::vector<Diagnostic> &diagnostics) {
  std::vector<Planned> planned;
  auto function = module.lookupSymbol<mlir::func::FuncOp>(kernel);
  {
    tile::DiagnosticCollector collector(module.getContext(), diagnostics, InternalError);
    mlir::PassManager passes(module->getName());
    passes.addNestedPass<mlir::func::FuncOp>(createFlattenTiles());
    if (failed(nv::checkArchitecture(function, architecture)) || failed(passes.run(module)))
      return planned;
  }
  if (auto wrong = checkTileMemory(function, architecture); !wrong.empty()) {
    diagnostics.insert(diagnostics.end(), wrong.begin(), wrong.end());
    return planned;
  }
  chooseStages(function, &architecture);
  function.walk([&](mlir::scf::ForOp loop) {
    if (!loop->hasAttr(tile::TileDialect::scheduleAttr))
      return;
    Planned entry{analyzeLoop(loop), {}};
    assignCosts(entry.loop, architecture);
    assignCapacity(entry.loop, architecture);
    entry.plan = resolveSchedule(entry.loop);
    diagnostics.insert(diagnostics.end(), entry.plan.diagnostics.begin(),
                       entry.plan.diagnostics.end());
    if (entry.plan.schedule)
      planned.push_back(std::move(entry));
  });
  return planned;
}

std::string locationText(const PipelineLoop &loop) {
  const SourceLocation &location = loop.problem.location;
  std::string file = location.file.substr(location.file.find_last_of('/') + 1);
  return file + ":" + std::to_string(location.line);
}

bool hasErrors(const std::vector<Diagnostic> &diagnostics) {
  return llvm::any_of(diagnostics,
                      [](const Diagnostic &d) { return d.severity == Severity::Error; });
}

/// Names the engines that a GPU uses for the copies of a loop. The cost model takes all of them for
/// copies by TMA.
void nameEngines(Planned &entry, const std::vector<EngineUse> &uses) {
  for (sched::Statement &statement : entry.plan.problem.statements)
    for (const EngineUse &use : uses)
      if (use.kind == EngineUse::Copy && statement.kind == sched::StatementKind::Copy &&
          use.location.line == statement.location.line &&
          use.location.column == statement.location.column &&
          use.location.file == statement.location.file)
        statement.engine = use.engine == "tma.load" ? "tma" : use.engine;
}

/// MMAs that the plan awaits later are synchronous in the program, and so in the schedule.
void nameCompletion(sched::Explanation &explanation, const std::vector<EngineUse> &uses) {
  for (sched::ExplainedStatement &statement : explanation.statements)
    for (const EngineUse &use : uses)
      if ((use.engine == "wgmma" || use.engine == "tcgen05.mma") &&
          use.location.line == statement.location.line &&
          use.location.file == statement.location.file)
        statement.completes = "where the plan below waits";
}

/// Bounds and gains of the schedule's cost model, which has one SM and no chip. Where a model of
/// the chip predicts runs, only it names them; a deeper pipeline then only fits or does not.
std::string withoutCosts(sched::Explanation &explanation) {
  explanation.boundBy.clear();
  std::string text;
  for (const sched::DeeperPlan &deeper : std::exchange(explanation.deeper, {}))
    text += "  " + deeper.change +
            (!deeper.fits    ? " does not fit: " + sched::sizeText(deeper.space, deeper.missing) +
                                   " of " + sched::spaceName(deeper.space) + " memory are missing"
             : !deeper.legal ? " would break the schedule's rules"
                             : " would fit") +
            "\n";
  return text;
}

struct ExplainedModule {
  std::vector<sched::Explanation> loops;
  std::string text; ///< of the loops
};

ExplainedModule explainLoops(mlir::ModuleOp module, const std::string &kernel,
                             const hw::Architecture &architecture,
                             std::vector<Diagnostic> &diagnostics) {
  ExplainedModule result;
  std::vector<EngineUse> uses;
  if (architecture.family != hw::Architecture::Family::X86) {
    std::vector<Diagnostic> reported; // again below
    uses = enginesOf(module, kernel, architecture, reported);
  }
  for (Planned &entry : plan(module, kernel, architecture, diagnostics)) {
    nameEngines(entry, uses);
    sched::Explanation explanation = sched::explain(entry.plan.problem, *entry.plan.schedule);
    explanation.provenInterval = entry.plan.provenInterval;
    explanation.inferredStages = entry.plan.inferredStages;
    nameCompletion(explanation, uses);
    std::string deeper;
    if (hw::findChip(architecture.name))
      deeper = withoutCosts(explanation);
    result.text += sched::renderExplanation(explanation) + deeper;
    result.loops.push_back(std::move(explanation));
  }
  return result;
}

std::string explainModule(mlir::ModuleOp module, const std::string &kernel,
                          const hw::Architecture &architecture, Cpu cpu,
                          std::vector<Diagnostic> &diagnostics) {
  std::string text = explainLoops(module, kernel, architecture, diagnostics).text;
  bool native = architecture.family == hw::Architecture::Family::X86;
  if (!hasErrors(diagnostics))
    text += native ? explainProducts(module, kernel, cpu, diagnostics)
                   : explainRoles(module, kernel, architecture, diagnostics);
  if (text.empty() && diagnostics.empty())
    text = "`" + kernel + "` has no pipelined loop" + (native ? " and no product\n" : "\n");
  return text;
}

KernelSummary summarizeModule(mlir::ModuleOp module, const std::string &kernel,
                              const hw::Architecture &architecture, Cpu cpu,
                              std::vector<Diagnostic> &diagnostics) {
  if (architecture.family == hw::Architecture::Family::X86)
    return summarizeForCpu(module, kernel, cpu, diagnostics);
  ExplainedModule loops = explainLoops(module, kernel, architecture, diagnostics);
  return hasErrors(diagnostics)
             ? KernelSummary()
             : summarizeForGpu(module, kernel, architecture, loops.loops, diagnostics);
}

std::vector<PredictedTrace> traceModule(mlir::ModuleOp module, const std::string &kernel,
                                        const hw::Architecture &architecture, int iterations,
                                        std::vector<Diagnostic> &diagnostics) {
  std::vector<PredictedTrace> traces;
  iterations = std::clamp(iterations, 1, 1000);
  size_t before = diagnostics.size();
  for (const Planned &entry : plan(module, kernel, architecture, diagnostics)) {
    draw::Timeline timeline =
        draw::predictTimeline(entry.plan.problem, *entry.plan.schedule, iterations);
    timeline.title = kernel + ", loop " + locationText(entry.loop) + ", " + architecture.name;
    traces.push_back({locationText(entry.loop), draw::toSvg(timeline), draw::toTrace(timeline)});
  }
  if (traces.empty() && diagnostics.size() == before) {
    Diagnostic d;
    d.code = ToolNothingToDraw;
    d.location = tile::sourceLocationOf(module.lookupSymbol(kernel)->getLoc());
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

std::string requiredBy(mlir::ModuleOp module, const std::string &kernel) {
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
    return requiredBy(module, kernel);
  });
}

std::string penstock::architecture_of_text(const std::string &text, const std::string &file,
                                           const std::string &kernel,
                                           std::vector<Diagnostic> &diagnostics) {
  return withText<std::string>(text, file, kernel, diagnostics,
                               [&](mlir::ModuleOp module) { return requiredBy(module, kernel); });
}

std::string penstock::explain_registered(const std::string &kernel, const std::string &architecture,
                                         const InspectOptions &options,
                                         std::vector<Diagnostic> &diagnostics) {
  return withRegistered<std::string>(kernel, options, diagnostics, [&](mlir::ModuleOp module) {
    const hw::Architecture *found = findOrReport(architecture, diagnostics);
    return found ? explainModule(module, kernel, *found, options.compile.cpu, diagnostics) : "";
  });
}

KernelSummary penstock::summarize_registered(const std::string &kernel,
                                             const std::string &architecture,
                                             const InspectOptions &options,
                                             std::vector<Diagnostic> &diagnostics) {
  return withRegistered<KernelSummary>(kernel, options, diagnostics, [&](mlir::ModuleOp module) {
    const hw::Architecture *found = findOrReport(architecture, diagnostics);
    return found ? summarizeModule(module, kernel, *found, options.compile.cpu, diagnostics)
                 : KernelSummary();
  });
}

KernelSummary penstock::summarize_text(const std::string &text, const std::string &file,
                                       const std::string &kernel, const std::string &architecture,
                                       std::vector<Diagnostic> &diagnostics, Cpu cpu) {
  return withText<KernelSummary>(text, file, kernel, diagnostics, [&](mlir::ModuleOp module) {
    const hw::Architecture *found = findOrReport(architecture, diagnostics);
    return found ? summarizeModule(module, kernel, *found, cpu, diagnostics) : KernelSummary();
  });
}

std::vector<EngineUse> penstock::engines_of_registered(const std::string &kernel,
                                                       const std::string &architecture,
                                                       const InspectOptions &options,
                                                       std::vector<Diagnostic> &diagnostics) {
  return withRegistered<std::vector<EngineUse>>(
      kernel, options, diagnostics, [&](mlir::ModuleOp module) {
        const hw::Architecture *found = findOrReport(architecture, diagnostics);
        return found ? enginesOf(module, kernel, *found, diagnostics) : std::vector<EngineUse>();
      });
}

std::string penstock::explain_text(const std::string &text, const std::string &file,
                                   const std::string &kernel, const std::string &architecture,
                                   std::vector<Diagnostic> &diagnostics, Cpu cpu) {
  return withText<std::string>(text, file, kernel, diagnostics, [&](mlir::ModuleOp module) {
    const hw::Architecture *found = findOrReport(architecture, diagnostics);
    return found ? explainModule(module, kernel, *found, cpu, diagnostics) : "";
  });
}

std::vector<PredictedTrace> penstock::trace_registered(const std::string &kernel,
                                                       const std::string &architecture,
                                                       int iterations,
                                                       const InspectOptions &options,
                                                       std::vector<Diagnostic> &diagnostics) {
  return withRegistered<std::vector<PredictedTrace>>(
      kernel, options, diagnostics, [&](mlir::ModuleOp module) {
        const hw::Architecture *found = findOrReport(architecture, diagnostics);
        return found ? traceModule(module, kernel, *found, iterations, diagnostics)
                     : std::vector<PredictedTrace>();
      });
}

std::vector<PredictedTrace> penstock::trace_text(const std::string &text, const std::string &file,
                                                 const std::string &kernel,
                                                 const std::string &architecture, int iterations,
                                                 std::vector<Diagnostic> &diagnostics) {
  return withText<std::vector<PredictedTrace>>(
      text, file, kernel, diagnostics, [&](mlir::ModuleOp module) {
        const hw::Architecture *found = findOrReport(architecture, diagnostics);
        return found ? traceModule(module, kernel, *found, iterations, diagnostics)
                     : std::vector<PredictedTrace>();
      });
}
