//===- TileOps.cpp - Verifiers of the tile operations ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generated definitions of all operations, and the verifiers of those on the grid,
// storage, single elements and statements. VerifyTiles.cpp has those on whole tiles.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileChecks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::tile;

/// The largest cluster that every GPU with clusters launches.
constexpr int64_t maxClusterBlocks = 8;

//===----------------------------------------------------------------------===//
// Grid
//===----------------------------------------------------------------------===//

static LogicalResult verifyLaunchConstant(Operation *op, Value value, const Twine &what,
                                          StringRef otherwise = "") {
  if (isLaunchConstant(value).ok)
    return success();
  return fail(emitCoded(op, NotLaunchConstant)
                  << what << " must be the same for the whole launch, but it "
                  << "is computed from values that only exist inside a block",
              "compute it from the kernel's arguments: sizes, scalar "
              "arguments and constants" +
                  Twine(otherwise));
}

LogicalResult GridOp::verify() {
  if (getExtents().size() != getNumResults())
    return fail(emitCoded(*this, GridForm) << "a grid of " << getExtents().size() << " extents has "
                                           << getNumResults() << " coordinates");
  if (getExtents().empty() || getExtents().size() > 3)
    return fail(emitCoded(*this, GridForm)
                << "a grid has one to three extents, not " << getExtents().size());
  if (auto swizzle = getSwizzle()) {
    if (getExtents().size() != 2)
      return fail(emitCoded(*this, GridForm)
                  << "a swizzled grid has two extents, not " << getExtents().size());
    if (*swizzle < 1 || *swizzle > (1 << 20))
      return fail(emitCoded(*this, GridForm) << "the groups of a swizzled grid are " << *swizzle
                                             << " wide; they must be at least 1 and at most 2^20",
                  "leave swizzled(..) out for a grid in plain order");
  }
  if (auto cluster = getCluster()) {
    if (cluster->size() != getExtents().size())
      return fail(emitCoded(*this, GridForm) << "a cluster of " << cluster->size()
                                             << " extents in a grid of " << getExtents().size(),
                  "give a number of blocks for each extent of the grid, e.g. {2, 1}");
    int64_t blocks = 1;
    std::string text;
    for (int64_t along : *cluster) {
      blocks = along < 1 || along > maxClusterBlocks ? 0 : blocks * along;
      text += (text.empty() ? "" : " x ") + std::to_string(along);
    }
    if (getPair() && blocks != 2)
      return fail(emitCoded(*this, GridForm)
                      << "a pair is a cluster of two blocks, not of " << text,
                  "leave `.cluster` out, or give 2 along one extent of the grid");
    if (blocks < 1 || blocks > maxClusterBlocks)
      return fail(emitCoded(*this, GridForm)
                      << "a cluster of " << text << " blocks is not possible",
                  "a cluster has 1 to " + Twine(maxClusterBlocks) + " blocks");
  }
  if (!isa<func::FuncOp>((*this)->getParentOp()))
    return fail(emitCoded(*this, GridForm) << "the grid is stated inside a loop or condition",
                "call `grid` once, at the start of the kernel");
  for (auto [dim, extent] : llvm::enumerate(getExtents()))
    if (failed(verifyLaunchConstant(*this, extent, "extent " + Twine(dim) + " of the grid")))
      return failure();
  return success();
}

LogicalResult DivModOp::verify() {
  APInt value;
  if (matchPattern(getDivisor(), m_ConstantInt(&value)) && value.getSExtValue() <= 0)
    return fail(emitCoded(*this, DivisorForm) << "`fast_divmod` divides by " << value.getSExtValue()
                                              << "; the divisor must be positive");
  return verifyLaunchConstant(*this, getDivisor(), "the divisor of `fast_divmod`",
                              "; or use / and %");
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

void AllocOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (auto label = getLabel())
    setName(getResult(), *label);
}

LogicalResult AllocOp::verify() {
  auto type = dyn_cast<MemRefType>(getResult().getType());
  auto space = type ? dyn_cast_or_null<SpaceAttr>(type.getMemorySpace()) : SpaceAttr();
  if (!space || space.getValue() == Space::Global || space.getValue() == Space::Tensor)
    return fail(emitCoded(*this, TileShape) << "a tile is allocated in the shared or local space");
  std::string name = getLabel() ? "`" + getLabel()->str() + "`" : "a tile";
  if (!isElementType(type.getElementType()))
    return fail(emitCoded(*this, TileShape)
                << name << " cannot hold elements of type " << describe(type.getElementType()));
  if (!type.getLayout().isIdentity())
    return fail(emitCoded(*this, TileShape)
                << name << " is allocated with a layout of its own; views "
                << "have layouts, allocations are contiguous");
  if (type.getRank() > maxTileRank)
    return fail(emitCoded(*this, TileShape) << name << " has rank " << type.getRank()
                                            << "; at most " << maxTileRank << " is supported");
  int64_t elements = 1;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    if (ShapedType::isDynamic(size) || size <= 0)
      return fail(emitCoded(*this, TileShape)
                      << "dimension " << dim << " of " << name << " is "
                      << (ShapedType::isDynamic(size) ? "not a constant" : std::to_string(size)),
                  "the shape of a tile is known when the kernel is compiled, and "
                  "every extent is at least 1");
    if (size > maxTileElements || (elements *= size) > maxTileElements)
      return fail(emitCoded(*this, TileShape) << name << " has more than 2^26 elements",
                  "let each block work on a smaller part");
  }
  if (auto versions = getVersions(); versions && (*versions < 1 || *versions > 1024))
    return fail(emitCoded(*this, TileShape) << name << " is declared with " << *versions
                                            << " versions; between 1 and 1024 are possible",
                "leave .versions out to have their number computed");
  return success();
}

