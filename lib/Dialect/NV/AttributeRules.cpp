//===- AttributeRules.cpp - Valid uses of nv attributes -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/AttributeRules.h"
#include "Dialect/Tile/TileTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nv;

namespace {

/// Operations that may have an attribute, and how messages name them.
enum class Carrier {
  Kernel,
  Argument,
  Module,
  ForLoop,
  Loop,
  Statement,
  TileOperation,
  Copy,
  CopyOrGemm,
  GemmOrTensorAlloc,
  Reduce,
  TileAlloc,
  Dealloc,
  Compare
};

bool carries(Carrier carrier, Operation *op) {
  switch (carrier) {
  case Carrier::Kernel:
    return isa<func::FuncOp>(op);
  case Carrier::Argument:
    return false; // verifyRegionArgAttribute
  case Carrier::Module:
    return isa<ModuleOp>(op);
  case Carrier::ForLoop:
    return isa<scf::ForOp>(op);
  case Carrier::Loop:
    return isa<scf::ForOp, scf::WhileOp>(op);
  case Carrier::Statement:
    return op->getParentOfType<func::FuncOp>() != nullptr;
  case Carrier::TileOperation:
    return isa<tile::TileDialect, NVDialect>(op->getDialect());
  case Carrier::Copy:
    return isa<tile::CopyOp>(op);
  case Carrier::CopyOrGemm:
    return isa<tile::CopyOp, tile::GemmOp>(op);
  case Carrier::GemmOrTensorAlloc:
    return isa<tile::GemmOp, TensorAllocOp>(op);
  case Carrier::Reduce:
    return isa<tile::ReduceOp>(op);
  case Carrier::TileAlloc:
    return isa<tile::AllocOp>(op);
  case Carrier::Dealloc:
    return isa<memref::DeallocOp>(op);
  case Carrier::Compare:
    return isa<arith::CmpIOp>(op);
  }
  return false;
}

StringRef nameOf(Carrier carrier) {
  switch (carrier) {
  case Carrier::Kernel:
    return "a kernel";
  case Carrier::Argument:
    return "a tensor of a kernel";
  case Carrier::Module:
    return "a module";
  case Carrier::ForLoop:
    return "an `scf.for`";
  case Carrier::Loop:
    return "a loop";
  case Carrier::Statement:
    return "an operation of a kernel";
  case Carrier::TileOperation:
    return "an operation of `tile` or `nv`";
  case Carrier::Copy:
    return "a `tile.copy`";
  case Carrier::CopyOrGemm:
    return "a `tile.copy` or a `tile.gemm`";
  case Carrier::GemmOrTensorAlloc:
    return "a `tile.gemm` with scales or a tile of tensor memory";
  case Carrier::Reduce:
    return "a `tile.reduce`";
  case Carrier::TileAlloc:
    return "a `tile.alloc`";
  case Carrier::Dealloc:
    return "a `memref.dealloc`";
  case Carrier::Compare:
    return "an `arith.cmpi`";
  }
  return "";
}

/// Kinds of values.
enum class Form {
  Unit,
  Integer,
  Threads,
  Cluster,
  Offset,
  Integers,
  Text,
  Dictionary,
  Engine,
  Role,
  Layout,
  Phase
};

bool hasForm(Form form, Attribute value) {
  auto integer = dyn_cast<IntegerAttr>(value);
  switch (form) {
  case Form::Unit:
    return isa<UnitAttr>(value);
  case Form::Integer:
  case Form::Threads:
  case Form::Cluster:
    return bool(integer);
  case Form::Offset:
    return integer && integer.getType().isInteger(64) && integer.getInt() >= 0;
  case Form::Integers:
    return isa<DenseI64ArrayAttr>(value);
  case Form::Text:
    return isa<StringAttr>(value);
  case Form::Dictionary:
    return isa<DictionaryAttr>(value);
  case Form::Engine:
    return isa<EngineAttr>(value);
  case Form::Role:
    return isa<RoleAttr>(value);
  case Form::Layout:
    return isa<LayoutAttr>(value);
  case Form::Phase:
    return isa<PhaseAttr>(value);
  }
  return false;
}

StringRef nameOf(Form form) {
  switch (form) {
  case Form::Unit:
    return "a unit attribute";
  case Form::Integer:
  case Form::Threads:
  case Form::Cluster:
    return "a number";
  case Form::Offset:
    return "a number of bytes";
  case Form::Integers:
    return "a list of numbers";
  case Form::Text:
    return "a text";
  case Form::Dictionary:
    return "a dictionary";
  case Form::Engine:
    return "an `#nv.engine`";
  case Form::Role:
    return "an `#nv.role`";
  case Form::Layout:
    return "an `#nv.layout`";
  case Form::Phase:
    return "an `#nv.phase`";
  }
  return "";
}

struct Rule {
  StringLiteral name;
  Carrier carrier;
  Form form;
  Phase first, last;
};

constexpr Rule rules[] = {
#define NV_ATTRIBUTE(constant, name, carrier, value, first, last)                                  \
  {name, Carrier::carrier, Form::value, Phase::first, Phase::last},
#include "Dialect/NV/NVAttributes.def"
};

const Rule *ruleOf(StringRef name) {
  const Rule *found = llvm::find_if(rules, [&](const Rule &rule) { return rule.name == name; });
  return found == std::end(rules) ? nullptr : found;
}

/// Checks what the form of a number does not say.
LogicalResult verifyRange(Operation *op, Form form, int64_t value) {
  if (form == Form::Cluster) {
    bool pair = op->hasAttr(NVDialect::pairAttr);
    if (value >= 1 && value <= maxClusterBlocks && (!pair || value == 2))
      return success();
    auto diagnostic = tile::emitCoded(op, HardwareScope)
                      << "a cluster of " << value << " blocks is not possible";
    tile::attachHelp(diagnostic) << (pair ? "a pair is a cluster of two blocks"
                                          : "a cluster has 1 to 8 blocks");
    return diagnostic;
  }
  if (form == Form::Threads && (value < warpSize || value > 1024 || value % warpSize)) {
    auto diagnostic = tile::emitCoded(op, HardwareScope)
                      << "a block of " << value << " threads is not possible";
    tile::attachHelp(diagnostic) << "threads come in warps of 32, at most 1024 of them";
    return diagnostic;
  }
  return success();
}

LogicalResult unknown(Operation *op, StringAttr name) {
  return tile::emitCoded(op, OpForm) << "unknown attribute " << name;
}

LogicalResult misplaced(Operation *op, const Rule &rule) {
  return tile::emitCoded(op, OpForm)
         << "`" << rule.name << "` is " << nameOf(rule.form) << " on " << nameOf(rule.carrier);
}

} // namespace

