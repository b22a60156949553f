//===- ExplainRoles.cpp - Warp roles of a tile program --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Explain/ExplainRoles.h"
#include "Analysis/Kernel/KernelProtocol.h"
#include "Compiler/Pipelines.h"
#include "Compiler/Preferences.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Explain/ExplainMemory.h"
#include "Layout/Swizzle.h"
#include "Target/NVPTX/Operations/MmaSync.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Placement/AddedTile.h"
#include "Transforms/Passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace penstock;

namespace {

/// Operations that the scopes of the same warps issue.
struct Issued {
  int64_t first, count;
  bool loads = false, multiplies = false, stores = false, requests = false;
  std::string role = {};

  void add(nv::WarpsOp warps) {
    warps.walk([&](Operation *op) {
      loads |= isa<nv::TmaLoadOp>(op);
      multiplies |= isa<nv::WgmmaOp, nv::TensorMmaOp>(op);
      stores |= isa<nv::TmaStoreOp>(op);
      requests |= isa<nv::ClcRequestOp>(op);
    });
    if (auto named = warps->getAttrOfType<nv::RoleAttr>(nv::NVDialect::roleAttr))
      role = named.getName().str();
  }

  /// "issues TMA loads and MMAs"; empty if there is nothing to tell.
  std::string job() const {
    bool one = count == 1; // "it issues", "they issue"
    std::string job;
    for (auto [is, what] :
         {std::pair(loads, "TMA loads"), std::pair(multiplies, "MMAs"),
          std::pair(stores, "TMA stores"), std::pair(requests, "launch requests")})
      if (is)
        job += (!job.empty() ? " and " : one ? "issues " : "issue ") + std::string(what);
    if (job.empty() && !role.empty())
      job = (one ? "executes role `" : "execute role `") + role + "`";
    return job;
  }
};

std::string rings(func::FuncOp kernel) {
  std::string text;
  kernel.walk([&](tile::AllocOp alloc) {
    auto type = cast<MemRefType>(alloc.getResult().getType());
    if (tile::spaceOf(type) != tile::Space::Shared || type.getRank() != 3)
      return;
    auto layout = nv::sharedLayoutOf(type);
    if (!layout) // no engine can touch it
      return;
    text += "  ring " + tile::nameOf(alloc.getResult()) + ": " +
            std::to_string(type.getDimSize(0)) + " slots x " + std::to_string(layout->bytes()) +
            " bytes, ";
    text += layout->swizzle == layout::Swizzle::None
                ? "not swizzled"
                : "swizzled over " + std::to_string(layout::spanBytes(layout->swizzle)) + " bytes";
    text += layout->chunks() > 1 ? ", " + std::to_string(layout->chunks()) + " boxes" : ", one box";
    text += " for a copy\n";
  });
  kernel.walk([&](nv::BarrierAllocOp alloc) {
    if (alloc.getCounts().size() < 2)
      return;
    int64_t bytes = 0;
    for (Operation *user : alloc.getResult().getUsers()) {
      APInt expected;
      if (auto arrive = dyn_cast<nv::ArriveOp>(user);
          arrive && arrive.getBytes() && matchPattern(arrive.getBytes(), m_ConstantInt(&expected)))
        bytes = expected.getSExtValue();
    }
    int64_t arrivals = alloc.getCounts()[0];
    std::string name = tile::nameOf(alloc.getResult());
    text += "  barriers" + (name.empty() ? "" : " " + name) + ": " + std::to_string(arrivals) +
            (arrivals == 1 ? " arrival" : " arrivals") +
            (bytes ? " and " + std::to_string(bytes) + " bytes" : "") + " for each slot\n";
  });
  return text;
}

std::string protocolLine(func::FuncOp kernel, std::vector<penstock::Diagnostic> &diagnostics) {
  std::string checked = describeProtocol(kernel, diagnostics);
  return checked.empty() ? "" : "  " + checked + "\n";
}

/// Describes the strips of the operands that the blocks of one wave touch at once.
std::string rasterization(func::FuncOp kernel, int64_t processors) {
  tile::GridOp grid;
  kernel.walk([&](tile::GridOp op) { grid = op; });
  if (!grid || grid.getExtents().size() != 2)
    return "";
  int64_t group = grid.getSwizzle().value_or(0);
  std::string wave = std::to_string(processors);
  if (group < 1)
    return "  blocks in plain order: a wave of " + wave + " touches up to " + wave +
           " strips of rows and 1 of columns\n";
  int64_t rows = (processors + group - 1) / group;
  return "  blocks in groups of " + std::to_string(group) + " columns: a wave of " + wave +
         " touches " + std::to_string(rows) + " strips of rows and " + std::to_string(group) +
         " of columns, together " + std::to_string(rows + group) + " (plain order: up to " +
         std::to_string(processors + 1) +
         "); times K and the height of a strip, that is what the "
         "L2 cache must hold\n";
}

/// "; warp 0 issues TMA loads; warp 1 issues MMAs".
std::string jobsText(func::FuncOp function) {
  std::string text;
  for (const WarpJob &job : warpJobs(function))
    text += "; " + job.warps + " " + job.job;
  return text;
}

/// Describes a lowered tile program.
std::string explainBlock(func::FuncOp function) {
  int64_t syncs = 0;
  function.walk([&](nv::SyncOp) { ++syncs; });
  std::string text = warpsText(0, computeThreads(function) / nv::warpSize) + " compute, with " +
                     std::to_string(syncs) + (syncs == 1 ? " barrier" : " barriers") +
                     jobsText(function) + "\n";
  if (auto blocks = function->getAttrOfType<IntegerAttr>(nv::NVDialect::clusterAttr))
    text += "  clusters of " + std::to_string(blocks.getInt()) + " blocks\n";
  if (auto why = function->getAttrOfType<StringAttr>(nv::NVDialect::noClusterAttr))
    text += "  no clusters: " + why.str() + "\n";
  if (auto why = function->getAttrOfType<StringAttr>(nv::NVDialect::noPairAttr))
    text += "  no pairs: " + why.str() + "\n";
  if (auto why = function->getAttrOfType<StringAttr>(nv::NVDialect::noLaunchControlAttr))
    text += "  no launch control: " + why.str() + "\n";
  function.walk([&](scf::ForOp loop) {
    auto plan = loop->getAttrOfType<StringAttr>(nv::NVDialect::planAttr);
    if (!plan)
      return;
    SmallVector<StringRef> lines;
    plan.getValue().split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    text += "  pipelined loop in line " +
            std::to_string(tile::sourceLocationOf(loop.getLoc()).line) + ":\n";
    for (StringRef line : ArrayRef(lines).drop_front())
      text += "  " + line.str() + "\n";
  });
  function.walk([&](Operation *op) {
    if (auto gemm = dyn_cast<tile::GemmOp>(op))
      text += "  `gemm` into " + tile::describe(gemm.getAcc()) + ": " +
              (nvptx::mmaShapeOf(gemm) ? "mma.sync" : "multiplied by threads") + "\n";
    if (auto product = dyn_cast<nv::TensorMmaOp>(op))
      text += "  `gemm` into " + tile::describe(product.getAcc()) + ": tcgen05.mma\n";
    if (auto product = dyn_cast<nv::WgmmaOp>(op))
      text += "  `gemm` into " + tile::describe(product.getAcc()) + ": wgmma\n";
    if (auto store = dyn_cast<nv::TmaStoreOp>(op); store && store.getCombine())
      text += "  " + tile::describe(store.getSource()) + " is added to " +
              tile::describe(store.getTarget()) + " by TMA\n";
    if (auto why = op->getAttrOfType<StringAttr>(nvptx::addedByThreadsAttr))
      text += "  line " + std::to_string(tile::sourceLocationOf(op->getLoc()).line) +
              ": threads add element by element: " + why.str() + "\n";
  });
  std::vector<std::string> layouts;
  function.walk([&](tile::AllocOp alloc) {
    const layout::Distribution *layout = nv::layoutOf(alloc.getResult());
    if (!layout)
      return;
    std::string line =
        "  " + tile::describe(alloc.getResult()) + " in registers: " + toString(*layout) + "\n";
    if (!llvm::is_contained(layouts, line))
      layouts.push_back(line);
  });
  text += llvm::join(layouts, "");
  return text;
}

} // namespace