//===----------------------------------------------------------------------===//
// Operations on single elements
//===----------------------------------------------------------------------===//

LogicalResult LoadOp::verify() {
  if (failed(verifyIndices(*this, getSource(), getIndices())))
    return failure();
  return verifyElement(*this, getSource(), getResult().getType());
}

LogicalResult StoreOp::verify() {
  if (failed(verifyIndices(*this, getTarget(), getIndices())) ||
      failed(verifyWritable(*this, getTarget())))
    return failure();
  return verifyElement(*this, getTarget(), getValue().getType());
}

LogicalResult AtomicOp::verify() {
  if (failed(verifyIndices(*this, getTarget(), getIndices())) ||
      failed(verifyWritable(*this, getTarget())) ||
      failed(verifyElement(*this, getTarget(), getValue().getType())))
    return failure();
  Type type = getValue().getType();
  if (getOld().getType() != type)
    return fail(emitCoded(*this, ElementMismatch)
                << "`atomic` gives the old element as a " << describe(getOld().getType()));
  if (!type.isF32() && !type.isF64() && !type.isSignlessInteger(32) && !type.isSignlessInteger(64))
    return fail(emitCoded(*this, AtomicElement)
                    << "`atomic` cannot update elements of type " << describe(type),
                "use i32, i64, f32 or f64");
  return success();
}

LogicalResult ParallelOp::verify() {
  ArrayRef<int64_t> extents = getExtents();
  if (extents.empty() || extents.size() > maxTileRank)
    return fail(emitCoded(*this, TileShape)
                << "`parallel` runs over one to " << maxTileRank << " dimensions");
  int64_t elements = 1;
  for (int64_t extent : extents)
    if (extent < 1 || extent > maxTileElements || (elements *= extent) > maxTileElements)
      return fail(emitCoded(*this, TileShape)
                  << "`parallel` runs over an extent of " << extent
                  << "; extents are at least 1 and their product at most 2^26");
  Block &block = getBody().front();
  if (block.getNumArguments() != extents.size() ||
      !llvm::all_of(block.getArgumentTypes(), llvm::IsaPred<IndexType>))
    return fail(emitCoded(*this, OpForm)
                << "the body of `parallel` takes one index for each extent");
  WalkResult walk = getBody().walk([&](Operation *op) {
    // As in a map, other dialects are the language's business.
    if (isa<LoadOp, StoreOp, AtomicOp, YieldOp, AssertOp>(op) ||
        !isa<TileDialect>(op->getDialect()) || (isMemoryEffectFree(op) && op->getNumRegions() == 0))
      return WalkResult::advance();
    (void)fail(emitCoded(op, ParallelRace)
                   << "`" << spelled(op) << "` is in a parallel body, which works on single "
                   << "elements",
               "use load, store, atomic and scalars here; move operations on "
               "tiles out of it");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Statements, waits, looking inside
//===----------------------------------------------------------------------===//

void BindOp::inferResultRanges(ArrayRef<ConstantIntRanges> ranges, SetIntRangeFn setRange) {
  setRange(getResult(), ranges.front());
}

LogicalResult StatementOp::verify() {
  if (getLabel().empty())
    return fail(emitCoded(*this, OpForm) << "a statement needs a name",
                "the name identifies it in schedules and messages, as in "
                "b.statement(\"softmax\", ..)");
  return success();
}

LogicalResult WaitOp::verify() {
  if (getNames().empty())
    return fail(emitCoded(*this, WaitUnknown) << "`wait` names nothing");
  if (static_cast<int64_t>(getLag()) < 0 || static_cast<int64_t>(getLag()) > 1024)
    return fail(emitCoded(*this, WaitUnknown)
                << "`wait` has a lag of " << static_cast<int64_t>(getLag())
                << "; it must be between 0 and 1024");
  return success();
}

LogicalResult PrintOp::verify() {
  size_t holes = getText().count("{}");
  if (holes != getOperands().size())
    return fail(emitCoded(*this, PrintForm)
                    << "the text of `print` has " << holes << " {}, and " << getOperands().size()
                    << (getOperands().size() == 1 ? " value is given" : " values are given"),
                "write {} once for each value");
  for (Value operand : getOperands())
    if (isa<MemRefType>(operand.getType()) && failed(verifyTile(*this, operand, "operand")))
      return failure();
  return success();
}

/// All threads of the scope execute it exactly once: a wait that some skip orders nothing.
static LogicalResult verifyGridDependency(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent && !isa<func::FuncOp>(parent);
       parent = parent->getParentOp())
    if (parent->getName().getDialectNamespace() != "nv")
      return fail(emitCoded(op, GridDependencyScope)
                      << "`" << op->getName().stripDialect()
                      << "` must be outside of loops, conditions and statements",
                  "call it once, before the loop or condition");
  return success();
}
LogicalResult WaitForPreviousOp::verify() { return verifyGridDependency(*this); }
LogicalResult LaunchDependentsOp::verify() { return verifyGridDependency(*this); }

#define GET_OP_CLASSES
#include "Dialect/Tile/TileOps.cpp.inc"
