//===- ExplainSummary.cpp - Summary of a compiled kernel ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The default output of `penstock explain`. All rows describe the lowered program,
// except stages, which are those of the schedule.
//
//===----------------------------------------------------------------------===//
#include "Explain/ExplainSummary.h"
#include "Compiler/Compiler.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Explain/ExplainEngines.h"
#include "Explain/ExplainMemory.h"
#include "Explain/ExplainProducts.h"
#include "Explain/ExplainRoles.h"
#include "Hardware/Chip.h"
#include "Target/NVPTX/Passes.h"
#include "Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace penstock;

namespace {

/// Width of the labels, as in predictions.
constexpr size_t labelWidth = 11;

/// Labeled rows. Lines of one row share its label.
class Rows {
public:
  /// Adds a row of at most \p most lines. The last one counts those that are left out.
  void add(const std::string &label, const std::vector<std::string> &lines, size_t most = 4) {
    size_t shown = lines.size() > most ? most - 1 : lines.size();
    for (size_t i = 0; i < shown; ++i)
      line(i == 0 ? label : "", lines[i]);
    if (shown < lines.size())
      line("", std::to_string(lines.size() - shown) + " more: --verbose");
  }
  std::string text;

private:
  void line(const std::string &label, const std::string &content) {
    text += label + std::string(labelWidth - label.size(), ' ') + content + "\n";
  }
};

std::string placeOf(const SourceLocation &at) {
  if (at.line == 0)
    return "";
  return at.file.substr(at.file.find_last_of('/') + 1) + ":" + std::to_string(at.line);
}

std::string inParentheses(const SourceLocation &at) {
  std::string text = placeOf(at);
  return text.empty() ? "" : " (" + text + ")";
}

std::string bytesText(int64_t bytes) {
  return bytes < 1024 ? std::to_string(bytes) + " bytes"
                      : std::to_string((bytes + 1023) / 1024) + " KiB";
}

/// The name of an engine as users know it.
std::string engineText(const EngineUse &use) {
  if (use.engine == "tma.load")
    return "TMA";
  if (use.engine == "threads")
    return use.kind == EngineUse::Product ? "multiply-adds of threads" : "loads of threads";
  return use.engine;
}

class GpuSummary {
public:
  GpuSummary(func::FuncOp kernel, const hw::Architecture &architecture)
      : kernel(kernel), architecture(architecture) {}

  KernelSummary run(const std::vector<sched::Explanation> &loops,
                    std::vector<penstock::Diagnostic> &diagnostics) {
    KernelSummary summary;
    bool isExplicit = !kernel->hasAttr(nv::NVDialect::tileProgramAttr);
    uses = listEngines(kernel);
    std::vector<WarpJob> jobs = warpJobs(kernel);
    bool runsAhead = llvm::any_of(
        uses, [](const EngineUse &use) { return use.kind == EngineUse::Copy && use.slots > 1; });
    summary.form = isExplicit      ? "explicit"
                   : !jobs.empty() ? "warp-specialized"
                   : runsAhead     ? "skewed"
                                   : "in order";
    int64_t threads = threadsOf(kernel);
    summary.text = "`" + kernel.getName().str() + "` on " + architecture.name + ": " +
                   formText(summary.form) + ", " + std::to_string(threads) + " threads" +
                   clusterText() + "\n";
    Rows rows;
    rows.add("roles", roleLines(isExplicit, jobs));
    std::vector<std::string> loopLines;
    for (const sched::Explanation &loop : loops)
      loopLines.push_back(placeOf(loop.location) + ", " + std::to_string(loop.stages) +
                          (loop.stages == 1 ? " stage" : " stages"));
    rows.add("pipelined", loopLines, 2);
    rows.add("copies", copyLines());
    rows.add("MMAs", productLines(), 3);
    rows.add("stores", storeLines(), 2);
    rows.add("memory", {memoryText()});
    // The timing model names the bound of chips that it knows.
    if (!hw::findChip(architecture.name) && !loops.empty())
      rows.add("bound by",
               {llvm::StringRef(loops.front().boundBy).split("bound by ").second.str()});
    rows.add("dropped", droppedPreferences(), 2);
    if (std::string checked = describeProtocol(kernel, diagnostics); !checked.empty())
      rows.add("checked", {checked});
    summary.text += rows.text;
    for (const EngineUse &use : uses)
      summary.lines.push_back(use.location);
    for (const sched::Explanation &loop : loops)
      summary.lines.push_back(loop.location);
    summary.json = jsonOf(summary.form, threads, jobs, loops);
    return summary;
  }

private:
  /// The form in plain words.
  static std::string formText(const std::string &form) {
    if (form == "skewed")
      return "skewed (all warps execute all statements, copies run ahead)";
    if (form == "in order")
      return "in order (all warps execute all statements, no copy runs ahead)";
    return form;
  }