LogicalResult NVDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  const Rule *rule = ruleOf(attribute.getName());
  if (!rule)
    return unknown(op, attribute.getName());
  if (!carries(rule->carrier, op) || !hasForm(rule->form, attribute.getValue()))
    return misplaced(op, *rule);
  if (auto layout = dyn_cast<LayoutAttr>(attribute.getValue());
      layout && !llvm::equal(layout.getValue().shape,
                             cast<MemRefType>(op->getResult(0).getType()).getShape()))
    return tile::emitCoded(op, OpForm) << "`nv.layout` is a distribution of a tile's shape";
  if (auto number = dyn_cast<IntegerAttr>(attribute.getValue()))
    return verifyRange(op, rule->form, number.getInt());
  return success();
}

LogicalResult NVDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index,
                                                  NamedAttribute attribute) {
  const Rule *rule = ruleOf(attribute.getName());
  if (!rule)
    return unknown(op, attribute.getName());
  auto function = dyn_cast<func::FuncOp>(op);
  if (rule->carrier == Carrier::Argument && hasForm(rule->form, attribute.getValue()) && function &&
      isa<MemRefType>(function.getFunctionType().getInput(index)))
    return success();
  return misplaced(op, *rule);
}

std::optional<StringRef> nv::attributeOfOtherPhase(Operation *op, Phase phase) {
  auto isOther = [&](NamedAttribute attribute) {
    const Rule *rule = ruleOf(attribute.getName());
    return rule && (phase < rule->first || phase > rule->last);
  };
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (isOther(attribute))
      return attribute.getName().getValue();
  return std::nullopt;
}
