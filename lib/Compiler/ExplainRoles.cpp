//===- ExplainRoles.cpp - What a tile program becomes on a GPU ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/ExplainRoles.h"
#include "Analysis/KernelProtocol.h"
#include "Compiler/ExplainMemory.h"
#include "Compiler/Pipelines.h"
#include "Compiler/Preferences.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Layout/Swizzle.h"
#include "Target/NVPTX/AddedTile.h"
#include "Target/NVPTX/MmaSync.h"
#include "Target/NVPTX/Passes.h"
#include "Transforms/Passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace penstock;

namespace {

/// "warp 0", "warps 4 to 11".
std::string warpsText(nv::WarpsOp warps) {
  int64_t first = warps.getFirst(), count = warps.getCount();
  if (count == 1)
    return "warp " + std::to_string(first);
  return "warps " + std::to_string(first) + " to " + std::to_string(first + count - 1);
}

/// Describes the job of the warps of a scope.
std::string jobOf(nv::WarpsOp warps) {
  bool loads = false, multiplies = false, stores = false, asks = false;
  warps.walk([&](Operation *op) {
    loads |= isa<nv::TmaLoadOp>(op);
    multiplies |= isa<nv::WgmmaOp, nv::TensorMmaOp>(op);
    stores |= isa<nv::TmaStoreOp>(op);
    asks |= isa<nv::ClcRequestOp>(op);
  });
  // "it loads", "they load".
  bool one = warps.getCount() == 1;
  std::string job;
  for (auto [is, what] :
       {std::pair(loads, one ? "loads by TMA" : "load by TMA"),
        std::pair(multiplies, one ? "multiplies" : "multiply"),
        std::pair(stores, one ? "stores by TMA" : "store by TMA"),
        std::pair(asks, one ? "asks for blocks to take over" : "ask for blocks to take over")})
    if (is)
      job += (job.empty() ? "" : " and ") + std::string(what);
  if (auto role = warps->getAttrOfType<StringAttr>(nv::NVDialect::roleAttr); role && job.empty())
    job = (one ? "is role `" : "are role `") + role.str() + "`";
  return job;
}

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

/// Describes the result of the barrier check. Findings are \p diagnostics, the ones that the
/// compiler reports.
std::string protocol(func::FuncOp kernel, std::vector<penstock::Diagnostic> &diagnostics) {
  PassManager passes(kernel->getName());
  passes.addPass(createCheckBarriers());
  {
    tile::DiagnosticCollector collector(kernel.getContext(), diagnostics, InternalError);
    if (failed(passes.run(kernel)))
      return "";
  }
  std::optional<ProtocolReport> report = checkProtocol(kernel);
  return report ? "  " + describe(*report) + "\n" : "";
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

/// Describes a lowered tile program.
std::string explainBlock(func::FuncOp function) {
  auto threads = function->getAttrOfType<IntegerAttr>(nv::NVDialect::threadsAttr).getInt();
  int64_t syncs = 0;
  function.walk([&](nv::SyncOp) { ++syncs; });
  // Roles in the order of their first loop, each once.
  std::vector<std::string> roles;
  function.walk([&](nv::WarpsOp warps) {
    if (!warps->hasAttr(nv::NVDialect::roleAttr)) {
      threads = warps.getCount() * nv::warpSize;
      return;
    }
    std::string role = warpsText(warps) + " " + jobOf(warps);
    if (!llvm::is_contained(roles, role))
      roles.push_back(role);
  });
  std::string text = std::to_string(threads) + " threads execute all statements" +
                     (roles.empty() ? "" : " but those of other roles") + ", with " +
                     std::to_string(syncs) + (syncs == 1 ? " barrier" : " barriers") +
                     " between them";
  for (const std::string &role : roles)
    text += "; " + role;
  text += "\n";
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
  function.walk([&](tile::AllocOp alloc) {
    if (auto layout = alloc->getAttrOfType<StringAttr>(nv::NVDialect::layoutAttr))
      text += "  " + tile::describe(alloc.getResult()) + " in registers: " + layout.str() + "\n";
  });
  return text;
}

} // namespace

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
  passes.addNestedPass<func::FuncOp>(createOpenStatements());
  buildSchedulePipeline(passes, architecture);
  buildBlockPipeline(passes, architecture);
  passes.addNestedPass<func::FuncOp>(createAssignLayouts());
  passes.addNestedPass<func::FuncOp>(createPlanMemory());
  passes.addNestedPass<func::FuncOp>(createInsertSyncs());
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
  if (function->hasAttr(nv::NVDialect::inOrderAttr))
    return "on " + architecture.name + ": " + explainBlock(function) + rings(function) +
           explainMemory(function) + protocol(function, diagnostics) +
           rasterization(function, architecture.limits.multiprocessors);
  std::string text = "on " + architecture.name + ": ";
  text +=
      std::to_string(function->getAttrOfType<IntegerAttr>(nv::NVDialect::threadsAttr).getInt()) +
      " threads";
  bool seenStore = false;
  function.walk([&](nv::WarpsOp warps) {
    std::string job = jobOf(warps);
    // The warp that stores slices of a result appears once for each slice.
    bool onlyStores = job == "stores by TMA";
    if (!job.empty() && (!onlyStores || !seenStore))
      text += "; " + warpsText(warps) + " " + job;
    seenStore |= onlyStores;
  });
  text += "\n" + rings(function) + protocol(function, diagnostics) +
          rasterization(function, architecture.limits.multiprocessors);
  if (!isExplicit)
    text += "  where rows are not multiples of 16 bytes, a second kernel copies by plain loads and "
            "stores\n";
  return text;
}
