//===- Faults.cpp - The list of a module's faults -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Transforms/Launch/Faults.h"
#include "Diagnostics/Codes.h"
#include "Dialect/Tile/Locations.h"
#include "Transforms/Launch/KernelAbi.h"

using namespace mlir;
using namespace penstock;

std::vector<penstock::Diagnostic> penstock::faultsOf(ModuleOp module) {
  std::vector<penstock::Diagnostic> faults;
  auto list = module->getAttrOfType<ArrayAttr>(abi::faultsAttr);
  if (!list)
    return faults;
  for (auto fault : list.getAsRange<ArrayAttr>()) {
    penstock::Diagnostic d;
    d.code = unsigned(cast<IntegerAttr>(fault[0]).getInt());
    d.location = tile::sourceLocationOf(Location(cast<LocationAttr>(fault[1])));
    d.message = cast<StringAttr>(fault[2]).str();
    if (d.code == FaultBounds)
      d.helps.push_back("compile it for Target::interpreter() to see the index and the block");
    faults.push_back(std::move(d));
  }
  return faults;
}
