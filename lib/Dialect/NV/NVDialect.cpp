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

LogicalResult NVDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if ((attribute.getName() == pairAttr || attribute.getName() == inOrderAttr ||
       attribute.getName() == alignedRowsAttr) &&
      isa<func::FuncOp>(op))
    return success();
  if (attribute.getName() == layoutAttr) {
    auto text = dyn_cast<StringAttr>(attribute.getValue());
    auto alloc = dyn_cast<tile::AllocOp>(op);
    auto layout = text ? layout::parseDistribution(text.str()) : std::nullopt;
    if (alloc && layout &&
        llvm::equal(layout->shape, cast<MemRefType>(alloc.getResult().getType()).getShape()))
      return success();
    return tile::emitCoded(op, OpForm) << "`nv.layout` is a distribution of a tile's shape";
  }
  if (attribute.getName() == offsetAttr) {
    auto offset = dyn_cast<IntegerAttr>(attribute.getValue());
    if (isa<tile::AllocOp>(op) && offset && offset.getType().isInteger(64) && offset.getInt() >= 0)
      return success();
    return tile::emitCoded(op, OpForm) << "`nv.offset` is a number of bytes on a tile";
  }
  if (attribute.getName() == syncedAttr || attribute.getName() == endedAttr) {
    if (isa<memref::DeallocOp>(op) && isa<UnitAttr>(attribute.getValue()))
      return success();
    return tile::emitCoded(op, OpForm)
           << "`" << attribute.getName().getValue() << "` belongs on a deallocation";
  }
  if (attribute.getName() == engineAttr) {
    if (isa<tile::CopyOp, tile::GemmOp>(op) && isa<StringAttr>(attribute.getValue()))
      return success();
    return tile::emitCoded(op, OpForm) << "`nv.engine` is a name on a copy or a product";
  }
  if (attribute.getName() == paddingAttr) {
    if (isa<tile::CopyOp>(op) && isa<tile::PackingAttr>(attribute.getValue()))
      return success();
    return tile::emitCoded(op, OpForm) << "`nv.padding` is a packing on a copy";
  }
  if (attribute.getName() == plannedAttr || attribute.getName() == groupAttr) {
    if (isa<tile::TileDialect, NVDialect>(op->getDialect()) &&
        isa<IntegerAttr>(attribute.getValue()))
      return success();
    return tile::emitCoded(op, OpForm)
           << "`" << attribute.getName() << "` is a number on an operation on tiles";
  }
  if (attribute.getName() == beforeWaitAttr) {
    if (isa<tile::ReduceOp>(op) && isa<UnitAttr>(attribute.getValue()))
      return success();
    return tile::emitCoded(op, OpForm) << "`nv.before_wait` belongs on a reduction";
  }
  if (attribute.getName() == coordinatesAttr) {
    if (isa<arith::CmpIOp>(op) && isa<DenseI64ArrayAttr>(attribute.getValue()))
      return success();
    return tile::emitCoded(op, OpForm) << "`nv.coordinates` is a list of numbers on a comparison";
  }
  if (attribute.getName() == scalesAttr) {
    if (isa<tile::GemmOp, TensorAllocOp>(op) && isa<IntegerAttr>(attribute.getValue()))
      return success();
    return tile::emitCoded(op, OpForm)
           << "`nv.scales` is a number on a product with scales or on a "
              "tile of tensor memory";
  }
  if (attribute.getName() == startsAttr) {
    if (isa<tile::GemmOp>(op) && isa<UnitAttr>(attribute.getValue()))
      return success();
    return tile::emitCoded(op, OpForm) << "`nv.starts` belongs on a product";
  }
  if (attribute.getName() == takesOverAttr) {
    if (isa<scf::ForOp, scf::WhileOp>(op) && isa<UnitAttr>(attribute.getValue()))
      return success();
    return tile::emitCoded(op, OpForm) << "`nv.takes_over` belongs on a loop";
  }
  if (attribute.getName() == roleAttr) {
    if (op->getParentOfType<func::FuncOp>() && isa<StringAttr>(attribute.getValue()))
      return success();
    return tile::emitCoded(op, OpForm) << "`nv.role` is a name on a statement or `nv.warps`";
  }
  if (attribute.getName() == sharedAlongAttr) {
    if (isa<tile::CopyOp>(op) && isa<DenseI64ArrayAttr>(attribute.getValue()))
      return success();
    return tile::emitCoded(op, OpForm) << "`nv.shared_along` is a list of numbers on a copy";
  }
  if (attribute.getName() == halvedAttr) {
    if (isa<tile::CopyOp>(op) && isa<UnitAttr>(attribute.getValue()))
      return success();
    return tile::emitCoded(op, OpForm) << "`nv.halved` belongs on a copy";
  }
  if (attribute.getName() == noClusterAttr || attribute.getName() == noPairAttr ||
      attribute.getName() == noLaunchControlAttr) {
    if (isa<func::FuncOp>(op) && isa<StringAttr>(attribute.getValue()))
      return success();
    return tile::emitCoded(op, OpForm)
           << "`" << attribute.getName().getValue() << "` is a text on a kernel";
  }
  if (attribute.getName() == planAttr) {
    if (isa<scf::ForOp>(op) && isa<StringAttr>(attribute.getValue()))
      return success();
    return tile::emitCoded(op, OpForm) << "`nv.plan` is the text of a loop's plan";
  }
  if (attribute.getName() == launchAttr) {
    if (isa<ModuleOp>(op) && isa<DictionaryAttr>(attribute.getValue()))
      return success();
    return tile::emitCoded(op, OpForm) << "`nv.launch` is a dictionary on a module";
  }
  if (attribute.getName() == architectureAttr) {
    if (isa<func::FuncOp>(op) && isa<StringAttr>(attribute.getValue()))
      return success();
    return tile::emitCoded(op, OpForm) << "`nv.architecture` is a name on a function";
  }
  if (attribute.getName() == clusterAttr) {
    auto blocks = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!isa<func::FuncOp>(op) || !blocks)
      return tile::emitCoded(op, OpForm) << "`nv.cluster` is a number on a kernel";
    if (blocks.getInt() >= 1 && blocks.getInt() <= maxClusterBlocks &&
        (!op->hasAttr(pairAttr) || blocks.getInt() == 2))
      return success();
    auto diagnostic = tile::emitCoded(op, HardwareScope)
                      << "a cluster of " << blocks.getInt() << " blocks is not possible";
    tile::attachHelp(diagnostic) << (op->hasAttr(pairAttr) ? "a pair is a cluster of two blocks"
                                                           : "a cluster has 1 to 8 blocks");
    return diagnostic;
  }
  if (attribute.getName() != threadsAttr)
    return tile::emitCoded(op, OpForm) << "unknown attribute " << attribute.getName();
  auto count = dyn_cast<IntegerAttr>(attribute.getValue());
  if (!isa<func::FuncOp>(op) || !count)
    return tile::emitCoded(op, OpForm) << "`nv.threads` is a number on a kernel";
  int64_t threads = count.getInt();
  if (threads < warpSize || threads > 1024 || threads % warpSize) {
    auto diagnostic = tile::emitCoded(op, HardwareScope)
                      << "a block of " << threads << " threads is not possible";
    tile::attachHelp(diagnostic) << "threads come in warps of 32, at most 1024 of them";
    return diagnostic;
  }
  return success();
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