  std::string clusterText() {
    if (kernel->hasAttr(nv::NVDialect::pairAttr))
      return ", CTA pairs";
    int64_t blocks = nv::clusterSize(kernel);
    return blocks > 1 ? ", clusters of " + std::to_string(blocks) + " blocks" : "";
  }

  std::vector<std::string> roleLines(bool isExplicit, const std::vector<WarpJob> &jobs) const {
    std::vector<std::string> lines;
    if (!isExplicit && !jobs.empty())
      lines.push_back(warpsText(0, computeThreads(kernel) / nv::warpSize) + " compute");
    for (const WarpJob &job : jobs) {
      // Roles of tile programs may share warps with the compute role.
      bool shared = !isExplicit && job.first * nv::warpSize < computeThreads(kernel);
      lines.push_back(job.warps + (shared ? " also " : " ") + job.job);
    }
    return lines;
  }

  std::vector<std::string> copyLines() const {
    std::vector<std::string> lines;
    for (const EngineUse &use : uses)
      if (use.kind == EngineUse::Copy)
        lines.push_back(use.operands + inParentheses(use.location) + ": " + engineText(use) + ", " +
                        (use.slots > 1 ? std::to_string(use.slots) + " slots of " : "") +
                        bytesText(use.bytes));
    return lines;
  }

  std::vector<std::string> productLines() const {
    std::vector<std::string> lines;
    for (const EngineUse &use : uses)
      if (use.kind == EngineUse::Product)
        lines.push_back(use.operands + inParentheses(use.location) + ": " + engineText(use) + ", " +
                        use.tiles + (use.reason.empty() ? "" : "; " + use.reason));
    return lines;
  }

  /// Copies into tensors, each source line once.
  std::vector<std::string> storeLines() {
    std::vector<std::string> lines;
    kernel.walk([&](Operation *op) {
      std::string engine;
      Value source, target;
      if (auto store = dyn_cast<nv::TmaStoreOp>(op)) {
        engine = store.getCombine() ? "TMA, added" : "TMA";
        source = store.getSource();
        target = store.getTarget();
      } else if (auto copy = dyn_cast<tile::CopyOp>(op); copy && tile::isGlobal(copy.getTarget())) {
        engine = "stores of threads";
        source = copy.getSource();
        target = copy.getTarget();
      } else {
        return;
      }
      std::string line = tile::nameOf(tile::rootOf(source)) + " -> " +
                         tile::nameOf(tile::rootOf(target)) +
                         inParentheses(tile::sourceLocationOf(op->getLoc())) + ": " + engine;
      if (!llvm::is_contained(lines, line))
        lines.push_back(line);
    });
    return lines;
  }

  int64_t tensorColumns() {
    int64_t columns = 0;
    kernel.walk([&](nv::TensorAllocOp alloc) {
      columns += nv::tensorColumns(cast<MemRefType>(alloc.getResult().getType()));
    });
    return columns;
  }

  std::string memoryText() {
    int64_t bytes = sharedBytes(kernel);
    std::string text = bytes == 0 ? "no tiles in shared memory"
                                  : bytesText(bytes) + " of " +
                                        bytesText(architecture.limits.sharedBytesPerBlock) +
                                        " of shared memory";
    if (int64_t columns = tensorColumns())
      text += ", " + std::to_string(columns) + " of " +
              std::to_string(architecture.limits.tensorColumns) + " columns of tensor memory";
    return text;
  }

  /// Preferences that were not met, with the reason.
  std::vector<std::string> droppedPreferences() {
    std::vector<std::string> lines;
    for (auto [attribute, what] : {std::pair(nv::NVDialect::noClusterAttr, "clusters"),
                                   std::pair(nv::NVDialect::noPairAttr, "CTA pairs"),
                                   std::pair(nv::NVDialect::noLaunchControlAttr, "launch control")})
      if (auto why = kernel->getAttrOfType<StringAttr>(attribute))
        lines.push_back(std::string(what) + ": " + why.str());
    return lines;
  }