std::string penstock::warpsText(int64_t first, int64_t count) {
  if (count == 1)
    return "warp " + std::to_string(first);
  return "warps " + std::to_string(first) + " to " + std::to_string(first + count - 1);
}

std::vector<WarpJob> penstock::warpJobs(func::FuncOp kernel) {
  std::map<std::pair<int64_t, int64_t>, Issued> byWarps;
  kernel.walk([&](nv::WarpsOp warps) {
    // The compute warps of a tile program have a scope without a role.
    if (kernel->hasAttr(nv::NVDialect::tileProgramAttr) && !warps->hasAttr(nv::NVDialect::roleAttr))
      return;
    int64_t first = warps.getFirst(), count = warps.getCount();
    byWarps.try_emplace({first, count}, Issued{first, count}).first->second.add(warps);
  });
  std::vector<WarpJob> jobs;
  for (const auto &[warps, issued] : byWarps)
    if (std::string job = issued.job(); !job.empty())
      jobs.push_back({issued.first, warpsText(issued.first, issued.count), job});
  return jobs;
}

int64_t penstock::threadsOf(func::FuncOp kernel) {
  return kernel->getAttrOfType<IntegerAttr>(nv::NVDialect::threadsAttr).getInt();
}

int64_t penstock::computeThreads(func::FuncOp kernel) {
  int64_t threads = threadsOf(kernel);
  kernel.walk([&](nv::WarpsOp warps) {
    if (!warps->hasAttr(nv::NVDialect::roleAttr))
      threads = warps.getCount() * nv::warpSize;
  });
  return threads;
}

