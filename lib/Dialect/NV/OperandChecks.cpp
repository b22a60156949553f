//===- OperandChecks.cpp - Checks that verifiers share --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/OperandChecks.h"
#include "Dialect/NV/Operands.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nv;
using tile::describe;
using tile::emitCoded;

LogicalResult nv::fail(InFlightDiagnostic diagnostic, const Twine &help) {
  if (!help.isTriviallyEmpty())
    tile::attachHelp(diagnostic) << help;
  return diagnostic;
}

LogicalResult nv::verifySpace(Operation *op, Value memref, tile::Space space, StringRef role) {
  if (tile::spaceOf(typeOf(memref)) == space)
    return success();
  return fail(emitCoded(op, SpaceMismatch)
              << "the " << role << " of `" << op->getName().stripDialect() << "` is "
              << describe(memref) << "; it must be in the " << tile::stringifySpace(space).str()
              << " space");
}

LogicalResult nv::verifyRank2(Operation *op, Value memref, StringRef role) {
  if (typeOf(memref).getRank() == 2)
    return success();
  return fail(emitCoded(op, HardwareShape)
                  << "the " << role << " of `" << op->getName().stripDialect() << "` is "
                  << describe(memref) << "; it must have rows and columns",
              "take one slot of a ring with tile[slot]");
}

/// Rows of a tile that one pattern of a swizzle takes.
static constexpr int64_t patternRows = 8;

LogicalResult nv::verifyPartOfSlot(Operation *op, Value memref, StringRef role, Part part) {
  for (Value view = memref; Operation *from = view.getDefiningOp();) {
    if (isa<memref::TransposeOp, memref::CastOp>(from)) {
      view = from->getOperand(0);
      continue;
    }
    auto slice = dyn_cast<memref::SubViewOp>(from);
    if (!slice)
      break;
    ArrayRef<int64_t> shape = slice.getSourceType().getShape();
    bool transposed = isTransposed(slice.getSource());
    size_t inner = std::min(size_t(slice.getType().getRank()), size_t(2));
    for (size_t dim = shape.size() - inner; dim < shape.size(); ++dim) {
      auto offset = getConstantIntValue(slice.getMixedOffsets()[dim]);
      int64_t size =
          slice.getType().getDimSize(slice.getType().getRank() - int64_t(shape.size() - dim));
      bool whole = offset == 0 && size == shape[dim];
      bool isRows = (dim + 2 == shape.size()) != transposed;
      bool wholePatterns = part != Part::Whole && isRows && size % patternRows == 0 &&
                           (offset ? *offset % patternRows == 0 : part == Part::Rows);
      bool columns = part == Part::KnownRectangle && !isRows && offset;
      if (!whole && !wholePatterns && !columns)
        return fail(emitCoded(op, HardwareShape)
                        << "the " << role << " of `" << op->getName().stripDialect() << "`, "
                        << describe(memref) << ", is a part of a tile",
                    part == Part::Whole  ? "engines take whole tiles, or whole slots of a ring"
                    : part == Part::Rows ? "engines take whole rows, in multiples of 8"
                                         : "the tensor core takes multiples of 8 rows, and "
                                           "columns, from constants");
    }
    view = slice.getSource();
  }
  return success();
}

LogicalResult nv::verifyIndex(Operation *op, Value barriers, Value index) {
  APInt value;
  int64_t count = cast<BarriersType>(barriers.getType()).getCount();
  if (matchPattern(index, m_ConstantInt(&value)) &&
      (value.getSExtValue() < 0 || value.getSExtValue() >= count))
    return fail(emitCoded(op, HardwareBarrier)
                << "barrier " << value.getSExtValue() << " does not exist; there are " << count);
  return success();
}

LogicalResult nv::verifyGroups(Operation *op, int64_t pending, int64_t most) {
  if (pending >= 0 && pending <= most)
    return success();
  return fail(emitCoded(op, HardwareBarrier)
              << "`" << op->getName().stripDialect() << "` cannot leave " << pending
              << " groups under way; 0 to " << most << " are possible");
}

LogicalResult nv::verifyInCluster(Operation *op, const Twine &what) {
  auto kernel = op->getParentOfType<func::FuncOp>();
  if (kernel && (kernel->hasAttr(NVDialect::clusterAttr) || kernel->hasAttr(NVDialect::pairAttr)))
    return success();
  return fail(emitCoded(op, HardwareScope) << what.str() << " requires a kernel with clusters",
              "call b.cluster(blocks) or b.pair() first");
}

LogicalResult nv::verifyMulticast(Operation *op, Value mask) {
  if (!mask)
    return success();
  if (failed(verifyInCluster(op, "a multicast")))
    return failure();
  APInt bits;
  int64_t blocks = clusterSize(op);
  if (matchPattern(mask, m_ConstantInt(&bits)) &&
      (bits.isZero() || bits.getZExtValue() >> blocks != 0))
    return fail(emitCoded(op, HardwareScope)
                    << "a multicast to the blocks of mask " << bits.getZExtValue()
                    << " in a cluster of " << blocks,
                "bit i stands for block i of the cluster, and one is set at least");
  return success();
}
