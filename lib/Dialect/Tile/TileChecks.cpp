//===- TileChecks.cpp - Checks that verifiers share -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileChecks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::tile;

LogicalResult tile::fail(InFlightDiagnostic diagnostic, const Twine &help) {
  if (!help.isTriviallyEmpty())
    tile::attachHelp(diagnostic) << help;
  return diagnostic;
}

StringRef tile::spelled(Operation *op) {
  if (isa<MapOp>(op))
    return "set";
  if (isa<AssertOp>(op))
    return "require";
  if (isa<AllocOp>(op))
    return "shared` or `local";
  if (isa<memref::CollapseShapeOp>(op))
    return "as_matrix";
  if (isa<memref::SubViewOp>(op))
    return "slice";
  return op->getName().stripDialect();
}

LogicalResult tile::verifyTile(Operation *op, Value memref, StringRef role) {
  if (isGlobal(memref))
    return fail(emitCoded(op, SpaceMismatch)
                    << "the " << role << " of `" << spelled(op) << "` is the tensor "
                    << describe(memref) << ", not a tile of the block",
                "copy the part you need into a shared or local tile first");
  return success();
}

LogicalResult tile::verifyWritable(Operation *op, Value memref) {
  auto argument = dyn_cast<BlockArgument>(rootOf(memref));
  if (!argument)
    return success();
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!function)
    return success();
  auto access =
      function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), TileDialect::accessAttr);
  if (access && access == "in")
    return fail(emitCoded(op, WriteToInput)
                    << "`" << op->getName().stripDialect() << "` writes to " << describe(memref)
                    << ", which the kernel declares as an "
                    << "input",
                "declare the argument as Out<..> or InOut<..>");
  return success();
}

LogicalResult tile::verifyIndices(Operation *op, Value memref, ValueRange indices) {
  MemRefType type = typeOf(memref);
  if (type.getRank() != static_cast<int64_t>(indices.size()))
    return fail(emitCoded(op, OffsetCount) << describe(memref) << " has rank " << type.getRank()
                                           << " and " << indices.size() << " indices are given");
  for (auto [dim, index] : llvm::enumerate(indices)) {
    APInt value;
    if (!matchPattern(index, m_ConstantInt(&value)))
      continue;
    int64_t size = type.getDimSize(dim), at = value.getSExtValue();
    if (at < 0 || (!ShapedType::isDynamic(size) && at >= size))
      return fail(emitCoded(op, OutOfTile) << "index " << at << " of dimension " << dim
                                           << " lies outside of " << describe(memref),
                  at < 0 ? Twine("indices are counted from 0")
                         : "the last index there is " + Twine(size - 1));
  }
  return success();
}

LogicalResult tile::verifyElement(Operation *op, Value memref, Type scalar) {
  if (elementOf(memref) != scalar)
    return fail(emitCoded(op, ElementMismatch)
                << "`" << op->getName().stripDialect() << "` handles a " << describe(scalar)
                << " but " << describe(memref) << " holds " << describe(elementOf(memref)));
  return success();
}
