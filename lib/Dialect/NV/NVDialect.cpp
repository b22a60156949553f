//===- NVDialect.cpp - Registration, types, scopes ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Hardware/Architecture.h"
#include "Layout/Distribution.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nv;

#include "Dialect/NV/NVDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "Dialect/NV/NVTypes.cpp.inc"

void NVDialect::initialize() {
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "Dialect/NV/NVOps.cpp.inc"
      >();
}

void NVDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "Dialect/NV/NVTypes.cpp.inc"
      >();
}

void nv::setRole(Operation *op, StringRef role) {
  op->setAttr(NVDialect::roleAttr, RoleAttr::get(op->getContext(), role));
}

const layout::Distribution *nv::layoutOf(Value tile) {
  auto alloc = tile.getDefiningOp<tile::AllocOp>();
  auto layout = alloc ? alloc->getAttrOfType<LayoutAttr>(NVDialect::layoutAttr) : LayoutAttr();
  return layout ? &layout.getValue() : nullptr;
}

void nv::setLayout(tile::AllocOp tile, layout::Distribution layout) {
  tile->setAttr(NVDialect::layoutAttr, LayoutAttr::get(tile.getContext(), std::move(layout)));
}

bool nv::isPaired(Operation *op) {
  auto kernel = op->getParentOfType<func::FuncOp>();
  return kernel && kernel->hasAttr(NVDialect::pairAttr);
}

int64_t nv::clusterSize(Operation *op) {
  auto kernel = dyn_cast<func::FuncOp>(op);
  if (!kernel)
    kernel = op->getParentOfType<func::FuncOp>();
  if (!kernel)
    return 1;
  if (auto blocks = kernel->getAttrOfType<IntegerAttr>(NVDialect::clusterAttr))
    return blocks.getInt();
  return kernel->hasAttr(NVDialect::pairAttr) ? 2 : 1;
}

Operation *nv::firstExplicit(FunctionOpInterface kernel) {
  Operation *first = nullptr;
  bool pipelined = false;
  kernel.walk([&](Operation *op) {
    pipelined |= op->hasAttr(tile::TileDialect::scheduleAttr);
    if (!first && (isa_and_nonnull<NVDialect>(op->getDialect()) || isa<scf::WhileOp>(op)))
      first = op;
  });
  if (!first && kernel->hasAttr(NVDialect::threadsAttr) && !pipelined)
    first = kernel;
  return first;
}

ThreadScope nv::scopeOf(Operation *op) {
  ThreadScope scope;
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
    if (isa<ElectOp>(parent))
      scope.oneThread = true;
    if (auto warps = dyn_cast<WarpsOp>(parent); warps && scope.wholeBlock) {
      scope.firstWarp = warps.getFirst();
      scope.warps = warps.getCount();
      scope.wholeBlock = false;
    }
    if (auto kernel = dyn_cast<func::FuncOp>(parent)) {
      auto threads = kernel->getAttrOfType<IntegerAttr>(NVDialect::threadsAttr);
      if (scope.wholeBlock)
        scope.warps = threads ? threads.getInt() / warpSize : 0;
    }
  }
  return scope;
}

/// None for operations of other dialects.
static std::optional<Availability> availabilityOf(Operation *op) {
  auto hardware = dyn_cast<HardwareOpInterface>(op);
  return hardware ? std::optional(hardware.getAvailability()) : std::nullopt;
}

StringRef nv::requiredArchitecture(Operation *op) {
  auto availability = availabilityOf(op);
  if (availability == Availability::OnlySm90a)
    return "sm_90a";
  if (availability == Availability::OnlySm100a)
    return "sm_100a";
  return "";
}

LogicalResult nv::checkArchitecture(Operation *kernel, const hw::Architecture &architecture) {
  WalkResult walked = kernel->walk([&](Operation *op) {
    StringRef required = requiredArchitecture(op);
    // Hopper brought TMA and mbarriers together.
    if (!architecture.tma && availabilityOf(op) == Availability::Sm90AndLater)
      required = "sm_90a, sm_100a or sm_120a";
    if (required.empty() || required == architecture.name)
      return WalkResult::advance();
    auto diagnostic = tile::emitCoded(op, HardwareTarget);
    diagnostic << "`" << op->getName().stripDialect() << "` does not exist on "
               << architecture.name;
    tile::attachHelp(diagnostic) << "compile the kernel for " << required;
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}
