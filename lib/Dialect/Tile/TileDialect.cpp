//===- TileDialect.cpp - Registration, types, discardable attributes ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/PackedElements.h"
#include "Dialect/Tile/TileTypes.h"
#include "Hardware/Architecture.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::tile;

#include "Dialect/Tile/TileDialect.cpp.inc"

void TileDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "Dialect/Tile/TileOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

MemRefType tile::tensorType(Type element, int64_t rank) {
  SmallVector<int64_t> sizes(rank, ShapedType::kDynamic);
  SmallVector<int64_t> strides(rank, ShapedType::kDynamic);
  if (rank)
    strides.back() = 1;
  MLIRContext *context = element.getContext();
  return MemRefType::get(sizes, element, StridedLayoutAttr::get(context, 0, strides),
                         SpaceAttr::get(context, Space::Global));
}

MemRefType tile::tileType(ArrayRef<int64_t> shape, Type element, Space space) {
  return MemRefType::get(shape, element, MemRefLayoutAttrInterface(),
                         SpaceAttr::get(element.getContext(), space));
}

bool tile::isElementType(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type, Float8E4M3FNType, Float8E5M2Type,
             Float8E8M0FNUType>(type) ||
         type.isSignlessInteger(1) || type.isSignlessInteger(8) || type.isSignlessInteger(16) ||
         type.isSignlessInteger(32) || type.isSignlessInteger(64);
}

bool tile::convertsImplicitly(Type from, Type to) {
  return from == to || (isa<FloatType>(from) && isa<FloatType>(to));
}

bool tile::reducesImplicitly(Type from, Type to) {
  return convertsImplicitly(from, to) ||
         (isa<IntegerType>(from) && isa<IntegerType>(to) &&
          from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth());
}

