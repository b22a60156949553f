//===- Locations.cpp - From MLIR's locations to source locations -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/Locations.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace penstock;

SourceLocation tile::sourceLocationOf(Location loc) {
  // Locations nest without bound when helpers call helpers, so the walk keeps
  // its own stack. What is tried first lies on top.
  SmallVector<LocationAttr> work = {LocationAttr(loc)};
  while (!work.empty()) {
    LocationAttr current = work.pop_back_val();
    if (auto range = dyn_cast<FileLineColRange>(current))
      return {range.getFilename().str(), range.getStartLine(), range.getStartColumn()};
    if (auto name = dyn_cast<NameLoc>(current)) {
      work.push_back(name.getChildLoc());
    } else if (auto call = dyn_cast<CallSiteLoc>(current)) {
      work.push_back(call.getCallee());
      work.push_back(call.getCaller());
    } else if (auto fused = dyn_cast<FusedLoc>(current)) {
      for (Location part : llvm::reverse(fused.getLocations()))
        work.push_back(part);
    } else if (auto opaque = dyn_cast<OpaqueLoc>(current)) {
      work.push_back(opaque.getFallbackLocation());
    }
  }
  return {};
}