std::string penstock::describeProtocol(func::FuncOp kernel,
                                       std::vector<penstock::Diagnostic> &diagnostics) {
  PassManager passes(kernel->getName());
  passes.addPass(createCheckBarriers());
  {
    tile::DiagnosticCollector collector(kernel.getContext(), diagnostics, InternalError);
    if (failed(passes.run(kernel)))
      return "";
  }
  std::optional<ProtocolReport> report = checkProtocol(kernel);
  return report ? describe(*report) : "";
}

bool penstock::lowerToRoles(ModuleOp copy, const std::string &kernel,
                            const hw::Architecture &architecture,
                            std::vector<penstock::Diagnostic> &reasons) {
  auto function = copy.lookupSymbol<func::FuncOp>(kernel);
  if (nv::firstExplicit(function))
    return true;
  bool prefers = false;
  function.walk([&](tile::GridOp grid) {
    prefers |= grid.getCluster() || grid.getPair() || grid.getLaunchControl();
  });
  PassManager passes(copy->getName());
  buildBlockPipeline(passes, architecture);
  buildMemoryPipeline(passes);
  // The compiler drops preferences that this pass rejects. Callers run it again for its warnings.
  if (prefers)
    passes.addNestedPass<func::FuncOp>(createCheckBarriers());
  return compileWithPreferences(copy, reasons, [&](std::vector<penstock::Diagnostic> &found) {
    tile::DiagnosticCollector collector(copy->getContext(), found, InternalError);
    bool lowered = succeeded(passes.run(copy));
    llvm::erase_if(found, [](const penstock::Diagnostic &d) {
      return d.code == ProtocolUnsupported && d.severity == Severity::Warning;
    });
    return lowered;
  });
}

std::string penstock::explainRoles(ModuleOp module, const std::string &kernel,
                                   const hw::Architecture &architecture,
                                   std::vector<penstock::Diagnostic> &diagnostics) {
  OwningOpRef<ModuleOp> copy(module.clone());
  auto function = copy->lookupSymbol<func::FuncOp>(kernel);
  bool pipelined = false, isExplicit = nv::firstExplicit(function) != nullptr;
  function.walk(
      [&](scf::ForOp loop) { pipelined |= loop->hasAttr(tile::TileDialect::scheduleAttr); });
  if (!pipelined && !isExplicit)
    return "";
  std::vector<penstock::Diagnostic> reasons;
  if (!lowerToRoles(*copy, kernel, architecture, reasons))
    return "on " + architecture.name + " it does not compile" +
           (reasons.empty() ? "" : ": " + reasons.front().message) + "\n";
  function = copy->lookupSymbol<func::FuncOp>(kernel); // it may have been replaced
  if (function->hasAttr(nv::NVDialect::tileProgramAttr))
    return "on " + architecture.name + ": " + explainBlock(function) + rings(function) +
           explainMemory(function) + protocolLine(function, diagnostics) +
           rasterization(function, architecture.limits.multiprocessors);
  std::string text = "on " + architecture.name + ": " + std::to_string(threadsOf(function)) +
                     " threads" + jobsText(function);
  text += "\n" + rings(function) + protocolLine(function, diagnostics) +
          rasterization(function, architecture.limits.multiprocessors);
  if (!isExplicit)
    text += "  where rows are not multiples of 16 bytes, a second kernel copies by plain loads and "
            "stores\n";
  return text;
}