LaunchConstancy tile::isLaunchConstant(Value value) {
  SmallVector<Value> work = {value};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value current = work.pop_back_val();
    if (!seen.insert(current).second)
      continue;
    Operation *op = current.getDefiningOp();
    if (!op) {
      if (isa<func::FuncOp>(cast<BlockArgument>(current).getOwner()->getParentOp()))
        continue;
      return {false, current};
    }
    // Tiles have constant shapes; their extents need nothing from inside. A
    // division is not pure unless its divisor is a constant, but it is as
    // constant as its operands.
    if (isa<memref::DimOp>(op) ||
        (isMemoryEffectFree(op) && op->getNumRegions() == 0 && !isa<GridOp, ElementIndexOp>(op))) {
      for (Value operand : op->getOperands())
        if (!isa<MemRefType>(operand.getType()) || !isa<memref::DimOp>(op))
          work.push_back(operand);
        else if (!isa<BlockArgument>(rootOf(operand)))
          return {false, current};
      continue;
    }
    return {false, current};
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

/// Returns whether \p name is a packed element, and \p type a memref of bytes.
static bool isPacked(StringAttr name, Type type) {
  return name && findPacked(name) && cast<MemRefType>(type).getElementType().isSignlessInteger(8);
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op, NamedAttribute named) {
  StringRef name = named.getName().getValue();
  Attribute attr = named.getValue();
  if (name == kernelAttr || name == signatureAttr) {
    if (!isa<func::FuncOp>(op))
      return emitCoded(op, MisplacedAttribute) << "`" << name << "` belongs on a `func.func`";
    if (name == signatureAttr && !isa<StringAttr>(attr))
      return emitCoded(op, MisplacedAttribute) << "`" << name << "` must be a string";
    return success();
  }
  if (name == targetAttr) {
    auto architecture = dyn_cast<StringAttr>(attr);
    if (!isa<func::FuncOp>(op) || !architecture)
      return emitCoded(op, MisplacedAttribute) << "`tile.target` is a name on a `func.func`";
    if (hw::findArchitecture(architecture.str()))
      return success();
    return emitCoded(op, MisplacedAttribute) << "`tile.target`: unknown architecture " << attr;
  }
  if (name == contractAttr) {
    if (isa<ReduceOp>(op) && isa<UnitAttr>(attr))
      return success();
    return emitCoded(op, MisplacedAttribute) << "`tile.contract` belongs on a `tile.reduce`";
  }
  if (name == packedAttr) {
    auto alloc = dyn_cast<AllocOp>(op);
    if (alloc && isPacked(dyn_cast<StringAttr>(attr), alloc.getResult().getType()))
      return success();
    return emitCoded(op, MisplacedAttribute) << "`tile.packed` belongs on a `tile.alloc` of i8 and "
                                                "names a packed element, e.g. \"f4e2m1x2\"";
  }
  if (name == scheduleAttr) {
    if (!isa<scf::ForOp>(op) || !isa<ScheduleAttr>(attr))
      return emitCoded(op, MisplacedAttribute)
             << "`tile.schedule` belongs on an `scf.for` and must be a "
                "#tile.schedule";
    auto loop = cast<scf::ForOp>(op);
    if (loop.getNumResults())
      return emitCoded(op, OpForm) << "a pipelined loop carries no values; keep them in tiles or "
                                      "mutable scalars";
    return success();
  }
  if (name == scheduledAttr) {
    Operation *around = op->getParentOp();
    while (isa_and_nonnull<scf::IfOp>(around))
      around = around->getParentOp();
    if (isa<ScheduledAttr>(attr) && isa_and_nonnull<scf::ForOp>(around) &&
        around->hasAttr(scheduleAttr))
      return success();
    return emitCoded(op, MisplacedAttribute) << "`tile.scheduled` belongs on a statement of a "
                                                "pipelined loop and must be a #tile.scheduled";
  }
  if (name == formAttr) {
    auto form = dyn_cast<StringAttr>(attr);
    if (isa<scf::ForOp>(op) && form && (form == skewedForm || form == warpSpecializedForm))
      return success();
    return emitCoded(op, MisplacedAttribute)
           << "`tile.form` belongs on an `scf.for` and must be \"" << skewedForm << "\" or \""
           << warpSpecializedForm << "\"";
  }
  if (name == roleAttr) {
    auto role = dyn_cast<StringAttr>(attr);
    if (role && isRoleName(role) && op->getParentOfType<func::FuncOp>())
      return success();
    return emitCoded(op, MisplacedAttribute)
           << "`tile.role` belongs on a statement of a kernel and must be a name";
  }
  if (name == unrollAttr) {
    auto factor = dyn_cast<IntegerAttr>(attr);
    if (!isa<scf::ForOp>(op) || !factor)
      return emitCoded(op, MisplacedAttribute)
             << "`tile.unroll` belongs on an `scf.for` and must be an integer";
    int64_t value = factor.getInt();
    if (value < 0 || value > 64)
      return emitCoded(op, UnrollFactor)
             << "the unroll factor is " << value << "; it must be between 0 (unroll fully) and 64";
    return success();
  }
  return emitCoded(op, MisplacedAttribute)
         << "`" << name << "` is not an attribute of the tile dialect";
}

bool TileDialect::isRoleName(StringRef name) {
  return !name.empty() && (llvm::isAlpha(name.front()) || name.front() == '_') &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

LogicalResult TileDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index,
                                                    NamedAttribute named) {
  StringRef name = named.getName().getValue();
  auto text = dyn_cast<StringAttr>(named.getValue());
  auto function = dyn_cast<func::FuncOp>(op);
  bool tensor = function && isa<MemRefType>(function.getFunctionType().getInput(index));
  if (name == nameAttr && function && text)
    return success();
  if (name == accessAttr && tensor && text && (text == "in" || text == "out" || text == "inout"))
    return success();
  if (name == packedAttr && tensor && isPacked(text, function.getFunctionType().getInput(index)))
    return success();
  if (name == overlapsAttr && tensor && isa<UnitAttr>(named.getValue()))
    return success();
  return emitCoded(op, MisplacedAttribute)
         << "`" << name << "` on argument " << index
         << " is not one of `tile.name = \"..\"`, `tile.access = "
            "\"in|out|inout\"`, `tile.packed = "
            "\"f4e2m1x2|i4x2|f6e2m3_packed|f6e3m2_packed\"` (of i8) or `tile.overlaps`";
}
