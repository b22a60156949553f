//===- TileAccess.cpp - Regions of tiles that operations touch ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes of each operation, from which its memory effects are derived.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::tile;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Value tile::rootOf(Value memref) {
  while (Operation *op = memref.getDefiningOp()) {
    // A transpose is a view, but upstream does not give it the interface.
    if (auto transpose = dyn_cast<memref::TransposeOp>(op))
      memref = transpose.getIn();
    else if (auto view = dyn_cast<ViewLikeOpInterface>(op))
      memref = view.getViewSource();
    else
      break;
  }
  return memref;
}

std::string tile::nameOf(Value value) {
  if (isa<MemRefType>(value.getType()))
    value = rootOf(value);
  // Allocations, of whatever dialect, and bound scalars.
  if (Operation *op = value.getDefiningOp())
    if (auto label = op->getAttrOfType<StringAttr>("label"))
      return label.str();
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
      if (auto name =
              function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), TileDialect::nameAttr))
        return name.str();
  return "";
}

/// The packed element of a tile or tensor of bytes; empty if there is none.
static std::string packedNameOf(Value memref) {
  memref = rootOf(memref);
  StringAttr name;
  if (Operation *op = memref.getDefiningOp())
    name = op->getAttrOfType<StringAttr>(TileDialect::packedAttr);
  else if (auto argument = cast<BlockArgument>(memref);
           auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
    name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), TileDialect::packedAttr);
  return name ? name.str() : "";
}

std::string tile::describe(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return "f8 e4m3";
  if (isa<Float8E5M2Type>(type))
    return "f8 e5m2";
  if (isa<Float8E8M0FNUType>(type))
    return "f8 e8m0";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type;
  return text;
}

std::string tile::describe(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  std::string text;
  if (std::string name = nameOf(memref); !name.empty())
    text = "`" + name + "` (";
  else
    text = "a tile (";
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    text += (i ? "x" : "") + (ShapedType::isDynamic(size) ? "?" : std::to_string(size));
  std::string packed = packedNameOf(memref);
  text += (type.getRank() ? " " : "") +
          (packed.empty() ? describe(type.getElementType()) : std::move(packed));
  text += ", " + stringifySpace(spaceOf(type)).str() + ")";
  return text;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

namespace {

TileAccess reading(Value memref) { return {memref, /*reads=*/true, false}; }
TileAccess writing(Value memref) { return {memref, false, /*writes=*/true}; }

/// The access to one element.
TileAccess element(TileAccess access, ValueRange indices) {
  Builder builder(access.memref.getContext());
  for (Value index : indices) {
    access.offsets.push_back(index);
    access.sizes.push_back(builder.getIndexAttr(1));
  }
  return access;
}

/// The box of a tensor that a copy touches.
TileAccess box(TileAccess access, ValueRange offsets, CopyOp copy) {
  Builder builder(copy.getContext());
  access.offsets.assign(offsets.begin(), offsets.end());
  access.sizes.assign(offsets.size(), builder.getIndexAttr(1));
  for (auto [dim, size] : llvm::zip(copy.getTensorDims(), copy.getBoxShape()))
    access.sizes[dim] = builder.getIndexAttr(size);
  return access;
}

} // namespace

void CopyOp::getAccesses(SmallVectorImpl<TileAccess> &accesses) {
  accesses.push_back(readsTensor() ? box(reading(getSource()), getSourceOffsets(), *this)
                                   : reading(getSource()));
  accesses.push_back(writesTensor() ? box(writing(getTarget()), getTargetOffsets(), *this)
                                    : writing(getTarget()));
}

void FillOp::getAccesses(SmallVectorImpl<TileAccess> &accesses) {
  accesses.push_back(writing(getTarget()));
}

void GemmOp::getAccesses(SmallVectorImpl<TileAccess> &accesses) {
  accesses.push_back(reading(getA()));
  accesses.push_back(reading(getB()));
  for (Value scale : {getScaleA(), getScaleB()})
    if (scale)
      accesses.push_back(reading(scale));
  TileAccess acc = writing(getAcc());
  acc.reads = !getOverwrite();
  accesses.push_back(acc);
}

void ReduceOp::getAccesses(SmallVectorImpl<TileAccess> &accesses) {
  accesses.push_back(reading(getSource()));
  TileAccess target = writing(getTarget());
  target.reads = getAccumulate();
  accesses.push_back(target);
}

void MapOp::getAccesses(SmallVectorImpl<TileAccess> &accesses) {
  for (Value input : getInputs())
    accesses.push_back(reading(input));
  accesses.push_back(writing(getTarget()));
}

void PrintOp::getAccesses(SmallVectorImpl<TileAccess> &accesses) {
  for (Value printed : getOperands())
    if (isa<MemRefType>(printed.getType()))
      accesses.push_back(reading(printed));
}

void LoadOp::getAccesses(SmallVectorImpl<TileAccess> &accesses) {
  accesses.push_back(element(reading(getSource()), getIndices()));
}

void StoreOp::getAccesses(SmallVectorImpl<TileAccess> &accesses) {
  accesses.push_back(element(writing(getTarget()), getIndices()));
}

void AtomicOp::getAccesses(SmallVectorImpl<TileAccess> &accesses) {
  TileAccess access = element(writing(getTarget()), getIndices());
  access.reads = access.atomic = true;
  accesses.push_back(access);
}

//===----------------------------------------------------------------------===//
// Memory effects
//===----------------------------------------------------------------------===//

static void
effectsOf(TileAccessOpInterface op,
          SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  SmallVector<TileAccess> accesses;
  op.getAccesses(accesses);
  for (const TileAccess &access : accesses)
    for (OpOperand &operand : op->getOpOperands()) {
      if (operand.get() != access.memref)
        continue;
      if (access.reads)
        effects.emplace_back(MemoryEffects::Read::get(), &operand);
      if (access.writes)
        effects.emplace_back(MemoryEffects::Write::get(), &operand);
    }
}

#define TILE_EFFECTS(OP)                                                                           \
  void OP::getEffects(                                                                             \
      SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {              \
    effectsOf(cast<TileAccessOpInterface>(getOperation()), effects);                               \
  }
TILE_EFFECTS(CopyOp)
TILE_EFFECTS(FillOp)
TILE_EFFECTS(GemmOp)
TILE_EFFECTS(ReduceOp)
TILE_EFFECTS(MapOp)
TILE_EFFECTS(LoadOp)
TILE_EFFECTS(StoreOp)
TILE_EFFECTS(AtomicOp)
#undef TILE_EFFECTS

#include "Dialect/Tile/TileInterfaces.cpp.inc"
