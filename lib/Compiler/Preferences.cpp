//===- Preferences.cpp - Preferences that a kernel cannot have ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes drop a preference where they can tell that a kernel has no use for it. Here is the rest:
// combinations of preferences and programs for which a later pass finds no plan, or the barrier
// check a hazard.
//
//===----------------------------------------------------------------------===//
#include "Compiler/Preferences.h"
#include "Diagnostics/Codes.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace penstock;

namespace {

/// Preferences of a grid, as bits.
enum Preference : unsigned { LaunchControl = 1, Pair = 2, Cluster = 4 };

struct Named {
  Preference preference;
  StringRef noAttr; ///< on a kernel: why it is dropped
};
constexpr Named allPreferences[] = {{LaunchControl, nv::NVDialect::noLaunchControlAttr},
                                    {Pair, nv::NVDialect::noPairAttr},
                                    {Cluster, nv::NVDialect::noClusterAttr}};

/// Subsets to try, most preferences first. Pairs are clusters.
constexpr unsigned attempts[] = {LaunchControl | Pair | Cluster,
                                 Pair | Cluster,
                                 LaunchControl | Cluster,
                                 Cluster,
                                 LaunchControl,
                                 0};

unsigned preferencesOf(ModuleOp module) {
  unsigned found = 0;
  module.walk([&](tile::GridOp grid) {
    found |= (grid.getLaunchControl() ? LaunchControl : 0) | (grid.getPair() ? Pair : 0) |
             (grid.getCluster() ? Cluster : 0);
  });
  return found;
}

/// Keeps some preferences of all grids; the others are dropped for a reason.
void restrict(ModuleOp module, unsigned kept, unsigned stated, StringRef reason) {
  module.walk([&](tile::GridOp grid) {
    if (!(kept & LaunchControl))
      grid.setLaunchControl(false);
    if (!(kept & Pair))
      grid.setPair(false);
    if (!(kept & Cluster))
      grid.removeClusterAttr();
    auto kernel = grid->getParentOfType<func::FuncOp>();
    for (const Named &one : allPreferences)
      if (kernel && (stated & ~kept & one.preference))
        kernel->setAttr(one.noAttr, StringAttr::get(module.getContext(), reason));
  });
}

bool isInternal(const penstock::Diagnostic &d) { return d.code == InternalError; }

} // namespace

bool penstock::compileWithPreferences(
    ModuleOp module, std::vector<penstock::Diagnostic> &diagnostics,
    llvm::function_ref<bool(std::vector<penstock::Diagnostic> &diagnostics)> compile) {
  unsigned stated = preferencesOf(module);
  if (!stated)
    return compile(diagnostics);
  OwningOpRef<ModuleOp> recorded = module.clone();
  std::string reason;
  llvm::SmallSet<unsigned, 6> tried;
  for (unsigned attempt : attempts) {
    unsigned kept = attempt & stated;
    if (!tried.insert(kept).second)
      continue;
    if (kept != stated) {
      OwningOpRef<ModuleOp> again = recorded->clone();
      module.getBodyRegion().takeBody(again->getBodyRegion());
      module->setAttrs(recorded.get()->getAttrDictionary());
      restrict(module, kept, stated, reason);
    }
    std::vector<penstock::Diagnostic> found;
    bool compiled = compile(found);
    if (compiled || kept == 0 || llvm::any_of(found, isInternal)) {
      diagnostics.insert(diagnostics.end(), found.begin(), found.end());
      return compiled;
    }
    for (const penstock::Diagnostic &d : found)
      if (reason.empty() && d.severity == Severity::Error)
        reason = d.message;
  }
  return false;
}