  std::string jsonOf(const std::string &form, int64_t threads, const std::vector<WarpJob> &jobs,
                     const std::vector<sched::Explanation> &loops) {
    auto useJson = [](const EngineUse &use) {
      JsonObject json;
      json.text("operands", use.operands)
          .text("engine", use.engine)
          .text("file", use.location.file)
          .number("line", use.location.line);
      if (use.kind == EngineUse::Copy)
        json.number("slots", use.slots).number("bytes", use.bytes);
      return json.str();
    };
    auto of = [&](EngineUse::Kind kind) {
      return llvm::to_vector(
          llvm::make_filter_range(uses, [=](const EngineUse &use) { return use.kind == kind; }));
    };
    return JsonObject()
        .text("form", form)
        .number("threads", threads)
        .json("roles",
              jsonArray(jobs,
                        [](const WarpJob &job) {
                          return JsonObject().text("warps", job.warps).text("job", job.job).str();
                        }))
        .json("loops", jsonArray(loops,
                                 [](const sched::Explanation &loop) {
                                   return JsonObject()
                                       .text("file", loop.location.file)
                                       .number("line", loop.location.line)
                                       .number("stages", loop.stages)
                                       .str();
                                 }))
        .json("copies", jsonArray(of(EngineUse::Copy), useJson))
        .json("products", jsonArray(of(EngineUse::Product), useJson))
        .number("sharedBytes", sharedBytes(kernel))
        .number("sharedBytesPerBlock", architecture.limits.sharedBytesPerBlock)
        .number("tensorColumns", tensorColumns())
        .str();
  }

  func::FuncOp kernel;
  const hw::Architecture &architecture;
  std::vector<EngineUse> uses;
};

} // namespace

namespace {

/// Plans the shared memory of an explicit kernel, which lowerToRoles leaves as it is.
bool planMemory(ModuleOp module, const hw::Architecture &architecture,
                std::vector<penstock::Diagnostic> &diagnostics) {
  PassManager passes(module->getName());
  passes.addNestedPass<func::FuncOp>(createAttachTarget({architecture.name}));
  passes.addNestedPass<func::FuncOp>(createAssignLayouts());
  passes.addNestedPass<func::FuncOp>(createPlanMemory());
  tile::DiagnosticCollector collector(module.getContext(), diagnostics, InternalError);
  return succeeded(passes.run(module));
}

} // namespace

KernelSummary penstock::summarizeForGpu(ModuleOp module, const std::string &kernel,
                                        const hw::Architecture &architecture,
                                        const std::vector<sched::Explanation> &loops,
                                        std::vector<penstock::Diagnostic> &diagnostics) {
  OwningOpRef<ModuleOp> copy(module.clone());
  std::vector<penstock::Diagnostic> reasons;
  if (!lowerToRoles(*copy, kernel, architecture, reasons)) {
    diagnostics.insert(diagnostics.end(), reasons.begin(), reasons.end());
    return {};
  }
  auto function = copy->lookupSymbol<func::FuncOp>(kernel);
  if (!function->hasAttr(nv::NVDialect::tileProgramAttr) &&
      !planMemory(*copy, architecture, diagnostics))
    return {};
  return GpuSummary(function, architecture).run(loops, diagnostics);
}

KernelSummary penstock::summarizeForCpu(ModuleOp module, const std::string &kernel, Cpu cpu,
                                        std::vector<penstock::Diagnostic> &diagnostics) {
  auto level = nativeCpuFor(
      cpu, kernel, tile::sourceLocationOf(module.lookupSymbol(kernel)->getLoc()), diagnostics);
  if (!level)
    return {};
  std::vector<std::string> products = productLines(module, kernel, *level, diagnostics);
  if (!diagnostics.empty())
    return {};
  KernelSummary summary;
  if (ArrayAttr reports = productReports(module, kernel, *level, diagnostics))
    for (auto report : reports.getAsRange<DictionaryAttr>())
      summary.lines.push_back(tile::sourceLocationOf(report.getAs<LocationAttr>("location")));
  summary.form = "native";
  // Instructions of tiles are named tdp...
  bool usesTiles = llvm::any_of(
      products, [](const std::string &line) { return line.find(" tdp") != std::string::npos; });
  summary.text = "`" + kernel + "` as native code: " + std::to_string(level->vectorBits) +
                 "-bit vectors" + (usesTiles ? ", AMX" : "") + "\n";
  Rows rows;
  rows.add("matmuls", products, 8);
  summary.text += rows.text;
  summary.json = JsonObject()
                     .text("form", summary.form)
                     .text("cpu", level->name)
                     .json("products", jsonArray(products,
                                                 [](const std::string &line) {
                                                   return JsonObject().text("text", line).str();
                                                 }))
                     .str();
  return summary;
}
